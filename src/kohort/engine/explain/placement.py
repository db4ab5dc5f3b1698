"""Why pods can't be placed in the topology of a flavor: the domain with most capacity, and the workloads there."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kohort.engine.explain.model import PlaceHolder, PlacementTrial
from kohort.engine.records import WorkloadInfo
from kohort.engine.topology import FlavorDomains, PlacementFailure

if TYPE_CHECKING:
    from kohort.engine.engine import Engine

NAMED_HOLDERS: Final = 5


def placement_trial(engine: "Engine", flavor: str, failure: PlacementFailure) -> PlacementTrial:
    """The failure of a placement, with the workloads that have most pods in the domain with most capacity."""
    topology = engine.store.topology.flavor(flavor)
    held = sorted(_holders(engine, topology, failure) if topology is not None else (), key=_rank)
    rest = held[NAMED_HOLDERS:]
    return PlacementTrial(failure, tuple(held[:NAMED_HOLDERS]), len(rest))


def _rank(holder: PlaceHolder) -> tuple[object, ...]:
    return -holder.pods, holder.workload


def _holders(engine: "Engine", topology: FlavorDomains, failure: PlacementFailure) -> Iterator[PlaceHolder]:
    for queue in engine.store.queues.values():
        for holder in queue.holders.values():
            pods = _pods_in(holder, topology, failure)
            if pods:
                yield PlaceHolder(holder.key, queue.name, holder.priority, pods)


def _pods_in(holder: WorkloadInfo, topology: FlavorDomains, failure: PlacementFailure) -> int:
    """Pods of a workload in the domain of a failure, or in any of the flavor if it names none."""
    return sum(
        pods
        for counter, pods in holder.placed.items()
        if counter.key == topology.usage_key(counter.key[1])
        and topology.has_domain(counter.key[1])
        and (not failure.domain or topology.path_of(counter.key[1], failure.level) == failure.domain)
    )
