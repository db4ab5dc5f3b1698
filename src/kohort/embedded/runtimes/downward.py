"""The downward API: fieldRef and resourceFieldRef."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kohort.api.quantity import Quantity, QuantityError
from kohort.embedded.runtimes.pods import RunContainer, RunPod
from kohort.embedded.runtimes.sources import MissingReferenceError

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MachineInfo:
    """Machine properties exposed by the downward API."""

    address: str = "127.0.0.1"
    allocatable: Mapping[str, str] = field(default_factory=dict)
    """Defaults for containers without limits."""


def field_value(pod: RunPod, path: str, facts: MachineInfo) -> str:
    """The text of a fieldRef."""
    meta = pod.metadata
    if match := _SUBSCRIPT.fullmatch(path):
        return {"labels": meta.labels, "annotations": meta.annotations}[match.group(1)].get(match.group(2), "")
    address = str(pod.status.get("podIP") or facts.address)
    known = {
        "metadata.name": meta.name,
        "metadata.namespace": meta.namespace,
        "metadata.uid": meta.uid,
        "metadata.labels": _map_text(meta.labels),
        "metadata.annotations": _map_text(meta.annotations),
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.hostIP": str(pod.status.get("hostIP") or facts.address),
        "status.hostIPs": str(pod.status.get("hostIP") or facts.address),
        "status.podIP": address,
        "status.podIPs": address,
    }
    if path not in known:
        raise MissingReferenceError(f"unsupported fieldPath: {path}")
    return known[path]


def resource_value(pod: RunPod, container: RunContainer, reference: Mapping[str, Any], facts: MachineInfo) -> str:
    """A limit or request in units of the divisor, rounded up; without a limit, the machine's allocatable."""
    other = reference.get("containerName")
    amounts = (pod.container(str(other)) if other else container).resources
    name = str(reference.get("resource", ""))
    kind, _, resource = name.partition(".")
    if kind not in ("limits", "requests") or not resource:
        raise MissingReferenceError(f"unsupported container resource : {name}")
    given = (amounts.limits if kind == "limits" else amounts.requests).get(resource)
    if given is None and kind == "limits":
        given = facts.allocatable.get(resource)
    try:
        value, divisor = Quantity.parse(given or 0), Quantity.parse(reference.get("divisor") or 1)
    except QuantityError as error:
        raise MissingReferenceError(str(error)) from None
    return str(-(-value.nanos // (divisor.nanos or 10**9)))


def _map_text(values: Mapping[str, str]) -> str:
    """One `key="value"` per line, sorted by key."""
    return "\n".join(f"{key}={_quoted(values[key])}" for key in sorted(values))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped.replace(chr(13), chr(92) + "r")}"'
