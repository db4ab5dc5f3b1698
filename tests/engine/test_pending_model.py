"""After any operations a pending queue agrees with a model that sorts everything each time (SCH-203 to SCH-260)."""

from collections.abc import Callable
from datetime import datetime

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.pending_model import PendingQueueModel, at, cluster_queue, workload
from kohort.api.meta import ObjectKey
from kohort.engine.decisions import RequeueReason
from kohort.engine.pending import PendingQueue, PendingState
from kohort.engine.records import NO_END, QueuePolicies, WorkloadInfo

NAMES = st.sampled_from([f"w{number}" for number in range(24)])
KINDS = st.sampled_from(["", "", "x", "y", "z"])
NAMESPACES = ("team", "guest")
LOCAL_QUEUES = ("a", "b")
USAGES = st.sampled_from([0.0, 1.0, 2.0, float("inf")])


class PendingMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        self.usages: dict[ObjectKey, float] = {}

    @property
    def now(self) -> datetime:
        return at(self.seconds)

    def usage_of(self, local_queue: ObjectKey) -> float:
        return self.usages.get(local_queue, 0.0)

    @initialize(strict=st.booleans(), fair=st.booleans())
    def begin(self, strict: bool, fair: bool) -> None:
        queue = cluster_queue(strict=strict)
        usage_of = self.usage_of if fair else None
        self.queue = PendingQueue(queue, usage_of)
        self.model = PendingQueueModel(queue, usage_of)

    def drawn(self, name: str, data: st.DataObject) -> WorkloadInfo:
        """A record of the workload in some state; the same name is always in the same namespace."""
        backoff = data.draw(st.sampled_from([None, None, None, None, 3.0, 10.0, NO_END]))
        return workload(
            name,
            namespace=NAMESPACES[int(name[1:]) % 5 == 0],
            local_queue=data.draw(st.sampled_from(LOCAL_QUEUES)),
            priority=data.draw(st.integers(0, 2)),
            queued=data.draw(st.integers(0, 3)),
            kind=data.draw(KINDS),
            generation=data.draw(st.integers(1, 2)),
            backoff_until=at(self.seconds + backoff) if isinstance(backoff, float) else backoff,
            has_more=data.draw(st.sampled_from([False, False, False, True])),
        )

    # Entering and leaving

    @rule(names=st.lists(NAMES, min_size=1, max_size=8), data=st.data())
    def push_some(self, names: list[str], data: st.DataObject) -> None:
        for name in names:
            new = self.drawn(name, data)
            self.queue.push(new, self.now)
            self.model.update(new, self.now, changed=True)

    @rule(name=NAMES, changed=st.booleans(), data=st.data())
    def update(self, name: str, changed: bool, data: st.DataObject) -> None:
        new = self.drawn(name, data)
        self.queue.update(new, self.now, changed=changed)
        self.model.update(new, self.now, changed=changed)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        leaving = workload(name, namespace=NAMESPACES[int(name[1:]) % 5 == 0])
        self.queue.remove(leaving)
        self.model.remove(leaving.key)

    # Cycles

    @rule()
    def pop(self) -> None:
        assert self.queue.pop(self.now) is self.model.pop(self.now)

    def in_flight(self) -> WorkloadInfo | None:
        return next((row.workload for row in self.model.rows.values() if row.place is PendingState.IN_FLIGHT), None)

    @rule(reason=st.sampled_from(RequeueReason), note=st.sampled_from(["", "WaitingForQuota"]), data=st.data())
    def requeue_after_change(self, reason: RequeueReason, note: str, data: st.DataObject) -> None:
        old = self.in_flight()
        if old is None:
            return
        new = self.drawn(old.key.name, data)
        self.queue.requeue(new, reason, self.now, note)
        self.model.requeue(new, reason, self.now, note)

    @rule(reason=st.sampled_from(RequeueReason))
    def requeue_unchanged(self, reason: RequeueReason) -> None:
        old = self.in_flight()
        if old is None:
            return
        self.queue.requeue(old, reason, self.now, "WaitingForQuota")
        self.model.requeue(old, reason, self.now, "WaitingForQuota")

    @rule(times=st.integers(1, 6), reason=st.sampled_from(RequeueReason))
    def cycle(self, times: int, reason: RequeueReason) -> None:
        for _ in range(times):
            head = self.queue.pop(self.now)
            assert head is self.model.pop(self.now)
            if head is not None:
                assert self.queue.is_preemptor(head) == (self.model.preemptor == (head.key, head.generation))
                self.queue.requeue(head, reason, self.now, "WaitingForQuota")
                self.model.requeue(head, reason, self.now, "WaitingForQuota")

    @rule()
    def assume(self) -> None:
        head = self.in_flight()
        if head is not None:
            self.queue.assume(head)
            self.model.assume(head.key)

    @rule(name=NAMES, reason=st.sampled_from(RequeueReason), data=st.data())
    def requeue_after_failed_write(self, name: str, reason: RequeueReason, data: st.DataObject) -> None:
        late = self.drawn(name, data)
        self.queue.requeue(late, reason, self.now)
        self.model.requeue(late, reason, self.now, "")

    # Time, retries and settings

    @rule(seconds=st.integers(1, 6))
    def wait(self, seconds: int) -> None:
        self.seconds += seconds

    @rule()
    def wake(self) -> None:
        assert self.queue.wake(self.now) == self.model.wake(self.now)

    @rule(belongs=st.sampled_from([lambda _: True, lambda namespace: namespace == "team", lambda _: False]))
    def retry(self, belongs: Callable[[str], bool]) -> None:
        assert self.queue.retry(self.now, belongs) == self.model.retry(self.now, belongs)

    @rule(namespace=st.sampled_from(NAMESPACES), name=st.sampled_from(LOCAL_QUEUES), usage=USAGES)
    def use(self, namespace: str, name: str, usage: float) -> None:
        self.usages[ObjectKey(namespace, name)] = usage

    @rule(strict=st.booleans())
    def change_strategy(self, strict: bool) -> None:
        self.queue.queue.policies = QueuePolicies(is_strict=strict)

    @rule(fair=st.booleans())
    def change_order(self, fair: bool) -> None:
        self.model.usage_of = self.usage_of if fair else None
        self.queue.order_by(self.model.usage_of)

    # Agreement

    @invariant()
    def all_workloads_are_in_the_same_state(self) -> None:
        for row in self.model.rows.values():
            assert self.queue.state_of(row.workload) is row.place
        assert self.queue.counts == tuple(self.model.count(place) for place in PendingState)

    @invariant()
    def the_listing_has_the_same_order(self) -> None:
        workloads, positions = self.queue.first(sum(self.queue.counts)), dict(self.queue.positions())
        assert [each.key for each in workloads] == [each.key for each in self.model.listing()]
        for index, each in enumerate(workloads):
            same = [other for other in workloads[:index] if other.local_queue == each.local_queue]
            assert positions[each.key] == (index, len(same))

    @invariant()
    def bypassed_workloads_have_the_same_reason(self) -> None:
        for row in self.model.rows.values():
            reason = (
                self.model.failed.get(row.workload.equivalence, "") if row.place is PendingState.INADMISSIBLE else ""
            )
            assert self.queue.bypass_reason(row.workload) == reason

    @invariant()
    def the_next_waking_is_the_same(self) -> None:
        expected = self.model.next_backoff_end()
        assert self.queue.wake_at() == (None if expected == NO_END else expected)


PendingMachine.TestCase.settings = settings(stateful_step_count=40, report_multiple_bugs=False)
TestPendingQueueAgreesWithModel = PendingMachine.TestCase
