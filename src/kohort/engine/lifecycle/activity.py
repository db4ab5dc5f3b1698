"""Whether a ClusterQueue or a LocalQueue admits workloads: the condition Active (SCH-1051, SCH-1053, API-78).

All causes are in the message; the first of them, in the order of the specification, gives the reason.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from kohort.api.conditions import is_true, set_condition
from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue, LocalQueue, ResourceFlavor
from kohort.api.kueue.v1beta2.checks import MULTIKUEUE_CONTROLLER, PROVISIONING_CONTROLLER
from kohort.api.kueue.v1beta2.queues import AdmissionCheckRule
from kohort.api.unsupported import check_message
from kohort.engine.lifecycle.conditions import ACTIVE, ConditionState, condition_false, condition_true, new_condition


class InactiveReason(NamedTuple):
    """Why a ClusterQueue admits nothing: reason and part of the message."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class QueueReferences:
    """Objects that a ClusterQueue may reference, by name."""

    flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict)
    checks: Mapping[str, AdmissionCheck] = field(default_factory=dict)
    topologies: AbstractSet[str] = frozenset()
    other_problem: str = ""
    """Another cause that keeps the queue from admitting, such as a cycle of its cohorts."""


def with_cluster_queue_activity(queue: ClusterQueue, surroundings: QueueReferences, now: datetime) -> ClusterQueue:
    """The ClusterQueue with its condition Active; the same object if it is unchanged (SCH-1051)."""
    state = _cluster_queue_state(queue, surroundings)
    active = new_condition(ACTIVE, state, queue.metadata.generation, now)
    conditions = set_condition(queue.status.conditions, active)
    if conditions is queue.status.conditions:
        return queue
    return replace(queue, status=replace(queue.status, conditions=conditions))


def _cluster_queue_state(queue: ClusterQueue, surroundings: QueueReferences) -> ConditionState:
    """SCH-1051, SCH-1054."""
    if queue.metadata.deletion_timestamp is not None:
        return condition_false("Terminating", "Can't admit new workloads; clusterQueue is terminating")
    causes = inactivity_causes(queue, surroundings)
    if not causes:
        return condition_true("Ready", "Can admit new workloads")
    return condition_false(causes[0].reason, f"Can't admit new workloads: {', '.join(cause.text for cause in causes)}.")


def inactivity_causes(queue: ClusterQueue, surroundings: QueueReferences) -> tuple[InactiveReason, ...]:
    """Everything that keeps a ClusterQueue from admitting, in the order of API-78."""
    stopped = [InactiveReason("Stopped", "is stopped")] if queue.spec.stop_policy != "None" else []
    other = [InactiveReason("Unknown", surroundings.other_problem)] if surroundings.other_problem else []
    return (
        *stopped,
        *_flavor_causes(queue, surroundings),
        *_check_causes(queue, surroundings),
        *_multikueue_causes(queue, surroundings),
        *_topology_causes(queue, surroundings),
        *other,
    )


def _flavor_causes(queue: ClusterQueue, surroundings: QueueReferences) -> Iterator[InactiveReason]:
    names = (flavor.name for group in queue.spec.resource_groups for flavor in group.flavors)
    missing = list(dict.fromkeys(name for name in names if name not in surroundings.flavors))
    if missing:
        yield InactiveReason("FlavorNotFound", f"references missing ResourceFlavor(s): {','.join(missing)}")


def _check_causes(queue: ClusterQueue, surroundings: QueueReferences) -> Iterator[InactiveReason]:
    names = {rule.name for rule in _checks(queue)}
    missing = names - surroundings.checks.keys()
    if missing:
        yield InactiveReason("AdmissionCheckNotFound", f"references missing AdmissionCheck(s): {_listed(missing)}")
    inactive = {name for name in names - missing if not _is_active(surroundings.checks[name])}
    if inactive:
        text = f"references inactive AdmissionCheck(s): {_listed(inactive)}"
        yield InactiveReason(
            "AdmissionCheckInactive", text + _unsupported(surroundings.checks[name] for name in inactive)
        )


