"""Whether the real Kueue counted twice what a workload has and keeps.

Placing a slice of an elastic job, it counts the pods of the replaced slice as usage and as assumed usage; they remain
counted beside the new slice until the cycle ends, and have to fit as if they were new (Q-12). Preempting for a second
pass, it adds the quota that the workload has to what it looks for (Q-21).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from kohort.engine.assignment import Assignment
from kohort.engine.cycle import processing
from kohort.engine.cycle.model import CycleEntry
from kohort.engine.placement.search import FoundPlaces, PlacementSearch
from kohort.engine.usage_request import UsageRequest
from oracle.lost_places import agrees, is_parked, is_recomputed
from oracle.overcommitted import available_without_pods, is_overcommitted

Json = Any

_admit: Any = processing._Cycle._admit
_fit = FoundPlaces.fit


def _request(assignment: Assignment) -> UsageRequest:
    """The request of a second pass has no usage of its own."""
    return UsageRequest(assignment.usage or assignment.full_usage, assignment.needs, assignment.search)


@contextmanager
def _with_slice(_search: PlacementSearch) -> Iterator[None]:
    yield


def _all_fit(places: FoundPlaces) -> bool:
    """Also those that are kept, where other pods have come since."""
    return _fit(places) and all(
        available_without_pods(places.topologies[counter.flavor], counter) >= 0 for counter in places.counters
    )


def _admit_beside(cycle: Any, entry: CycleEntry) -> None:
    replaced = entry.workload.takes_over_from
    places = dict(replaced.placed) if replaced is not None else {}
    quota = dict(replaced.usage) if replaced is not None else {}
    _admit(cycle, entry)
    if replaced is not None:
        cycle.entries.hold(entry.queue, UsageRequest(quota, places=FoundPlaces({}, places, places, {})))


def is_counted_twice(scenario: Json, answer: list[Json]) -> bool:
    """Whether ours gives this answer too once it counts twice."""
    with (
        patch.object(Assignment, "request", property(_request)),
        patch.object(PlacementSearch, "_without_slice", _with_slice),
        patch.object(FoundPlaces, "fit", _all_fit),
        patch.object(processing._Cycle, "_admit", _admit_beside),
    ):
        return any(explains(scenario, answer) for explains in (agrees, is_parked, is_recomputed, is_overcommitted))
