"""Whether the real Kueue computed the assignment of an entry that lost its places in a way that ours does not (TAS-81).

It does so too for an entry without targets, which only keeps places from others; its search for flavors and what it
reserves may change (Q-19). An entry that finds no other places waits for an event, even if those that it lost are only
held until the cycle ends (Q-18).
"""

from typing import Any
from unittest.mock import patch

from kohort.engine.cycle import processing
from kohort.engine.cycle.model import CycleEntry
from kohort.engine.usage_request import pods_fit, quota_fits, released
from oracle.differences import differences
from oracle.topology_texts import excuse_of
from oracle.workload_states import our_answer

Json = Any


def is_parked(scenario: Json, answer: list[Json]) -> bool:
    """Whether ours has this result too once entries that lost held places wait for an event."""
    with patch.object(processing._Entries, "_waits_for_held", lambda *_: False):
        return agrees(scenario, answer)


def is_recomputed(scenario: Json, answer: list[Json]) -> bool:
    """Whether ours has this result too once it computes assignments without targets again as well."""
    with patch.object(processing._Entries, "_lost_places", _lost_places):
        return is_parked(scenario, answer)


def agrees(scenario: Json, answer: list[Json]) -> bool:
    """Whether ours has this result."""
    return not differences(our_answer(scenario), answer, excuse_of(scenario))


def _lost_places(entries: processing._Entries, entry: CycleEntry) -> bool:
    """The condition of Kueue, whether the entry has targets or not."""
    outcome = entry.assignment.outcome
    with released(entries._leaving(entry)):
        return quota_fits(entry.queue, outcome) and not pods_fit(outcome)
