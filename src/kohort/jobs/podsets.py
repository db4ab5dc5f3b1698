"""Pod sets of frameworks, and pod set infos: merged into templates at the start, removed at a stop.

Templates are JSON, so unknown fields are preserved (§7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2.workload import TopologyRequest
from kohort.jobs.deprecation import deprecated_names
from kohort.jobs.errors import PermanentError
from kohort.jobs.keys import SLICE_NAME_ANNOTATION, WORKLOAD_ANNOTATION


@dataclass(frozen=True, slots=True)
class JobPodSet:
    """A pod set of a job (JOB-218)."""

    name: str
    count: int
    template: JsonObject
    min_count: int | None = None
    topology_request: TopologyRequest | None = None


@dataclass(frozen=True, slots=True)
class PodSetInfo:
    """What the pods of a set get at the start, or had originally (JOB-46, JOB-218)."""

    name: str
    count: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    scheduling_gates: tuple[str, ...] = ()
    empty: frozenset[str] = frozenset()
    """Fields that the template has without entries, so that restoring keeps them."""


_INJECTED = ("metadata", "spec", "annotations", "labels", "nodeSelector", "tolerations", "schedulingGates")
"""Fields in which a start adds entries; no two parts of a template have one of the same name."""


def expect_count(infos: Sequence[PodSetInfo], count: int) -> None:
    """Raise PermanentError if the number of infos differs from the job's pod sets (JOB-47)."""
    if len(infos) != count:
        raise PermanentError(f"invalid podset infos: expecting {count} podset, got {len(infos)}")


def merge_info(template: JsonObject, info: PodSetInfo) -> None:
    """Merge an info into a template, in place; raises PermanentError on conflicting values (JOB-47)."""
    metadata, spec = _part(template, "metadata"), _part(template, "spec")
    _add(metadata, "annotations", _annotations(metadata, info), "annotations")
    _add(metadata, "labels", info.labels, "labels")
    _add(spec, "nodeSelector", info.node_selector, "nodeSelector")
    _append(spec, "tolerations", [dict(toleration) for toleration in info.tolerations])
    _append(spec, "schedulingGates", [{"name": gate} for gate in info.scheduling_gates])


def restore_info(template: JsonObject, original: PodSetInfo) -> None:
    """Restore exactly the fields that a start may change, in place (JOB-50)."""
    metadata, spec = _part(template, "metadata"), _part(template, "spec")
    _replace(metadata, "annotations", dict(original.annotations), original.empty)
    _replace(metadata, "labels", dict(original.labels), original.empty)
    _replace(spec, "nodeSelector", dict(original.node_selector), original.empty)
    _replace(spec, "tolerations", [dict(toleration) for toleration in original.tolerations], original.empty)
    _replace(spec, "schedulingGates", [{"name": gate} for gate in original.scheduling_gates], original.empty)
    for part in ("metadata", "spec"):
        if not template[part] and part not in original.empty:
            del template[part]


def info_of(name: str, count: int, template: JsonObject) -> PodSetInfo:
    """The fields of a template that a start may change, for restoring them (JOB-218)."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    return PodSetInfo(
        name=name,
        count=count,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        node_selector=spec.get("nodeSelector") or {},
        tolerations=tuple(spec.get("tolerations") or ()),
        scheduling_gates=tuple(gate["name"] for gate in spec.get("schedulingGates") or ()),
        empty=frozenset(
            field for part in (template, metadata, spec) for field in _INJECTED if part.get(field) in ({}, [])
        ),
    )


def add_update(info: PodSetInfo, update: PodSetInfo) -> PodSetInfo:
    """An info with the update of an admission check; raises PermanentError on conflicts (JOB-46, JOB-47)."""
    template: JsonObject = {"metadata": {}, "spec": {}}
    merge_info(template, info)
    merge_info(template, update)
    return info_of(info.name, info.count, template)


def _part(owner: dict[str, Any], name: str) -> dict[str, Any]:
    part = owner.get(name)
    if part is None:
        part = owner[name] = {}
    return part


def _annotations(metadata: dict[str, Any], info: PodSetInfo) -> Mapping[str, str]:
    """The annotations to add; slice names overwrite those of an earlier slice (JOB-47)."""
    if SLICE_NAME_ANNOTATION not in info.annotations:
        return info.annotations
    present = metadata.get("annotations") or {}
    for name in (SLICE_NAME_ANNOTATION, WORKLOAD_ANNOTATION):
        if name in present and name in info.annotations:
            present[name] = info.annotations[name]
    return info.annotations


def _add(owner: dict[str, Any], name: str, added: Mapping[str, str], field: str) -> None:
    if not added:
        return
    present = _part(owner, name)
    for key in sorted(added):
        value = added[key]
        if present.setdefault(key, value) != value:
            conflict = f"conflict for key={key}, value1={present[key]}, value2={value}"
            raise PermanentError(f"invalid admission check PodSetUpdate: conflict for {field}: {conflict}")


def _append(owner: dict[str, Any], name: str, added: Sequence[Any]) -> None:
    present = owner.get(name) or []
    missing = [item for item in added if item not in present]
    if missing:
        owner[name] = [*present, *missing]


def _replace(owner: dict[str, Any], name: str, value: Any, empty: frozenset[str]) -> None:
    if value or name in empty:
        owner[name] = value
    else:
        owner.pop(name, None)


if not TYPE_CHECKING:
    # Hidden from type checkers, which would accept any name otherwise.
    __getattr__ = deprecated_names(__name__, {"PodSet": "JobPodSet", "Template": "JsonObject"})
