"""Positions found without sorting are those of the sorted listing (SCH-212, SCH-213)."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pending_model import cluster_queue, workload
from engine.pending_queues import NOW
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import RequeueReason
from kohort.engine.pending import PendingQueue
from kohort.engine.pending import ranking as rankings
from kohort.engine.pending.ranking import Ranking, RankKey

NAMES = [f"w{number}" for number in range(12)]
STANDINGS: list[RankKey] = [(0, (f"{number:03}", ""), ObjectKey("ns", str(number))) for number in range(40)]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(STANDINGS)), max_size=120))
def test_a_ranking_is_a_sorted_list(steps: Sequence[tuple[bool, RankKey]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rankings, "MAX_LENGTH", 4)
        ranking, model = Ranking(), set[RankKey]()
        for adds, sort_key in steps:
            if adds and sort_key not in model:
                ranking.add(sort_key)
                model.add(sort_key)
            elif not adds and sort_key in model:
                ranking.discard(sort_key)
                model.discard(sort_key)
            assert list(ranking) == sorted(model)
            assert len(ranking) == len(model)
        assert [ranking.before(each) for each in STANDINGS] == [sum(m < each for m in model) for each in STANDINGS]


@given(st.data(), st.booleans())
def test_positions_are_those_of_the_listing(data: st.DataObject, by_usage: bool) -> None:
    usages = {ObjectKey("team", name): data.draw(st.sampled_from([0.0, 1.0])) for name in "abc"}
    queue = PendingQueue(cluster_queue(), usages.__getitem__ if by_usage else None)
    for name in data.draw(st.lists(st.sampled_from(NAMES), max_size=25)):
        queue.push(
            workload(
                name,
                priority=data.draw(st.integers(0, 2)),
                queued=data.draw(st.integers(0, 3)),
                local_queue=data.draw(st.sampled_from("abc")),
            ),
            NOW,
        )
        if data.draw(st.booleans()):
            head = queue.pop(NOW)
            if head is not None and data.draw(st.booleans()):
                queue.requeue(
                    head, data.draw(st.sampled_from([RequeueReason.NO_FIT, RequeueReason.PENDING_PREEMPTION])), NOW
                )
            elif head is not None:
                queue.remove(head)
    waiting = queue.first(len(NAMES))
    assert {each.key: queue.position_of(each) for each in waiting} == dict(queue.positions())
    newcomer = workload("newcomer", priority=1, queued=2, local_queue="a")
    foreseen = queue.position_of(newcomer)
    queue.push(newcomer, NOW)
    assert dict(queue.positions())[newcomer.key] == foreseen
