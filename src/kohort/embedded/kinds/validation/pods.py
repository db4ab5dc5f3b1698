"""Validation of pods, containers and volumes, also in templates."""

from collections.abc import Iterable

from kohort.api.codec import JsonMapping
from kohort.api.fields import Path, forbidden, not_supported
from kohort.api.quantity import Quantity
from kohort.embedded.kinds.validation import name_formats
from kohort.embedded.kinds.validation.metadata import label_problems
from kohort.embedded.kinds.validation.problems import (
    Problems,
    bad,
    doubled,
    duplicates,
    missing,
    not_negative,
    port,
    unknown_name,
    worded,
)

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_OVERCOMMIT = ("cpu", "memory", "ephemeral-storage")
_STANDARD = (*_OVERCOMMIT, "storage")
_MAX_INT32 = 2**31 - 1


def pod_spec(spec: JsonMapping, path: Path) -> Problems:
    """Containers, volumes and their references."""
    containers, init = spec.get("containers") or (), spec.get("initContainers") or ()
    yield from duplicates(spec.get("volumes") or (), path / "volumes", "name")
    if not containers:
        yield missing(path / "containers")
    yield from _container_names(containers, init, path)
    known = {volume.get("name") for volume in spec.get("volumes") or ()}
    for name, listed in (("initContainers", init), ("containers", containers)):
        for index, container in enumerate(listed):
            yield from _mounts(container, known, (path / name)[index])
    yield from _deadline(spec, path)
    yield from label_problems(spec.get("nodeSelector") or {}, path / "nodeSelector")
    for name in ("nodeName", "serviceAccountName", "priorityClassName", "runtimeClassName"):
        yield from worded(path / name, spec.get(name), name_formats.subdomain)
    yield from _gates(spec, path / "schedulingGates")


def gated_node(pod: JsonMapping, path: Path) -> Problems:
    """A pod with scheduling gates must not have a node."""
    spec = pod.get("spec") or {}
    if spec.get("schedulingGates") and spec.get("nodeName"):
        yield forbidden(path / "spec" / "nodeName", "cannot be set until all schedulingGates have been cleared")


def _gates(spec: JsonMapping, path: Path) -> Problems:
    seen = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate.get("name") in seen:
            yield doubled(path[index], gate.get("name"))
        seen.add(gate.get("name"))


def _container_names(containers: Iterable[JsonMapping], init: Iterable[JsonMapping], path: Path) -> Problems:
    taken = {one.get("name") for one in containers}
    yield from duplicates(containers, path / "containers", "name")
    yield from duplicates(init, path / "initContainers", "name")
    for index, one in enumerate(init):
        if one.get("name") and one["name"] in taken:
            yield doubled((path / "initContainers")[index] / "name", one["name"])


def _mounts(container: JsonMapping, known: Iterable[object], path: Path) -> Problems:
    places = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        place = (path / "volumeMounts")[index]
        if mount.get("name") and mount["name"] not in known:
            yield unknown_name(place / "name", mount["name"])
        where = mount.get("mountPath")
        if where and where in places:
            yield bad(place / "mountPath", where, "must be unique")
        places.add(where)


def _deadline(spec: JsonMapping, path: Path) -> Problems:
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _MAX_INT32:
        yield bad(path / "activeDeadlineSeconds", seconds, f"must be between 1 and {_MAX_INT32}, inclusive")


def container(one: JsonMapping, path: Path) -> Problems:
    """Name, image, ports and environment."""
    yield from worded(path / "name", one.get("name"), name_formats.label)
    if not one.get("image"):
        yield missing(path / "image")
    yield from duplicates(one.get("ports") or (), path / "ports", "name")
    for index, variable in enumerate(one.get("env") or ()):
        place = (path / "env")[index]
        yield from worded(place / "name", variable.get("name"), name_formats.environment_name)
        if variable.get("value") and variable.get("valueFrom"):
            yield bad(place / "valueFrom", "", "may not be specified when `value` is not empty")


def container_port(one: JsonMapping, path: Path) -> Problems:
    """Port numbers and name."""
    if not one.get("containerPort"):
        yield missing(path / "containerPort")
    else:
        yield from port(one, path, "containerPort")
    if one.get("hostPort"):
        yield from port(one, path, "hostPort")
    yield from worded(path / "name", one.get("name"), name_formats.port_name)
    if one.get("protocol") not in (None, *_PROTOCOLS):
        yield not_supported(path / "protocol", one["protocol"], _PROTOCOLS)


def resources(one: JsonMapping, path: Path) -> Problems:
    """Requests and limits: resource names, amounts, and requests within limits."""
    limits, requests = one.get("limits") or {}, one.get("requests") or {}
    for name, amounts in (("limits", limits), ("requests", requests)):
        for resource, amount in amounts.items():
            yield from _amount(resource, amount, path / name)
    for resource, amount in requests.items():
        yield from _within(resource, amount, limits.get(resource), path)


def _amount(resource: str, amount: str, path: Path) -> Problems:
    place = path[resource]
    yield from worded(place, resource, name_formats.qualified_name)
    if "/" not in resource and resource not in _STANDARD and not resource.startswith("hugepages-"):
        yield bad(place, resource, "must be a standard resource type or fully qualified")
        yield bad(place, resource, "must be a standard resource for containers")
    quantity = Quantity.parse(amount)
    if quantity.nanos < 0:
        yield bad(place, amount, name_formats.NOT_NEGATIVE)
    elif "/" in resource and quantity.nanos % 10**9:
        yield bad(place, amount, "must be an integer")


def _within(resource: str, amount: str, limit: str | None, path: Path) -> Problems:
    may_exceed = resource in _OVERCOMMIT or ("/" not in resource and not resource.startswith("hugepages-"))
    if limit is None:
        if not may_exceed:
            yield missing(path / "limits", "Limit must be set for non overcommitable resources")
    elif not may_exceed and Quantity.parse(amount) != Quantity.parse(limit):
        yield bad(path / "requests", amount, f"must be equal to {resource} limit of {limit}")
    elif Quantity.parse(amount) > Quantity.parse(limit):
        yield bad(path / "requests", amount, f"must be less than or equal to {resource} limit of {limit}")


def toleration(one: JsonMapping, path: Path) -> Problems:
    """Key, operator and effect of a toleration."""
    operator = one.get("operator") or "Equal"
    if not one.get("key") and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield bad(path / "operator", one.get("operator", ""), why)
    if one.get("tolerationSeconds") is not None and one.get("effect") != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield bad(path / "effect", one.get("effect", ""), why)
    if operator == "Exists" and one.get("value"):
        yield bad(path / "operator", one["value"], "value must be empty when `operator` is 'Exists'")


def probe(one: JsonMapping, path: Path) -> Problems:
    """Exactly one handler, and valid periods."""
    ways = [way for way in ("exec", "httpGet", "tcpSocket", "grpc") if one.get(way) is not None]
    if not ways:
        yield missing(path, "must specify a handler type")
    for way in ways[1:]:
        yield forbidden(path / way, "may not specify more than 1 handler type")
    names = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
    yield from not_negative(one, path, *names)


def volume(one: JsonMapping, path: Path) -> Problems:
    """A name and one source."""
    yield from worded(path / "name", one.get("name"), name_formats.label)
    for source in sorted(one.keys() - {"name"})[1:]:
        yield forbidden(path / source, "may not specify more than 1 volume type")
