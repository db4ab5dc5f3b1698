"""`scale`: replica count and selector of any scalable kind."""

from kohort.api.codec import Json, JsonObject
from kohort.embedded.resources import ScalePaths, ServedResource
from kohort.kube.errors import StatusError, bad_request, internal

_BUILT_IN = ScalePaths(".spec.replicas", ".status.replicas", ".spec.selector")
_MAX_REPLICAS = 2**31 - 1


def _steps(path: str) -> list[str]:
    return [step for step in path.split(".") if step]


def _at(found: Json, path: str) -> Json:
    for step in _steps(path):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _with(found: JsonObject, steps: list[str], value: Json) -> JsonObject:
    step, *rest = steps
    below = found.get(step)
    return {**found, step: _with(below if isinstance(below, dict) else {}, rest, value) if rest else value}


def scale_of(resource: ServedResource, found: JsonObject) -> JsonObject:
    """The Scale of an object."""
    paths = resource.scale or _BUILT_IN
    metadata = found["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: JsonObject = {"replicas": _number(_at(found, paths.status_replicas))}
    selector = _selector_text(_at(found, paths.label_selector)) if paths.label_selector else ""
    if selector:
        status["selector"] = selector
    replicas = _at(found, paths.spec_replicas)
    if replicas is None and resource.is_custom:
        raise internal(f"the spec replicas field {paths.spec_replicas} does not exist")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": _number(replicas)},
        "status": status,
    }


def with_replicas(resource: ServedResource, found: JsonObject, scale: JsonObject) -> JsonObject:
    """The object with the replica count of a Scale."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if type(replicas) is not int or not 0 <= replicas <= _MAX_REPLICAS:
        raise _bad_replicas(scale, replicas)
    paths = resource.scale or _BUILT_IN
    scaled = _with(found, _steps(paths.spec_replicas), replicas)
    version = (scale.get("metadata") or {}).get("resourceVersion")
    if version:
        scaled = {**scaled, "metadata": {**scaled["metadata"], "resourceVersion": version}}
    return scaled


def _bad_replicas(scale: JsonObject, replicas: Json) -> StatusError:
    if type(replicas) is not int:
        return bad_request("Scale: spec.replicas must be a whole number")
    name = (scale.get("metadata") or {}).get("name", "")
    message = (
        f'Scale.autoscaling "{name}" is invalid: spec.replicas: Invalid value: {replicas}: '
        "must be greater than or equal to 0"
    )
    return StatusError(422, "Invalid", message, {"name": name, "group": "autoscaling", "kind": "Scale"})


def _number(value: Json) -> int:
    return value if type(value) is int else 0


def _selector_text(selector: Json) -> str:
    """A selector in its string form, for autoscalers; custom resources store it as a string."""
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict):
        return ""
    if not {"matchLabels", "matchExpressions"} & selector.keys():
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    equal = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    return ",".join(sorted([*equal, *map(_expression_text, selector.get("matchExpressions") or ())]))


def _expression_text(expression: JsonObject) -> str:
    key, operator = expression["key"], expression["operator"]
    values = ",".join(sorted(expression.get("values") or ()))
    forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key, "DoesNotExist": f"!{key}"}
    return str(forms.get(operator, ""))
