"""The limits that an amount exceeds: the worked examples of §4.6 limit by limit, and random trees."""

import pytest
from hypothesis import given, settings

from engine.scenario import ScenarioRunner
from engine.scenario_builders import Json, ScenarioBuilder, group, quota
from engine.scenario_strategies import scenarios
from kohort.api.amounts import to_amount
from kohort.engine.quota import FlavorResource
from kohort.engine.shortage import BindingLimit, QuotaNodeRef, Shortage, WithheldQuota, shortages

CPU = FlavorResource("f", "cpu")
R = QuotaNodeRef("cohort", "R")


def ask(builder: ScenarioBuilder, queue: str, cores: int) -> tuple[Shortage, ...]:
    builder.engine.store.hierarchy.refresh()
    return shortages(builder.engine.store.queues[queue].node, CPU, to_amount("cpu", cores))


def limits(builder: ScenarioBuilder, queue: str, cores: int) -> list[tuple[BindingLimit, str, int]]:
    """Limit, node and missing cores of every shortage."""
    return [(each.limit, str(each.place), each.missing // 1000) for each in ask(builder, queue, cores)]


class TestExampleA:
    """A flat cohort with both limits (SCH-410, SCH-411, SCH-431): a 9 +6, b 12 of which 4 are lent."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.queue("a", 9, bl=6)
        builder.queue("b", 12, ll=4)
        return builder

    def test_what_fits_lacks_nothing(self, builder: ScenarioBuilder) -> None:
        assert ask(builder, "a", 13) == ()

    def test_the_cohort_is_full(self, builder: ScenarioBuilder) -> None:
        builder.running("b1", 12, "b")
        builder.running("a1", 8, "a")
        assert limits(builder, "a", 4) == [(BindingLimit.COHORT_CAPACITY, "cohort R", 3)]
        assert ask(builder, "a", 4)[0].text == "cohort R has 13, 12 in use, 3 more needed"

    def test_a_sibling_keeps_what_would_do(self, builder: ScenarioBuilder) -> None:
        builder.running("b1", 4, "b")
        builder.running("a1", 12, "a")
        (found,) = ask(builder, "a", 2)
        assert (found.limit, found.place, found.kept) == (BindingLimit.LENDING_LIMIT, R, 4000)
        assert found.keepers == (WithheldQuota(QuotaNodeRef("queue", "b"), lends=4000, has=12000, keeps=4000),)
        assert found.text == "cohort R has 13, 12 in use, 1 more needed; queue b lends only 4 of its 12"

    def test_a_sibling_keeps_too_little_to_help(self, builder: ScenarioBuilder) -> None:
        builder.running("b1", 7, "b")
        builder.running("a1", 12, "a")
        assert limits(builder, "a", 3) == [(BindingLimit.COHORT_CAPACITY, "cohort R", 2)]

    def test_both_limits_at_once_the_tightest_first(self, builder: ScenarioBuilder) -> None:
        builder.queue("a", 9, bl=2)
        builder.running("a1", 10, "a")
        builder.running("b1", 8, "b")
        assert limits(builder, "a", 4) == [
            (BindingLimit.BORROWING_LIMIT, "queue a", 3),
            (BindingLimit.COHORT_CAPACITY, "cohort R", 1),
        ]
        assert ask(builder, "a", 4)[0].text == "queue a has 9 and may borrow 2, 10 in use, 3 more needed"

    def test_more_than_the_maximum(self, builder: ScenarioBuilder) -> None:
        builder.running("a1", 9, "a")
        (found,) = ask(builder, "a", 14)
        assert (found.limit, found.place, found.allowed, found.in_use) == (BindingLimit.MAXIMUM, R, 13000, 0)
        assert found.text == (
            "13 cpu is the most that cohort R could ever give, 1 more needed; queue b lends only 4 of its 12"
        )


def test_a_queue_alone_has_its_nominal_quota() -> None:
    builder = ScenarioBuilder()
    builder.queue("q", 10, cohort=None)
    builder.running("q1", 8)
    assert limits(builder, "q", 5) == [(BindingLimit.NOMINAL, "queue q", 3)]
    assert limits(builder, "q", 11) == [(BindingLimit.MAXIMUM, "queue q", 1)]


def test_a_queue_that_may_not_borrow_is_reported_so() -> None:
    builder = ScenarioBuilder()
    builder.queue("a", 4, bl=0)
    builder.queue("b", 4)
    builder.running("a1", 3, "a")
    (found,) = ask(builder, "a", 2)
    assert found.text == "queue a has 4 and may not borrow, 3 in use, 1 more needed"


def test_debt_counts_in_what_is_missing() -> None:
    """Example C: seven of five in use, so that three must go before one fits (SCH-434)."""
    builder = ScenarioBuilder()
    builder.queue("a", 4)
    builder.queue("b", 4)
    builder.running("a1", 7, "a")
    builder.queue("b", 1)
    (found,) = ask(builder, "b", 1)
    assert found.text == "cohort R has 5, 7 in use, 3 more needed"


class TestExampleB:
    """A hierarchy (SCH-412, SCH-431): R 10; L 4 +5 lends 6, with a 8 and b 2 +3; M, with c 6 lends 2."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        builder = ScenarioBuilder()
        builder.cohort("R", 10)
        builder.cohort("L", 4, parent="R", bl=5, ll=6)
        builder.cohort("M", parent="R")
        builder.queue("a", 8, cohort="L")
        builder.queue("b", 2, cohort="L", bl=3)
        builder.queue("c", 6, cohort="M", ll=2)
        return builder

    def test_a_cohort_in_between_binds(self, builder: ScenarioBuilder) -> None:
        builder.running("a1", 12, "a")
        assert limits(builder, "a", 8) == [(BindingLimit.BORROWING_LIMIT, "cohort L", 1)]

    def test_the_root_binds_and_a_queue_two_levels_down_keeps_quota_from_it(self, builder: ScenarioBuilder) -> None:
        builder.cohort("L", 4, parent="R", ll=6)
        builder.running("a1", 22, "a")
        (found,) = ask(builder, "a", 5)
        assert (found.limit, found.place, found.missing) == (BindingLimit.LENDING_LIMIT, R, 1000)
        assert [str(keeper.place) for keeper in found.keepers] == ["queue c"]

    def test_below_a_cohort_that_keeps_quota_no_other_node_is_named(self, builder: ScenarioBuilder) -> None:
        builder.cohort("L", 4, parent="R")
        builder.cohort("M", 1, parent="R", ll=1)
        builder.running("a1", 24, "a")
        (found,) = ask(builder, "a", 2)
        assert [str(keeper.place) for keeper in found.keepers] == ["cohort M"]

    def test_the_borrowing_limit_of_a_cohort_bounds_the_maximum(self, builder: ScenarioBuilder) -> None:
        (found,) = ask(builder, "a", 20)
        assert (found.limit, str(found.place), found.allowed, found.missing) == (
            BindingLimit.MAXIMUM,
            "cohort L",
            19000,
            1000,
        )


def test_amounts_have_the_units_of_the_specification() -> None:
    """SCH-104."""
    builder = ScenarioBuilder()
    builder.queue("q", groups=[group({"f": [quota("memory", "10Gi")]})], cohort=None)
    builder.running("q1", {"memory": 8 * 2**30})
    builder.engine.store.hierarchy.refresh()
    (found,) = shortages(builder.engine.store.queues["q"].node, FlavorResource("f", "memory"), 3 * 2**30)
    assert found.text == "queue q has 10Gi, 8Gi in use, 1Gi more needed"


@given(scenarios(most_steps=20))
@settings(max_examples=30)
def test_the_tightest_limit_misses_what_is_not_available(scenario: Json) -> None:
    """SCH-431: the shortages are the terms of the minimum."""
    runner = ScenarioRunner()
    runner.play(scenario)
    runner.engine.store.hierarchy.refresh()
    for queue in runner.engine.store.queues.values():
        for fr, cell in queue.node.cells.items():
            if queue.node.is_cyclic:
                continue
            for amount in (1, 1000, 4000, cell.potential, cell.potential + 1):
                found = shortages(queue.node, fr, amount)
                if amount > cell.potential:
                    assert [(each.limit, each.missing) for each in found] == [
                        (BindingLimit.MAXIMUM, amount - cell.potential)
                    ]
                else:
                    missing = max([each.missing for each in found], default=0)
                    assert missing == max(0, amount - cell.available())
                    assert [each.missing for each in found] == sorted((e.missing for e in found), reverse=True)
