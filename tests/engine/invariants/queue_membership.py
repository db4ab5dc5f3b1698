"""Membership of queues: a workload is pending in one queue, holds quota in one, or neither (SCH-201 to SCH-204)."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kohort.api.meta import ObjectKey
from kohort.engine import record_builders
from kohort.engine.engine import Engine
from kohort.engine.pending import PendingState
from kohort.engine.quota import FlavorResource, QuotaCell
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo
from kohort.engine.requests.usage import admitted_usage
from kohort.engine.state.store import EngineStore

NO_QUEUE: Final = ""
"""Instead of the name of a queue."""


@dataclass(frozen=True, slots=True)
class Memberships:
    """Which queues have a workload, by its key."""

    waits: dict[ObjectKey, dict[str, PendingState]]
    """Its state in each ClusterQueue in which it is pending."""
    holds: dict[ObjectKey, list[str]]
    """ClusterQueues in which it holds quota."""
    homes: dict[ObjectKey, list[ObjectKey]]
    """LocalQueues that have it."""

    @staticmethod
    def of(store: EngineStore) -> "Memberships":
        """Collected once for all workloads: the check runs after every event."""
        found = Memberships(defaultdict(dict), defaultdict(list), defaultdict(list))
        for name, pending in store.pending.items():
            for workload in store.workloads.values():
                state = pending.state_of(workload)
                if state is not None:
                    found.waits[workload.key][name] = state
        for name, queue in store.queues.items():
            for key, holder in queue.holders.items():
                if store.workloads.get(key) is holder:
                    found.holds[key].append(name)
        for home, local_queue in store.local_queues.items():
            for key in local_queue.workloads:
                found.homes[key].append(home)
        return found


def misplaced_workloads(engine: Engine) -> Iterator[str]:
    """Workloads whose queue differs from their objects, and queues that count others."""
    memberships = Memberships.of(engine.store)
    for workload in engine.store.workloads.values():
        yield from _wrong_place(engine, workload, memberships)
        yield from _wrong_home(workload, memberships)
    for queue in engine.store.queues.values():
        yield from _wrong_counts(engine, queue, memberships)
        for holder in queue.holders.values():
            yield from _wrong_holding(engine, queue, holder)
    for key, local_queue in engine.store.local_queues.items():
        yield from (
            f"{key} knows {each}, a ghost" for each in local_queue.workloads.keys() - engine.store.workloads.keys()
        )


def _wrong_place(engine: Engine, workload: WorkloadInfo, memberships: Memberships) -> Iterator[str]:
    key = workload.key
    states = memberships.waits.get(key, {})
    waits, holds = list(states), memberships.holds.get(key, [])
    should_wait, should_hold = _where_it_should_wait(engine, workload), _where_it_should_hold(engine, workload)
    if waits != [each for each in [should_wait] if each]:
        yield f"{key} waits in {waits}, and should in [{should_wait}]"
    if holds != [each for each in [should_hold] if each]:
        yield f"{key} holds quota in {holds}, and should in [{should_hold}]"
    if workload.queue is not engine.store.queues.get(should_wait + should_hold):
        yield f"{key} takes itself to be in {workload.queue}, and should be in [{should_wait}{should_hold}]"
    if PendingState.IN_FLIGHT in states.values():
        yield f"{key} is in flight, and no cycle runs"


def _where_it_should_hold(engine: Engine, workload: WorkloadInfo) -> str:
    """SCH-420; what was just decided counts before it is written (SCH-350)."""
    if workload.key in engine.store.assumed:
        return workload.queue.name if workload.queue else NO_QUEUE
    thing = workload.object
    if (
        thing is None
        or not record_builders.holds_quota(thing, record_builders.conditions_of(thing))
        or thing.status.admission is None
    ):
        return NO_QUEUE
    name = thing.status.admission.cluster_queue
    return name if name in engine.store.queues and not _is_replaced(engine, workload) else NO_QUEUE


def _is_replaced(engine: Engine, workload: WorkloadInfo) -> bool:
    """Whether a newer slice has just taken its quota over (SCH-1104)."""
    successor = engine.store.workloads.get(engine.store.replaced_slices.get(workload.key, workload.key))
    return successor is not workload and successor is not None and successor.has_quota


def _where_it_should_wait(engine: Engine, workload: WorkloadInfo) -> str:
    thing = workload.object
    if thing is None or workload.key in engine.store.assumed:
        return NO_QUEUE
    if not record_builders.is_admissible(thing, record_builders.conditions_of(thing), engine.settings.gates):
        return NO_QUEUE
    local_queue = engine.store.local_queues.get(workload.local_queue)
    if local_queue is None or local_queue.is_stopped or local_queue.cluster_queue not in engine.store.queues:
        return NO_QUEUE
    return local_queue.cluster_queue


def _wrong_home(workload: WorkloadInfo, memberships: Memberships) -> Iterator[str]:
    homes = memberships.homes.get(workload.key, [])
    if homes != [workload.local_queue]:
        yield f"{workload.key} is known to {[str(each) for each in homes]}, and should be to {workload.local_queue}"


def _wrong_counts(engine: Engine, queue: ClusterQueueInfo, memberships: Memberships) -> Iterator[str]:
    """Numbers that do not fit the workloads: of those that wait, and of holders by priority."""
    pending = engine.store.pending[queue.name]
    places = Counter(states[queue.name] for states in memberships.waits.values() if queue.name in states)
    if pending.counts != (
        places[PendingState.ACTIVE],
        places[PendingState.INADMISSIBLE],
        places[PendingState.IN_FLIGHT],
    ):
        yield f"{queue.name} counts its pending workloads as {pending.counts}, and they are {places}"
    priorities = Counter(holder.priority for holder in queue.holders.values())
    if priorities != queue.priorities:
        yield f"{queue.name} counts holders by priority as {queue.priorities}, and they are {dict(priorities)}"


def _wrong_holding(engine: Engine, queue: ClusterQueueInfo, holder: WorkloadInfo) -> Iterator[str]:
    """What a holder counts must be the usage of its admission, at the cells of its queue (SCH-134)."""
    key = holder.key
    if engine.store.workloads.get(key) is not holder:
        yield f"{key} holds quota in {queue.name} and is not known"
    if not holder.has_quota:
        yield f"{key} holds quota in {queue.name} and does not know"
    cells = {counter: amount for counter, amount in holder.held.items() if isinstance(counter, QuotaCell)}
    if cells != {queue.node.cells.get(fr): amount for fr, amount in holder.usage.items()}:
        yield f"{key} counts its use at cells that are not those of {queue.name}"
    if key not in engine.store.assumed and _usage_by_object(engine, holder) != holder.usage:
        yield f"{key} holds {holder.usage}, and its admission {_usage_by_object(engine, holder)}"


def _usage_by_object(engine: Engine, workload: WorkloadInfo) -> dict[FlavorResource, int]:
    usage: Counter[FlavorResource] = Counter()
    for pod_set in admitted_usage(workload.object, engine.settings.gates) if workload.object else ():
        for resource, amount in pod_set.amounts.items():
            if resource in pod_set.flavors:
                usage[FlavorResource(pod_set.flavors[resource], resource)] += amount
    return dict(usage)
