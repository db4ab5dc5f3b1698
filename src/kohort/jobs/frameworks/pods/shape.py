"""The shape of a pod: the parts of its spec that affect scheduling (JOB-74), and its hash, the role (JOB-146).

The hash must equal Kueue's, which encodes Go structs: fields in the order of their declaration, maps sorted.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from kohort.api.codec import Json
from kohort.api.fields import FieldError, Path, invalid
from kohort.api.quantity import canonical

HASH_DIGITS = 8
IMMUTABLE = "field is immutable"

_Order = Mapping[str, Any]
"""Fields of a struct in Go's order, each with the order of its own fields."""

_LEAF: _Order = {}
_REQUIREMENT: _Order = {"key": _LEAF, "operator": _LEAF, "values": _LEAF}
_LABEL_SELECTOR: _Order = {"matchLabels": _LEAF, "matchExpressions": _REQUIREMENT}
_NODE_TERM: _Order = {"matchExpressions": _REQUIREMENT, "matchFields": _REQUIREMENT}
_POD_TERM: _Order = {
    "labelSelector": _LABEL_SELECTOR,
    "namespaces": _LEAF,
    "topologyKey": _LEAF,
    "namespaceSelector": _LABEL_SELECTOR,
    "matchLabelKeys": _LEAF,
    "mismatchLabelKeys": _LEAF,
}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_POD_AFFINITY: _Order = {_REQUIRED: _POD_TERM, _PREFERRED: {"weight": _LEAF, "podAffinityTerm": _POD_TERM}}
_NODE_AFFINITY: _Order = {
    _REQUIRED: {"nodeSelectorTerms": _NODE_TERM},
    _PREFERRED: {"weight": _LEAF, "preference": _NODE_TERM},
}
_AFFINITY: _Order = {"nodeAffinity": _NODE_AFFINITY, "podAffinity": _POD_AFFINITY, "podAntiAffinity": _POD_AFFINITY}
_PORT: _Order = dict.fromkeys(("name", "hostPort", "containerPort", "protocol", "hostIP"), _LEAF)
_TOLERATION: _Order = dict.fromkeys(("key", "operator", "value", "effect", "tolerationSeconds"), _LEAF)
_SPREAD: _Order = {
    "maxSkew": _LEAF,
    "topologyKey": _LEAF,
    "whenUnsatisfiable": _LEAF,
    "labelSelector": _LABEL_SELECTOR,
    "minDomains": _LEAF,
    "nodeAffinityPolicy": _LEAF,
    "nodeTaintsPolicy": _LEAF,
    "matchLabelKeys": _LEAF,
}
_CLAIM: _Order = dict.fromkeys(("name", "resourceClaimName", "resourceClaimTemplateName"), _LEAF)


def pod_shape(spec: Mapping[str, Json]) -> dict[str, Json]:
    """The relevant part of a pod's spec in canonical form; absent fields are null (JOB-74)."""
    shape = {
        "affinity": _ordered(spec.get("affinity"), _AFFINITY),
        "containers": _containers(spec.get("containers")),
        "initContainers": _containers(spec.get("initContainers")),
        "nodeSelector": _ordered(spec.get("nodeSelector"), _LEAF),
        "overhead": _amounts(spec.get("overhead")),
        "priority": spec.get("priority"),
        "resourceClaims": _ordered(spec.get("resourceClaims"), _CLAIM),
        "runtimeClassName": spec.get("runtimeClassName"),
        "tolerations": _ordered(spec.get("tolerations"), _TOLERATION),
        "topologySpreadConstraints": _ordered(spec.get("topologySpreadConstraints"), _SPREAD),
    }
    if spec.get("resources") is not None:
        shape["resources"] = _amounts(spec["resources"].get("requests"))
    return dict(sorted(shape.items()))


def shape_hash(spec: Mapping[str, Json]) -> str:
    """The role of pods with this spec (JOB-146)."""
    return sha256(msgspec.json.encode({"spec": pod_shape(spec)})).hexdigest()[:HASH_DIGITS]


def shape_change_errors(new: Mapping[str, Json], old: Mapping[str, Json], path: Path) -> list[FieldError]:
    """One error for each field in which the shapes of two specs differ (JOB-74)."""
    return list(_changes(pod_shape(new), pod_shape(old), path))


def _changes(new: Mapping[str, Json], old: Mapping[str, Json], path: Path) -> Iterator[FieldError]:
    for name in sorted({*new, *old}):
        yield from _change(new.get(name), old.get(name), name, path / name)


def _change(new: Json, old: Json, name: str, path: Path) -> Iterator[FieldError]:
    if new == old:
        return
    if name in ("containers", "initContainers") and new and old and len(new) == len(old):
        for index, (one, other) in enumerate(zip(new, old, strict=True)):
            requests, former = one["resources"]["requests"], other["resources"]["requests"]
            yield from _change(requests, former, "requests", path[index] / "resources" / "requests")
            yield from _change(one["ports"], other["ports"], "ports", path[index] / "ports")
        return
    yield invalid(path, new, IMMUTABLE, "JOB-74")


def _containers(containers: Json) -> Json:
    if not containers:
        return None
    return [
        {
            "ports": _ordered(container.get("ports"), _PORT),
            "resources": {"requests": _amounts((container.get("resources") or {}).get("requests"))},
        }
        for container in containers
    ]


def _amounts(quantities: Json) -> Json:
    if quantities is None:
        return None
    return {name: canonical(quantities[name]) for name in sorted(quantities)}


def _ordered(value: Json, order: _Order) -> Json:
    """The value with its fields in Go's order; unknown fields come last, sorted."""
    if isinstance(value, list):
        return [_ordered(item, order) for item in value]
    if not isinstance(value, dict):
        return value
    known = [name for name in order if name in value]
    others = sorted(name for name in value if name not in order)
    return {name: _ordered(value[name], order.get(name, _LEAF)) for name in (*known, *others)}
