"""Past usage of LocalQueues, which admission fair sharing orders by: their accounts (SCH-802) and what they count."""

from datetime import datetime
from fractions import Fraction
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pending_model import at, cluster_queue, workload
from kohort.api.config.common import AdmissionFairSharing
from kohort.api.meta import ObjectKey
from kohort.api.quantity import Quantity
from kohort.api.times import MINUTE, SECOND
from kohort.engine.admission_fair_sharing import HistoryRules, UsageHistory, decay, rules_of, scaled
from kohort.engine.pending import PendingQueue
from kohort.engine.records import WorkloadInfo

RULES = HistoryRules(half_life=10 * MINUTE, interval=5 * MINUTE)
A, B = ObjectKey("team", "a"), ObjectKey("team", "b")
W1, W2 = ObjectKey("team", "w1"), ObjectKey("team", "w2")
GI = 2**30


def minutes(number: float) -> datetime:
    return at(60 * number)


def history(rules: HistoryRules = RULES, **consumed: str) -> UsageHistory:
    """An account per LocalQueue, with the cores that it used so far."""
    made = UsageHistory(rules)
    for name, cpu in consumed.items():
        made.seed(ObjectKey("team", name), {"cpu": cpu}, minutes(0))
    return made


def consumed(accounts: UsageHistory, local_queue: ObjectKey = A) -> dict[str, object]:
    status = accounts.status_of(local_queue)
    assert status is not None
    return dict(status.consumed_resources)


def cores(number: int) -> dict[str, int]:
    return {"cpu": 1000 * number}


class TestDecay:
    def test_usage_halves_after_one_half_life(self) -> None:
        """SCH-801"""
        assert decay(600 * SECOND, 600 * SECOND) == 0.5
        assert decay(300 * SECOND, 600 * SECOND) == pytest.approx(0.2928932188)

    def test_without_a_half_life_usage_does_not_decay(self) -> None:
        """SCH-801"""
        assert decay(300 * SECOND, 0) == 0

    def test_the_configuration_sets_the_times(self) -> None:
        settings = AdmissionFairSharing(usage_half_life_time="10m", resource_weights={"cpu": 2.0})
        assert rules_of(settings) == HistoryRules(10 * MINUTE, 5 * MINUTE, {"cpu": 2.0})


class TestSampling:
    @pytest.mark.parametrize(("after", "expected"), [(5, "8242640686n"), (10, "7")])
    def test_usage_moves_towards_what_is_admitted(self, after: int, expected: str) -> None:
        """SCH-803, G31: after 5 minutes 7.071067811 of the past and 1.171572875 of the present"""
        accounts = history(a="10")
        assert accounts.sample(A, cores(4), minutes(after))
        assert consumed(accounts) == {"cpu": expected}

    def test_nothing_happens_before_it_is_time(self) -> None:
        """SCH-803"""
        accounts = history(a="10")
        assert not accounts.sample(A, cores(4), minutes(4.99))
        assert consumed(accounts) == {"cpu": "10"}

    def test_a_pending_penalty_makes_it_time(self) -> None:
        """SCH-803"""
        accounts = history(a="10")
        accounts.charge(A, W1, cores(1), minutes(0))
        assert accounts.sample(A, {}, minutes(1))

    def test_the_next_sample_counts_from_this_one(self) -> None:
        """SCH-803"""
        accounts = history(a="8")
        accounts.sample(A, {}, minutes(10))
        accounts.sample(A, {}, minutes(20))
        assert consumed(accounts) == {"cpu": "2"}

    def test_a_clock_that_went_back_keeps_the_usage(self) -> None:
        """SCH-803: seconds since the last update, at least 0"""
        accounts = history(a="8")
        accounts.charge(A, W1, cores(1), minutes(0))
        accounts.sample(A, cores(100), minutes(-10))
        assert consumed(accounts) == {"cpu": "8"}

    def test_without_a_half_life_no_usage_is_kept(self) -> None:
        """SCH-803"""
        accounts = history(HistoryRules(half_life=0, interval=5 * MINUTE), a="8")
        accounts.sample(A, cores(4), minutes(5))
        assert consumed(accounts) == {}

    def test_resources_that_were_never_used_before_are_added(self) -> None:
        """SCH-803"""
        accounts = history(a="8")
        accounts.sample(A, {"memory": 4 * GI}, minutes(10))
        assert consumed(accounts) == {"cpu": "4", "memory": str(Quantity(2 * GI * 10**9))}

    def test_what_is_no_longer_used_decays_to_nothing(self) -> None:
        """SCH-803: products are rounded down"""
        accounts = history(a="1")
        for number in range(1, 40):
            accounts.sample(A, {}, minutes(10 * number))
        assert consumed(accounts) == {"cpu": "0"}

    @given(st.integers(0, 10**24), st.floats(0, 1, exclude_max=True))
    def test_products_are_exact_up_to_the_billionth(self, amount: int, factor: float) -> None:
        """SCH-803: with the factor exactly as its decimals"""
        assert scaled({"r": amount}, factor) == {"r": int(amount * Fraction(repr(factor)))}


