"""Places of pods: usage of topology domains is the sum of the topology assignments (TAS-29), within capacity."""

from collections import Counter
from collections.abc import Iterator

from kohort.api.kueue.v1beta2.workload import Admission
from kohort.engine.cycle_context import EngineCycleContext
from kohort.engine.engine import Engine
from kohort.engine.placement.places import domains_of
from kohort.engine.placement.search import FoundPlaces
from kohort.engine.records import WorkloadInfo
from kohort.engine.state.store import EngineStore
from kohort.engine.topology.usage import UsageKey
from kohort.engine.usage_request import released

DomainTotals = dict[UsageKey, dict[str, int]]


def wrong_places(engine: Engine) -> Iterator[str]:
    """Domains whose usage is not that of the holders' assignments, and holders that do not count their places."""
    store = engine.store
    actual, expected = store.topology.usage.in_use(), _usage_by_assignments(store)
    for key in sorted(actual.keys() | expected.keys()):
        if actual.get(key) != expected.get(key):
            yield f"{key} counts {actual.get(key)} as used by pods, and it is {expected.get(key)}"
    for queue in store.queues.values():
        for holder in queue.holders.values():
            if any(holder.held.get(counter) != pods for counter, pods in holder.placed.items()):
                yield f"{holder.key} has places in {queue.name} that it does not hold"


def _usage_by_assignments(store: EngineStore) -> DomainTotals:
    totals: dict[UsageKey, Counter[str]] = {}
    for queue in store.queues.values():
        for holder in queue.holders.values():
            admission = _admission_of(store, holder)
            if admission is not None:
                _add(store, totals, holder, admission)
    return {key: dict(amounts) for key, amounts in totals.items() if amounts}


def _admission_of(store: EngineStore, holder: WorkloadInfo) -> Admission | None:
    """What was decided, until it is observed; else that of the object."""
    decided = store.placed_ahead.get(holder.key)
    if decided is not None or holder.key in store.assumed or holder.object is None:
        return decided or holder.admission
    return holder.object.status.admission


def _add(store: EngineStore, totals: dict[UsageKey, Counter[str]], holder: WorkloadInfo, admission: Admission) -> None:
    one_pod = {each.name: each.one_pod for each in holder.pod_sets}
    for assigned in admission.pod_set_assignments:
        place = assigned.topology_assignment
        for flavor in set(assigned.flavors.values()) if place is not None else ():
            topology = store.topology.flavor(flavor)
            if topology is None or place is None:
                continue
            for values, pods in domains_of(place).domains:
                amounts = totals.setdefault(topology.usage_key(values), Counter())
                for resource, amount in one_pod[assigned.name].items():
                    if amount:
                        amounts[resource] += amount * pods


def overfull_domains(context: EngineCycleContext, workload: WorkloadInfo, found: FoundPlaces) -> Iterator[str]:
    """Domains in which pods that were just admitted do not fit; victims do not count (SCH-331, TAS-80)."""
    holders = [holder for queue in context.store.queues.values() for holder in queue.holders.values()]
    leaving = [each for each in holders if each is not workload and context.is_leaving(each)]
    with released([*leaving, workload]):
        if not found.fit():
            yield f"{workload.key} was placed in {found.domains}, which do not have the capacity"
