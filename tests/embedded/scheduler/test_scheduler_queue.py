"""Pods wait in order, rest without cost, and come back when something happens for them."""

from hypothesis import given
from hypothesis import strategies as st

from embedded.scheduler.harness import SchedulerHarness, node, pod
from kohort.embedded.scheduler.cache import PodInfo
from kohort.embedded.scheduler.cluster_events import ClusterEvents
from kohort.embedded.scheduler.diagnosis import UnschedulableCause
from kohort.embedded.scheduler.scheduling_queue import MAX_UNSCHEDULABLE_SECONDS, SchedulingQueue


class SchedulingQueueHarness:
    """A queue, and pods for it."""

    def __init__(self) -> None:
        self.site = SchedulerHarness(node("n", cpu="1"))
        self.queue = SchedulingQueue()
        self.events = ClusterEvents(self.site.cache, self.queue)
        self.now = 0.0

    def add(self, name: str, priority: int = 0, cpu: str = "1") -> PodInfo:
        record = self.site.pod_info(pod(name, cpu=cpu, priority=priority))
        self.queue.add(record)
        return record

    def pop(self) -> str:
        queued = self.queue.pop(self.now)
        return queued.pod.key.name if queued else ""

    def add_unschedulable(self, cause: UnschedulableCause = UnschedulableCause.RESOURCES) -> str:
        """Let the next one fail."""
        queued = self.queue.pop(self.now)
        assert queued is not None
        self.queue.add_unschedulable(queued, cause, self.now)
        return queued.pod.key.name


def test_higher_priorities_come_first_then_older_pods() -> None:
    line = SchedulingQueueHarness()
    for name, priority in (("a", 0), ("b", 5), ("c", 5), ("d", 9)):
        line.add(name, priority)
    assert [line.pop() for _ in range(5)] == ["d", "b", "c", "a", ""]


@given(st.lists(st.integers(-2, 2), max_size=20))
def test_no_pod_is_lost_or_overtaken(priorities: list[int]) -> None:
    line = SchedulingQueueHarness()
    for index, priority in enumerate(priorities):
        line.add(f"{index:02d}", priority)
    wanted = sorted(range(len(priorities)), key=lambda index: (-priorities[index], index))
    assert [line.pop() for _ in priorities] == [f"{index:02d}" for index in wanted]


def test_equal_pods_are_woken_one_by_one() -> None:
    line = SchedulingQueueHarness()
    for name in "abc":
        line.add(name)
    requirements = {line.add_unschedulable() for _ in range(3)}
    assert requirements == set("abc")
    line.now = 20.0
    line.events.node("n")
    line.events.reactivate(line.now)
    assert [line.pop(), line.pop()] == ["a", ""]


def test_only_pods_that_it_may_help_are_reactivated() -> None:
    line = SchedulingQueueHarness()
    line.add("fits")
    line.add("large", cpu="2")
    line.add("lonely", cpu="500m")
    line.add_unschedulable()
    line.add_unschedulable()
    line.add_unschedulable(UnschedulableCause.STORAGE)
    line.now = 20.0
    line.events.node("n")
    line.events.reactivate(line.now)
    assert [line.pop(), line.pop()] == ["fits", ""]
    line.events.any_node(UnschedulableCause.STORAGE)
    line.events.reactivate(line.now)
    assert [line.pop(), line.pop()] == ["lonely", ""]


def test_recently_failed_pods_wait_behind_others_only() -> None:
    line = SchedulingQueueHarness()
    failed = line.add("failed", priority=5)
    line.add_unschedulable()
    line.queue.reactivate(failed.requirements, line.now)
    line.add("other")
    assert [line.pop(), line.pop()] == ["other", "failed"]


def test_a_pause_ends_in_time_and_grows_to_ten_seconds() -> None:
    line = SchedulingQueueHarness()
    failed = line.add("failed", priority=5)
    for pause in (1, 2, 4, 8, 10, 10):
        line.add_unschedulable()
        line.queue.reactivate(failed.requirements, line.now)
        assert line.queue.next_backoff_end() == line.now + pause
        line.add(f"other{pause}")
        line.now += pause - 0.5
        assert line.pop() == f"other{pause}"
        line.now += 0.5
    assert line.pop() == "failed"


def test_a_pod_whose_scheduling_failed_with_an_error_waits_for_the_whole_backoff() -> None:
    line = SchedulingQueueHarness()
    line.add("a")
    queued = line.queue.pop(0.0)
    assert queued is not None
    line.queue.add_failed(queued, 0.0)
    assert line.pop() == ""
    line.now = 1.0
    assert line.pop() == "a"


def test_a_pod_with_changed_requests_is_tried_again() -> None:
    line = SchedulingQueueHarness()
    before = line.add("a", cpu="2")
    line.add_unschedulable()
    smaller = line.site.pod_info(pod("a", cpu="1"))
    changed = PodInfo(before.uid, smaller.key, smaller.labels, smaller.requirements)
    line.queue.add(changed)
    assert [line.pop(), line.pop()] == ["a", ""]


def test_a_pod_that_went_is_never_given_out() -> None:
    line = SchedulingQueueHarness()
    gone, unschedulable = line.add("gone"), line.add("resting", priority=1)
    line.add_unschedulable()
    line.queue.remove(gone.uid)
    line.queue.remove(unschedulable.uid)
    line.queue.reactivate(unschedulable.requirements, 20.0)
    assert line.pop() == ""
    assert len(line.queue) == 0


def test_no_pod_backs_off_indefinitely() -> None:
    line = SchedulingQueueHarness()
    line.add("a")
    line.add_unschedulable()
    line.now = MAX_UNSCHEDULABLE_SECONDS - 1
    line.queue.flush_unschedulable(line.now)
    assert line.pop() == ""
    line.now = MAX_UNSCHEDULABLE_SECONDS
    line.queue.flush_unschedulable(line.now)
    assert line.pop() == "a"


def test_a_nominated_pod_is_reactivated_when_the_node_changes() -> None:
    line = SchedulingQueueHarness()
    record = line.add("a", priority=9, cpu="1")
    line.add_unschedulable()
    line.site.add_pod(pod("leaving", cpu="1"), "n")
    line.site.cache.nominate(record, "n")
    line.now = 20.0
    line.events.node("n")
    line.events.reactivate(line.now)
    assert line.pop() == "a"
