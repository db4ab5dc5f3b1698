"""Elastic jobs: a resized job keeps running while a larger slice of it is pending (JOB-80 to JOB-82).

`engine.lifecycle` decides which slices finish; here they are compared with the job, resized, or replaced.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy

from msgspec import Raw
from msgspec.structs import replace

from kohort.api.codec import encode
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import PodSet
from kohort.engine.lifecycle.conditions import is_evicted, is_finished, is_reserved
from kohort.engine.lifecycle.slices import reconcile_slices
from kohort.jobs.defaulting.job_context import set_annotation
from kohort.jobs.effects import PatchObject
from kohort.jobs.equivalence import is_controlled_by
from kohort.jobs.keys import (
    ELASTIC_JOB_ANNOTATION,
    SLICE_NAME_ANNOTATION,
    SLICE_REPLACEMENT_ANNOTATION,
)
from kohort.jobs.objects import annotations, requests_slices
from kohort.jobs.podset_infos import template_of
from kohort.jobs.reconcile_pass import ReconcilePass
from kohort.jobs.workload_matching import follow_priority, fresh_workload, name_of


def is_elastic(this: ReconcilePass) -> bool:
    """Whether the job may change in size while it runs (JOB-80)."""
    return this.framework.is_elastic and requests_slices(this.obj, this.reads.gates)


def unfinished_slices(this: ReconcilePass) -> list[Workload]:
    """The job's unfinished Workloads, oldest first (JOB-81)."""
    owned = this.framework.workloads(this.key, this.reads)
    return [each for each in owned if not is_finished(each) and is_controlled_by(each, this.obj)]


def find_slice(this: ReconcilePass) -> bool:
    """Find the job's slice, or the one that a new slice replaces; returns False if slices do not apply (JOB-81)."""
    _annotate(this)
    current, kept = _settled(this, unfinished_slices(this))
    if current is None:
        return True
    wanted = {each.name: each.count for each in this.framework.pod_sets(this.obj, this.reads)}
    present = {each.name: each.count for each in current.spec.pod_sets}
    if wanted.keys() != present.keys():
        return False
    this.workload = current
    if wanted != present:
        _resize(this, current, wanted, present)
    follow_priority(this, [this.workload or each if each is current else each for each in kept])
    return True


def _annotate(this: ReconcilePass) -> None:
    """Update the annotations of the job (JOB-30)."""
    wanted, present = this.framework.slice_annotations(this.obj, this.reads), annotations(this.obj)
    if any(present.get(name) != value for name, value in wanted.items()):
        annotated = deepcopy(this.obj)
        for name, value in wanted.items():
            set_annotation(annotated, name, value)
        this.effects.append(PatchObject(this.obj, annotated))
        this.obj = annotated


def _settled(this: ReconcilePass, living: Sequence[Workload]) -> tuple[Workload | None, Sequence[Workload]]:
    """The slice to compare the job with, and all remaining ones, after finishing superseded slices."""
    if len(living) <= 1:
        return (living[0] if living else None), living
    # A slice that is being evicted still has pods: the job must stop before anything is finished or replaced.
    leaving = next((each for each in living if is_evicted(each) and is_reserved(each)), None)
    if leaving is not None:
        return leaving, living
    settled = reconcile_slices(living, this.reads.now)
    ends = {ended.metadata.name: ended for ended in settled.ended}
    for each in living:
        if each.metadata.name in ends:
            this.write_status(each, ends[each.metadata.name])
    return settled.current, [each for each in living if each.metadata.name not in ends]


def _resize(this: ReconcilePass, current: Workload, wanted: Mapping[str, int], present: Mapping[str, int]) -> None:
    """Change the counts in place, or request a larger slice if quota is already reserved (JOB-81)."""
    grows = any(wanted[name] > present[name] for name in wanted)
    if not is_reserved(current) or not grows:
        this.write_object(current, _resized(current, wanted))
    elif not is_evicted(current):
        this.workload, this.replaced = None, current


def _resized(workload: Workload, counts: Mapping[str, int]) -> Workload:
    pod_sets = tuple(replace(each, count=counts[each.name]) for each in workload.spec.pod_sets)
    return replace(workload, spec=replace(workload.spec, pod_sets=pod_sets))


def new_slice(this: ReconcilePass) -> Workload:
    """The first slice of a job, or the one that replaces a smaller one (JOB-82)."""
    fresh = fresh_workload(this, this.framework.name_extra(this.obj))
    own = fresh.metadata
    annotations = {**own.annotations, ELASTIC_JOB_ANNOTATION: "true", SLICE_NAME_ANNOTATION: own.name}
    if this.replaced is not None:
        chain = this.replaced.metadata.annotations.get(SLICE_NAME_ANNOTATION) or this.replaced.metadata.name
        fresh = _with_templates_of(fresh, this.replaced, chain)
        annotations |= {SLICE_NAME_ANNOTATION: chain, SLICE_REPLACEMENT_ANNOTATION: name_of(this.replaced)}
    return replace(fresh, metadata=replace(own, annotations=annotations))


def _with_templates_of(fresh: Workload, replaced: Workload, chain: str) -> Workload:
    """The slice with the templates of the replaced one, because those of a running job are modified (Q-10).

    Of what the first start added, only the name of the chain is kept, by which pods are found (JOB-82).
    """
    templates = {each.name: _in_chain(each, chain) for each in replaced.spec.pod_sets}
    pod_sets = tuple(replace(each, template=templates[each.name]) for each in fresh.spec.pod_sets)
    return replace(fresh, spec=replace(fresh.spec, pod_sets=pod_sets))


def _in_chain(pod_set: PodSet, chain: str) -> Raw:
    template = template_of(pod_set)
    set_annotation(template, SLICE_NAME_ANNOTATION, chain)
    return Raw(encode(template))
