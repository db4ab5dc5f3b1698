"""Pod sets as frameworks give them, and what admission adds to them: merged at the start, taken out again at a stop.

Templates are plain JSON, so fields that Kohort does not know come through untouched (§7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kohort.api.kueue.v1beta2.workload import TopologyRequest
from kohort.jobs.errors import PermanentError
from kohort.jobs.keys import SLICE_NAME_ANNOTATION, WORKLOAD_ANNOTATION

Template = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JobPodSet:
    """Pods of one shape, as a framework tells them (JOB-218)."""

    name: str
    count: int
    template: Template
    min_count: int | None = None
    topology_request: TopologyRequest | None = None


@dataclass(frozen=True, slots=True)
class PodSetInfo:
    """What the pods of a set get at the start, or what they had at first (JOB-46, JOB-218)."""

    name: str
    count: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    scheduling_gates: tuple[str, ...] = ()


def expect_count(infos: Sequence[PodSetInfo], count: int) -> None:
    """Refuse a start with another number of pod sets than the job has (JOB-47)."""
    if len(infos) != count:
        raise PermanentError(f"invalid podset infos: expecting {count} podset, got {len(infos)}")


def merge_info(template: Template, info: PodSetInfo) -> None:
    """Add an info to a template, in place; a key with another value is a conflict (JOB-47)."""
    metadata, spec = _part(template, "metadata"), _part(template, "spec")
    _add(metadata, "annotations", _annotations(metadata, info), "annotations")
    _add(metadata, "labels", info.labels, "labels")
    _add(spec, "nodeSelector", info.node_selector, "nodeSelector")
    _append(spec, "tolerations", [dict(toleration) for toleration in info.tolerations])
    _append(spec, "schedulingGates", [{"name": gate} for gate in info.scheduling_gates])


def restore_info(template: Template, original: PodSetInfo) -> None:
    """Put exactly the members back that a start may change, in place (JOB-50)."""
    metadata, spec = _part(template, "metadata"), _part(template, "spec")
    _replace(metadata, "annotations", dict(original.annotations))
    _replace(metadata, "labels", dict(original.labels))
    _replace(spec, "nodeSelector", dict(original.node_selector))
    _replace(spec, "tolerations", [dict(toleration) for toleration in original.tolerations])
    _replace(spec, "schedulingGates", [{"name": gate} for gate in original.scheduling_gates])


def info_of(name: str, count: int, template: Template) -> PodSetInfo:
    """The members of a template that a start may change, for restoring them (JOB-218)."""
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    return PodSetInfo(
        name=name,
        count=count,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        node_selector=spec.get("nodeSelector") or {},
        tolerations=tuple(spec.get("tolerations") or ()),
        scheduling_gates=tuple(gate["name"] for gate in spec.get("schedulingGates") or ()),
    )


def add_update(info: PodSetInfo, update: PodSetInfo) -> PodSetInfo:
    """An info with what an admission check adds; raises PermanentError where they contradict (JOB-46, JOB-47)."""
    template: Template = {"metadata": {}, "spec": {}}
    merge_info(template, info)
    merge_info(template, update)
    return info_of(info.name, info.count, template)


def _part(owner: dict[str, Any], name: str) -> dict[str, Any]:
    part = owner.get(name)
    if part is None:
        part = owner[name] = {}
    return part


def _annotations(metadata: dict[str, Any], info: PodSetInfo) -> Mapping[str, str]:
    """The annotations to add; those that name a slice overwrite what an earlier slice left (JOB-47)."""
    if SLICE_NAME_ANNOTATION not in info.annotations:
        return info.annotations
    present = metadata.get("annotations") or {}
    for name in (SLICE_NAME_ANNOTATION, WORKLOAD_ANNOTATION):
        if name in present and name in info.annotations:
            present[name] = info.annotations[name]
    return info.annotations


def _add(owner: dict[str, Any], name: str, added: Mapping[str, str], told_as: str) -> None:
    if not added:
        return
    present = _part(owner, name)
    for key in sorted(added):
        value = added[key]
        if present.setdefault(key, value) != value:
            conflict = f"conflict for key={key}, value1={present[key]}, value2={value}"
            raise PermanentError(f"invalid admission check PodSetUpdate: conflict for {told_as}: {conflict}")


def _append(owner: dict[str, Any], name: str, added: Sequence[Any]) -> None:
    present = owner.get(name) or []
    missing = [item for item in added if item not in present]
    if missing:
        owner[name] = [*present, *missing]


def _replace(owner: dict[str, Any], name: str, value: Any) -> None:
    if value:
        owner[name] = value
    else:
        owner.pop(name, None)
