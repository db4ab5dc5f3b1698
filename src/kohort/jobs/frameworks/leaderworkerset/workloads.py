"""The Workloads of a LeaderWorkerSet: one for each group, created before its pods (JOB-182)."""

from collections.abc import Sequence
from itertools import islice
from typing import ClassVar, Final

from msgspec.structs import replace

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.resource import Resource
from kohort.engine.lifecycle.finishing import without_finalizer
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.effects import DeleteWorkload, Effect, PatchWorkload, record_event
from kohort.jobs.frameworks.leaderworkerset.groups import (
    FRAMEWORK,
    SETS,
    group_count,
    group_pod_sets,
    group_workload_name,
)
from kohort.jobs.frameworks.pods.serving import (
    SetOwner,
    annotations_with_gates,
    create_group_workload,
    is_queued,
    update_group_workload,
)
from kohort.jobs.keys import COMPONENT_INDEX_ANNOTATION, MULTIKUEUE_ORIGIN_LABEL
from kohort.jobs.objects import labels, metadata, queue_name
from kohort.jobs.planners import Planner
from kohort.jobs.priority import needing_priority_update, resolve_priority, with_priority
from kohort.jobs.reconcile_pass import PassPlan, PassReader
from kohort.jobs.scope import workloads_of

MANAGER: Final = "kueue-leaderworkerset-controller"
MAX_PER_PASS: Final = 100
"""Workloads created, and Workloads deleted, in one pass; their events start the next."""

NO_GROUP: Final = 1 << 40
"""The first of the indexes of Workloads that belong to no group."""


class GroupPlanner(Planner):
    """Plans LeaderWorkerSets and their Workloads."""

    name: ClassVar[str] = FRAMEWORK
    resource: ClassVar[Resource] = SETS
    follows_workloads: ClassVar[bool] = True

    def plan(self, obj: JsonObject, ancestor: JsonObject | None, reads: PassReader) -> PassPlan:
        """Create missing Workloads, delete surplus ones, and update the others."""
        if not is_queued(obj, ancestor, reads):
            return PassPlan()
        present = _by_index(obj, workloads_of(obj, reads), reads)
        count = group_count(obj)
        effects: list[Effect] = []
        if MULTIKUEUE_ORIGIN_LABEL not in labels(obj):
            missing = (index for index in range(count) if index not in present)
            effects += _created(obj, list(islice(missing, MAX_PER_PASS)), reads)
        effects += _deleted([each for index, each in present.items() if index >= count][:MAX_PER_PASS])
        effects += _updated(obj, [each for index, each in present.items() if index < count], reads)
        return PassPlan(tuple(effects))


def _by_index(obj: JsonObject, workloads: Sequence[Workload], reads: PassReader) -> dict[int, Workload]:
    """The Workloads by the index of their group; others get indexes that no group has."""
    found: dict[int, Workload] = {}
    unknown = list[Workload]()
    for each in workloads:
        index = each.metadata.annotations.get(COMPONENT_INDEX_ANNOTATION, "")
        if index.isascii() and index.isdigit() and each.metadata.name == group_workload_name(obj, index, reads.gates):
            found[int(index)] = each
        else:
            unknown.append(each)
    if unknown:  # without the annotation only the name has the index
        indexes = {group_workload_name(obj, index, reads.gates): index for index in range(group_count(obj))}
        found |= {indexes.get(each.metadata.name, NO_GROUP + at): each for at, each in enumerate(unknown)}
    return found


def _created(obj: JsonObject, indexes: Sequence[int], reads: PassReader) -> list[Effect]:
    if not indexes:
        return []
    pod_sets, owner = group_pod_sets(obj, reads.gates), SetOwner(SETS, obj)
    effects: list[Effect] = []
    for index in indexes:
        name = group_workload_name(obj, index, reads.gates)
        effects += create_group_workload(owner, name, pod_sets, reads, {COMPONENT_INDEX_ANNOTATION: str(index)})
    return effects


def _deleted(surplus: Sequence[Workload]) -> list[Effect]:
    effects: list[Effect] = []
    for each in surplus:
        released = without_finalizer(each)
        if released is not each:
            effects.append(PatchWorkload(each, released, MANAGER, WriteTarget.OBJECT))
        effects.append(DeleteWorkload(released))
    return effects


def _updated(obj: JsonObject, kept: Sequence[Workload], reads: PassReader) -> list[Effect]:
    """Update queue, admission gates and priority."""
    behind = {each.metadata.name for each in needing_priority_update(obj, kept)}
    pod_sets = group_pod_sets(obj, reads.gates) if behind else []
    effects: list[Effect] = []
    for each in kept:
        noted = annotations_with_gates(obj, each, reads)
        spec = replace(each.spec, queue_name=queue_name(obj) or None)
        followed = replace(each, metadata=replace(each.metadata, annotations=noted), spec=spec)
        if each.metadata.name in behind:
            followed = with_priority(followed, resolve_priority(obj, pod_sets, reads))
        effects += update_group_workload(obj, each, each if followed == each else followed, MANAGER)
        if followed.spec.priority_class_ref != each.spec.priority_class_ref:
            name = f"{metadata(obj).get('namespace', '')}/{each.metadata.name}"
            effects.append(record_event(obj, "UpdatedWorkload", f"Updated workload priority class: {name}"))
    return effects
