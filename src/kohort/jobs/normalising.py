"""Normalizes equivalent parts of pod templates (JOB-34).

Without empty fields, with canonical quantities and API defaults. Only containers and tolerations
are compared, so only they are normalized.
"""

from collections.abc import Mapping
from typing import Any

from kohort.api.quantity import QuantityError, canonical

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def containers_of(template: Mapping[str, Any], group: str) -> list[dict[str, Any]]:
    """The normalized containers of a template; `group` is `containers` or `initContainers`."""
    return [_container(each) for each in (template.get("spec") or {}).get(group) or ()]


def tolerations_of(template: Mapping[str, Any]) -> list[Any]:
    """The normalized tolerations of a template."""
    return [_toleration(each) for each in (template.get("spec") or {}).get("tolerations") or ()]


def _toleration(toleration: Mapping[str, Any]) -> Any:
    return without_empty({"operator": "Equal", **without_empty(toleration)})


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    full = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": default_pull_policy(container.get("image") or ""),
        **{name: value for name, value in container.items() if value not in (None, "")},
    }
    if full.get("ports"):
        full["ports"] = [{"protocol": "TCP", **without_empty(port)} for port in full["ports"]]
    if full.get("resources"):
        full["resources"] = _resources(full["resources"])
    if full.get("env"):
        full["env"] = [_variable(variable) for variable in full["env"]]
    for probe in _PROBES:
        if full.get(probe):
            full[probe] = _probe(full[probe])
    return {name: value for name, member in full.items() if (value := without_empty(member)) not in ({}, [], None)}


def default_pull_policy(image: str) -> str:
    """The API server's default: an image without a tag, or with `latest`, is always pulled."""
    name = image.rpartition("/")[2]
    if "@" in name:
        return "IfNotPresent"
    tag = name.partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _resources(resources: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {resource: _quantity(amount) for resource, amount in member.items()}
        if name in ("requests", "limits") and isinstance(member, dict)
        else member
        for name, member in resources.items()
    }


def _quantity(amount: Any) -> Any:
    try:
        return canonical(amount)
    except QuantityError:
        return amount


def _variable(variable: Mapping[str, Any]) -> Any:
    source = variable.get("valueFrom")
    if not source:
        return without_empty(variable)
    full = dict(source)
    if full.get("fieldRef"):
        full["fieldRef"] = {"apiVersion": "v1", **full["fieldRef"]}
    if full.get("resourceFieldRef"):
        divisor = full["resourceFieldRef"].get("divisor") or "0"
        full["resourceFieldRef"] = {**full["resourceFieldRef"], "divisor": _quantity(divisor)}
    return without_empty({**variable, "valueFrom": full})


def _probe(probe: Mapping[str, Any]) -> dict[str, Any]:
    full = {**_PROBE_DEFAULTS, **{name: value for name, value in probe.items() if value}}
    if "httpGet" in full:
        full["httpGet"] = {"path": "/", "scheme": "HTTP", **without_empty(full["httpGet"])}
    return full


def without_empty(value: Any) -> Any:
    """The value without empty fields; false and zero are kept, because they may be intended."""
    if isinstance(value, Mapping):
        kept = {name: without_empty(member) for name, member in value.items()}
        return {name: member for name, member in kept.items() if member not in (None, "", {}, [])}
    if isinstance(value, list | tuple):
        return [without_empty(item) for item in value]
    return value