def _unsupported(checks: Iterable[AdmissionCheck]) -> str:
    """What this version does not support of these checks, as the end of a message."""
    messages = {check_message(_controller(check)) for check in checks} - {""}
    return f" ({', '.join(sorted(messages))})" if messages else ""


def _multikueue_causes(queue: ClusterQueue, surroundings: QueueReferences) -> Iterator[InactiveReason]:
    """One MultiKueue check at most, for the whole queue, and no ProvisioningRequest beside it (MK-3)."""
    rules = _checks_of(MULTIKUEUE_CONTROLLER, queue, surroundings)
    names = _listed(rule.name for rule in rules)
    if len(rules) > 1:
        text = f"Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {names}"
        yield InactiveReason("MultipleMultiKueueAdmissionChecks", text)
    everywhere = _flavors(queue)
    partial = [rule.name for rule in rules if rule.on_flavors and not everywhere <= set(rule.on_flavors)]
    if partial:
        text = f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {_listed(partial)}"
        yield InactiveReason("MultiKueueAdmissionCheckAppliedPerFlavor", text)
    provisioning = _checks_of(PROVISIONING_CONTROLLER, queue, surroundings)
    if rules and provisioning:
        others = _listed(rule.name for rule in provisioning)
        text = f"Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: {names}, {others}"
        yield InactiveReason("MultiKueueWithProvisioningRequest", text)


def _topology_causes(queue: ClusterQueue, surroundings: QueueReferences) -> Iterator[InactiveReason]:
    """With MultiKueue the pods are placed on a worker cluster, and no topology is needed here (TAS-6)."""
    if _checks_of(MULTIKUEUE_CONTROLLER, queue, surroundings):
        return
    for name in sorted(_flavors(queue) & surroundings.flavors.keys()):
        topology = surroundings.flavors[name].spec.topology_name
        if topology is not None and topology not in surroundings.topologies:
            yield InactiveReason("TopologyNotFound", f'there is no Topology "{topology}" for TAS flavor "{name}"')


def _flavors(queue: ClusterQueue) -> set[str]:
    return {flavor.name for group in queue.spec.resource_groups for flavor in group.flavors}


def _checks(queue: ClusterQueue) -> tuple[AdmissionCheckRule, ...]:
    strategy = queue.spec.admission_checks_strategy
    return strategy.admission_checks if strategy else ()


def _checks_of(controller: str, queue: ClusterQueue, surroundings: QueueReferences) -> list[AdmissionCheckRule]:
    return [rule for rule in _checks(queue) if _controller(surroundings.checks.get(rule.name)) == controller]


def _controller(check: AdmissionCheck | None) -> str:
    return check.spec.controller_name if check is not None and check.spec is not None else ""


def _is_active(check: AdmissionCheck) -> bool:
    return is_true(check.status.conditions, ACTIVE)


def _listed(names: Iterable[str]) -> str:
    return ",".join(sorted(names))


def with_local_queue_activity(queue: LocalQueue, behind: ClusterQueue | None, now: datetime) -> LocalQueue:
    """The LocalQueue with its condition Active; the same object if it is unchanged (SCH-1053)."""
    active = new_condition(ACTIVE, _local_queue_state(queue, behind), queue.metadata.generation, now)
    conditions = set_condition(queue.status.conditions, active)
    if conditions is queue.status.conditions:
        return queue
    return replace(queue, status=replace(queue.status, conditions=conditions))


def _local_queue_state(queue: LocalQueue, behind: ClusterQueue | None) -> ConditionState:
    if queue.spec.stop_policy != "None":
        return condition_false("Stopped", "LocalQueue is stopped")
    if behind is None:
        return condition_false("ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
    if is_true(behind.status.conditions, ACTIVE):
        return condition_true("Ready", "Can submit new workloads to localQueue")
    return condition_false("ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")
