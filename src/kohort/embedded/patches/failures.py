"""How a patch fails: the answers that the real server gives, which say less than they could."""

from kohort.api.codec import Json
from kohort.kube.errors import StatusError, bad_request


def unprocessable() -> StatusError:
    """The patch is well formed and does not fit the object; the server keeps the reason to itself."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request")


def unexplained(message: str) -> StatusError:
    """A failure for which the server has no reason of its own, only a text."""
    return StatusError(500, "", message)


def not_decoded(value: Json, wanted: str) -> StatusError:
    """The patch is JSON of another shape than its form has."""
    found = _JSON_TYPES.get(go_type(value), go_type(value))
    return bad_request(f"error decoding patch: json: cannot unmarshal {found} into {wanted}")


def go_text(value: Json) -> str:
    """A JSON value as Go prints it, which is how it stands in the server's messages."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{go_text(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def go_type(value: Json) -> str:
    """The name that Go has for the type of a decoded JSON value."""
    for kind, name in _GO_TYPES:
        if isinstance(value, kind):
            return name
    return "<nil>"


_GO_TYPES: tuple[tuple[type, str], ...] = (
    (dict, "map[string]interface {}"),
    (list, "[]interface {}"),
    (str, "string"),
    (bool, "bool"),
    (int, "int64"),
    (float, "float64"),
)

_JSON_TYPES = {"map[string]interface {}": "object", "[]interface {}": "array", "int64": "number", "float64": "number"}
