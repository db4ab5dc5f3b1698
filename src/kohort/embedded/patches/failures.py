"""Errors of patches, as kube-apiserver returns them."""

from kohort.api.codec import Json
from kohort.kube.errors import StatusError, bad_request


def unprocessable() -> StatusError:
    """The patch is well-formed and does not apply to the object; no reason is given."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request")


def without_reason(message: str) -> StatusError:
    """An error without reason, only with a message."""
    return StatusError(500, "", message)


def not_decoded(value: Json, wanted: str) -> StatusError:
    """The patch is valid JSON of the wrong type."""
    found = _JSON_TYPES.get(go_type(value), go_type(value))
    return bad_request(f"error decoding patch: json: cannot unmarshal {found} into {wanted}")


def go_text(value: Json) -> str:
    """A JSON value as Go prints it."""
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
    """Go's type name of a decoded JSON value."""
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