class TestPenalties:
    def test_an_admission_counts_what_one_interval_would_add(self) -> None:
        """SCH-805, G31: 8 cores at alpha 0.2928932 are 2.343145750"""
        accounts = history(a="0")
        accounts.charge(A, W1, cores(8), minutes(0))
        assert accounts.usage_of(A) == 2.343145750
        assert consumed(accounts) == {"cpu": "0"}

    def test_a_second_penalty_of_a_workload_replaces_the_first(self) -> None:
        """SCH-805"""
        accounts = history(a="0")
        accounts.charge(A, W1, cores(80), minutes(0))
        accounts.charge(A, W1, cores(8), minutes(0))
        assert accounts.usage_of(A) == 2.343145750

    def test_once_admitted_it_is_added_to_what_was_sampled(self) -> None:
        """SCH-806"""
        accounts = history(a="10")
        accounts.charge(A, W1, cores(8), minutes(0))
        assert accounts.settle(A, W1, cores(4), minutes(10))
        assert consumed(accounts) == {"cpu": "9343145750n"}
        assert accounts.usage_of(A) == 9.343145750

    def test_settling_leaves_the_penalties_of_others(self) -> None:
        """SCH-806"""
        accounts = history(a="0")
        accounts.charge(A, W1, cores(8), minutes(0))
        accounts.charge(A, W2, cores(8), minutes(0))
        accounts.settle(A, W1, {}, minutes(0))
        assert accounts.usage_of(A) == pytest.approx(2 * 2.343145750)
        assert consumed(accounts) == {"cpu": "2343145750n"}

    def test_settling_without_a_penalty_changes_nothing(self) -> None:
        """SCH-806"""
        accounts = history(a="10")
        assert not accounts.settle(A, W1, cores(4), minutes(10))
        assert consumed(accounts) == {"cpu": "10"}

    def test_dropped_it_leaves_no_trace(self) -> None:
        """SCH-806"""
        accounts = history(a="10")
        accounts.charge(A, W1, cores(8), minutes(0))
        accounts.drop(A, W1)
        assert accounts.usage_of(A) == 10.0
        assert not accounts.settle(A, W1, {}, minutes(1))

    def test_without_a_half_life_usage_is_zero(self) -> None:
        """SCH-801, SCH-805"""
        accounts = history(HistoryRules(half_life=0, interval=5 * MINUTE), a="0")
        accounts.charge(A, W1, cores(8), minutes(0))
        assert accounts.usage_of(A) == 0.0

    @given(st.lists(st.tuples(st.sampled_from("vwxyz"), st.booleans(), st.integers(0, 10**6))))
    def test_what_is_owed_is_the_sum_of_what_is_pending(self, steps: list[tuple[str, bool, int]]) -> None:
        """SCH-804, SCH-805"""
        accounts = history(a="0")
        pending: dict[str, int] = {}
        for name, is_charged, amount in steps:
            key = ObjectKey("team", name)
            if is_charged:
                accounts.charge(A, key, {"cpu": amount}, minutes(0))
                pending[name] = int(amount * 10**6 * Fraction(repr(decay(RULES.interval, RULES.half_life))))
            else:
                accounts.drop(A, key)
                pending.pop(name, None)
            assert accounts.usage_of(A) == sum(pending.values()) / 10**9


