"""Pending workloads in the order of the visibility API (SCH-213), and the cost of listing many."""

from random import Random

import pytest

from engine.pending_model import PendingQueueModel, cluster_queue, workload
from engine.pending_queues import NOW, best_effort, fail, filled, popped, retry, same
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import RequeueReason
from kohort.engine.pending import PendingQueue, PendingState
from kohort.engine.pending.heap import Item, PendingHeap
from kohort.engine.records import QueuePolicies


class TestListing:
    def test_lists_all_workloads_in_one_order(self) -> None:
        """SCH-213"""
        queue = best_effort(workload("a", queued=1), workload("b", queued=2), workload("c", queued=3))
        fail(queue, RequeueReason.NO_FIT)
        popped(queue)
        assert names(queue) == ["a", "b", "c"]

    def test_follows_what_changes(self) -> None:
        """SCH-213"""
        usages = {ObjectKey("team", "a"): 0.0, ObjectKey("team", "b"): 1.0}
        queue = PendingQueue(cluster_queue(), usages.__getitem__)
        filled(queue, [workload("of-a", local_queue="a"), workload("of-b", local_queue="b")])
        assert names(queue) == ["of-a", "of-b"]
        usages[ObjectKey("team", "a")] = 2.0
        assert names(queue) == ["of-b", "of-a"]
        queue.push(workload("first", local_queue="b", priority=1), NOW)
        assert names(queue) == ["first", "of-b", "of-a"]

    def test_follows_the_strategy(self) -> None:
        """SCH-240"""
        queue = best_effort(workload("P"))
        fail(queue, RequeueReason.PENDING_PREEMPTION)
        queue.push(workload("H", priority=9), NOW)
        assert names(queue) == ["P", "H"]
        queue.queue.policies = QueuePolicies(is_strict=True)
        assert names(queue) == ["H", "P"]

    def test_returns_positions_in_both_queues(self) -> None:
        """SCH-213"""
        queue = best_effort(
            workload("a", queued=1, local_queue="x"),
            workload("b", queued=2, local_queue="y"),
            workload("c", queued=3, local_queue="x"),
        )
        assert {key.name: tuple(each) for key, each in queue.positions()} == {"a": (0, 0), "b": (1, 0), "c": (2, 1)}


def names(queue: PendingQueue) -> list[str]:
    return [key.name for key, _ in queue.positions()]


class TestSize:
    """What crossed-out items could spoil shows only when there are many."""

    @pytest.mark.parametrize("seed", range(4))
    def test_many_changes_with_many_equivalent_workloads_keep_the_order(self, seed: int) -> None:
        """SCH-212, SCH-251, SCH-260"""
        random = Random(seed)  # noqa: S311 - the same life in every run
        usage_of = (lambda key: float(len(key.name))) if seed % 2 else None
        queue, model = PendingQueue(cluster_queue(), usage_of), PendingQueueModel(cluster_queue(), usage_of)
        for _ in range(1500):
            self.live_on(queue, model, random)
        assert queue.counts == tuple(model.count(place) for place in PendingState)
        assert [key for key, _ in queue.positions()] == [each.key for each in model.listing()]

    def live_on(self, queue: PendingQueue, model: PendingQueueModel, random: Random) -> None:
        one = workload(
            f"w{random.randrange(400)}",
            queued=random.randrange(1000),
            priority=random.randrange(3),
            kind=random.choice("xyz"),
            local_queue=random.choice(["a", "bb"]),
        )
        match random.randrange(8):
            case 0 | 1 | 2 | 3:
                queue.push(one, NOW)
                model.update(one, NOW, changed=True)
            case 4:
                queue.remove(one)
                model.remove(one.key)
            case 5:
                assert retry(queue) == model.retry(NOW, lambda namespace: namespace == "team")
            case _:
                head = queue.pop(NOW)
                assert head is model.pop(NOW)
                if head is not None:
                    reason = random.choice([*RequeueReason, RequeueReason.NO_FIT, RequeueReason.NO_FIT])
                    queue.requeue(head, reason, NOW)
                    model.requeue(head, reason, NOW, "")

    def test_a_class_is_parked_and_recalled_without_touching_its_members(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """SCH-251, SCH-260"""
        queue = best_effort(*[same(number) for number in range(1000)])
        touched = []
        add = PendingHeap.add

        def counted(heap: PendingHeap, item: Item) -> None:
            touched.append(item)
            add(heap, item)

        monkeypatch.setattr(PendingHeap, "add", counted)
        for _ in range(3):
            fail(queue, RequeueReason.NO_FIT)
            assert retry(queue) == 1000
        assert {item[2] for item in touched} == {("A0", "A0")}

    def test_items_of_removed_workloads_do_not_accumulate(self) -> None:
        queue = best_effort(stays := workload("stays", kind="x"))
        for number in range(2000):
            stays.priority = number
            queue.update(stays, NOW, changed=True)
        kept = [item for head_heap in queue._heaps._head_heaps.values() for item in head_heap.items]
        assert len(kept) < 100
        group = queue._entries[stays.key].group
        assert group is not None
        assert len(group.active.items) < 100

    def test_groups_of_removed_workloads_are_dropped(self) -> None:
        queue = best_effort()
        for number in range(50):
            queue.push(workload(f"w{number}", kind=f"former-{number}"), NOW)
            queue.push(one := workload(f"w{number}", kind=f"kind-{number}"), NOW)
            fail(queue, RequeueReason.NO_FIT)
            queue.remove(one)
        assert not queue._heaps._groups
        assert not queue._heaps._inadmissible
