"""Whether the real Kueue counted twice what a workload has and keeps.

Placing a slice of an elastic job, it counts the pods of the replaced slice as usage and as assumed usage, the latter
one pod set after the other. Then all pods of the new slice have to fit without those of the replaced one, as if they
were new; both remain counted until the cycle ends (Q-12). Preempting for a second pass, it adds the quota that the
workload has to what it looks for (Q-21).
"""

from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from kohort.engine.assignment import Assignment
from kohort.engine.cycle import processing
from kohort.engine.cycle.model import CycleEntry
from kohort.engine.placement.reassignment import ElasticPlacement
from kohort.engine.placement.search import FailedPlacement, FoundPlaces, PlacementSearch
from kohort.engine.records import NO_PLACES
from kohort.engine.topology import AssumedUsage, CapacityMode
from kohort.engine.usage_request import UsageRequest
from oracle.lost_places import agrees, is_parked, is_recomputed
from oracle.overcommitted import is_overcommitted

Json = Any

_admit: Any = processing._Cycle._admit
_find = PlacementSearch._find
_keep, _place = ElasticPlacement.keep, ElasticPlacement.place


def _request(assignment: Assignment) -> UsageRequest:
    """The request of a second pass has no usage of its own."""
    return UsageRequest(assignment.usage or assignment.full_usage, assignment.needs, assignment.search)


def _all_as_new(search: PlacementSearch, mode: CapacityMode) -> FoundPlaces | FailedPlacement:
    found = _find(search, mode)
    if search.replaced is None or isinstance(found, FailedPlacement):
        return found
    return replace(found, added=found.counters, left=search.replaced.placed)


def _keep_and_place(placement: ElasticPlacement, assumed: AssumedUsage, mode: CapacityMode) -> Any:
    _keep(placement, assumed)
    return _place(placement, assumed, mode)


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
        patch.object(PlacementSearch, "released", NO_PLACES),
        patch.object(PlacementSearch, "_find", _all_as_new),
        patch.object(ElasticPlacement, "keep", lambda *_: None),
        patch.object(ElasticPlacement, "place", _keep_and_place),
        patch.object(processing._Cycle, "_admit", _admit_beside),
    ):
        return any(explains(scenario, answer) for explains in (agrees, is_parked, is_recomputed, is_overcommitted))