class TestUsage:
    def test_is_in_units_of_the_resource_times_its_weight(self) -> None:
        """SCH-804: cpu in cores, a missing resource weight is 1"""
        accounts = history(HistoryRules(10 * MINUTE, 5 * MINUTE, {"cpu": 0.5}), a="0")
        accounts.sample(A, {"cpu": 3000, "memory": 4}, minutes(10))
        assert accounts.usage_of(A) == 0.5 * 1.5 + 2.0

    @pytest.mark.parametrize(("weight", "usage"), [(1.0, 10.0), (10.0, 1.0), (0.5, 20.0), (0.0, inf), (-1.0, inf)])
    def test_is_divided_by_the_weight_of_the_local_queue(self, weight: float, usage: float) -> None:
        """SCH-804"""
        accounts = history(a="10")
        assert accounts.usage_of(A) == 10.0
        accounts.set_weight(A, weight)
        assert accounts.usage_of(A) == usage

    def test_of_an_unknown_local_queue_is_nothing(self) -> None:
        assert history().usage_of(A) == 0.0

    def test_of_a_local_queue_without_weight_is_endless_even_when_it_used_nothing(self) -> None:
        """SCH-804, G31"""
        accounts = history()
        accounts.set_weight(A, 0)
        assert accounts.usage_of(A) == inf


class TestAccounts:
    def test_are_seeded_from_the_status_once(self) -> None:
        """SCH-807"""
        accounts = history(a="10")
        accounts.seed(A, {"cpu": "99"}, minutes(3))
        assert consumed(accounts) == {"cpu": "10"}

    def test_a_seed_is_as_old_as_the_restart(self) -> None:
        """SCH-807: the last update is now"""
        accounts = history()
        accounts.seed(A, {"cpu": "10"}, minutes(60))
        accounts.sample(A, {}, minutes(70))
        assert consumed(accounts) == {"cpu": "5"}

    def test_open_with_zero_where_nothing_was_known(self) -> None:
        """SCH-807: never from current usage"""
        accounts = history()
        accounts.sample(A, cores(4), minutes(60))
        assert consumed(accounts) == {"cpu": "0"}
        accounts.sample(A, cores(4), minutes(70))
        assert consumed(accounts) == {"cpu": "2"}

    def test_the_status_has_the_time_of_the_last_update(self) -> None:
        """SCH-807"""
        accounts = history(a="10")
        accounts.sample(A, {}, minutes(5))
        status = accounts.status_of(A)
        assert status is not None
        assert status.last_update == minutes(5)

    def test_are_gone_with_their_local_queue(self) -> None:
        accounts = history(a="10")
        accounts.set_weight(A, 0)
        accounts.forget(A)
        assert accounts.status_of(A) is None
        assert accounts.usage_of(A) == 0.0


class TestOrder:
    """G31: which LocalQueue's workload is next (SCH-212, SCH-804, SCH-805, SCH-808)."""

    @pytest.mark.parametrize(
        ("used_by_a", "weight_of_a", "used_by_b", "head"),
        [("10", 1, "2", "b1"), ("10", 10, "2", "a1"), ("0", 0, "100", "b1")],
        ids=["usage goes before priority", "a weight divides usage", "weight 0 comes last"],
    )
    def test_less_usage_comes_first(self, used_by_a: str, weight_of_a: int, used_by_b: str, head: str) -> None:
        """SCH-212, G31"""
        accounts = history(a=used_by_a, b=used_by_b)
        accounts.set_weight(A, weight_of_a)
        queue = fair_queue(accounts, of_a("a1", priority=100), of_b("b1"))
        assert popped(queue) == head

    def test_an_admission_moves_the_queue_back(self) -> None:
        """SCH-805, SCH-231, G31"""
        accounts = history(a="0", b="2")
        queue = fair_queue(accounts, of_a("a1"), of_a("a2"), of_b("b1"))
        order = []
        while (head := queue.pop(minutes(1))) is not None:
            order.append(head.key.name)
            accounts.charge(head.local_queue, head.key, cores(8), minutes(1))
            queue.assume(head)
        assert order == ["a1", "b1", "a2"]


def of_a(name: str, priority: int = 0) -> WorkloadInfo:
    return workload(name, local_queue="a", priority=priority)


def of_b(name: str) -> WorkloadInfo:
    return workload(name, local_queue="b")


def fair_queue(accounts: UsageHistory, *workloads: WorkloadInfo) -> PendingQueue:
    queue = PendingQueue(cluster_queue(), accounts.usage_of)
    for each in workloads:
        queue.push(each, minutes(1))
    return queue


def popped(queue: PendingQueue) -> str | None:
    head = queue.pop(minutes(1))
    return head.key.name if head else None
