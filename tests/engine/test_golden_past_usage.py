"""Golden scenario G31: LocalQueues that used less lately go first (SCH-212, SCH-804, SCH-805)."""

from datetime import timedelta
from typing import Any

import pytest

from engine.scenario_builders import CPU, ScenarioBuilder, configured
from kohort.api.meta import ObjectKey
from kohort.api.quantity import NANO, Quantity

Json = Any
USAGE_BASED = {"admissionMode": "UsageBasedAdmissionFairSharing"}
SHARING = {"usageHalfLifeTime": "10m", "usageSamplingInterval": "5m", "resourceWeights": {CPU: 1}}


def local_queue(builder: ScenarioBuilder, name: str, consumed: Json = 0, weight: Json = None) -> None:
    account = {"consumedResources": {CPU: str(consumed)}, "lastUpdate": builder.now.isoformat()}
    builder.put(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"clusterQueue": "q", **({"fairSharing": {"weight": weight}} if weight is not None else {})},
            "status": {"fairSharing": {"weightedShare": 0, "admissionFairSharingStatus": account}},
        }
    )


@pytest.fixture
def builder() -> ScenarioBuilder:
    builder = ScenarioBuilder(configured({"admissionFairSharing": SHARING}))
    builder.queue("q", 100, cohort=None, admissionScope=USAGE_BASED)
    return builder


def order(builder: ScenarioBuilder) -> list[str]:
    """Workloads that get quota, one cycle after the other."""
    served: list[str] = []
    while True:
        names = builder.once().reserved
        if not names:
            return served
        served += names


def test_usage_comes_before_priority(builder: ScenarioBuilder) -> None:
    local_queue(builder, "A", 10)
    local_queue(builder, "B", 2)
    builder.submit("a", 1, "A", priority=100)
    builder.submit("b", 1, "B")
    assert order(builder) == ["b", "a"]


def test_a_heavier_queue_may_use_more(builder: ScenarioBuilder) -> None:
    local_queue(builder, "A", 10, weight=10)
    local_queue(builder, "B", 2)
    builder.submit("b", 1, "B")
    builder.submit("a", 1, "A")
    assert order(builder) == ["a", "b"]


def test_each_admission_costs_at_once(builder: ScenarioBuilder) -> None:
    local_queue(builder, "A", 0)
    local_queue(builder, "B", 2)
    for name in ("A1", "A2"):
        builder.submit(name, 8, "A")
    builder.submit("B1", 1, "B")
    assert order(builder) == ["A1", "B1", "A2"]


def test_a_weight_of_zero_comes_last(builder: ScenarioBuilder) -> None:
    local_queue(builder, "A", 0, weight=0)
    local_queue(builder, "B", 100)
    builder.submit("a", 1, "A", priority=9)
    builder.submit("b", 1, "B")
    assert order(builder) == ["b", "a"]


@pytest.mark.parametrize(("minutes", "consumed"), [(5, 8.2426406), (10, 7)])
def test_usage_is_sampled_and_decays(builder: ScenarioBuilder, minutes: int, consumed: float) -> None:
    """SCH-803, SCH-807: consumed 10, running 4 cores."""
    local_queue(builder, "A", 10)
    builder.running("r", 4, "A", cluster_queue="q")
    builder.wait(minutes * 60)
    builder.turn()
    status = builder.engine.read.local_queue_status(ObjectKey("ns", "A")).fair_sharing
    assert status is not None
    account = status.admission_fair_sharing_status
    assert account is not None
    assert Quantity.parse(account.consumed_resources[CPU]).nanos / NANO == pytest.approx(consumed)
    assert account.last_update == builder.now


class TestAStrictQueueWhoseHeadDoesNotFit:
    """SCH-212a, SCH-803: the least user is selected in every cycle, so a change of the order is enough."""

    @pytest.fixture
    def builder(self) -> ScenarioBuilder:
        """A runs 6 of 10 and is first with a job of 8; B used 1 lately and has a job that fits."""
        builder = ScenarioBuilder(configured({"admissionFairSharing": SHARING}))
        builder.queue("q", 10, cohort=None, admissionScope=USAGE_BASED, queueingStrategy="StrictFIFO")
        local_queue(builder, "A")
        local_queue(builder, "B", 1)
        builder.running("r", 6, "A", cluster_queue="q")
        builder.submit("a", 8, "A")
        builder.submit("b", 1, "B")
        assert builder.turn().reserved == []
        return builder

    def test_admits_the_other_when_time_put_it_first(self, builder: ScenarioBuilder) -> None:
        builder.wait(5 * 60)
        assert builder.turn().reserved == ["b"]

    def test_returns_the_time_of_the_next_sample(self, builder: ScenarioBuilder) -> None:
        assert builder.engine.wake_at() == builder.now + timedelta(minutes=5)

    def test_admits_the_other_when_a_weight_put_it_first(self, builder: ScenarioBuilder) -> None:
        builder.wait(60)
        local_queue(builder, "A", weight=0)
        assert builder.turn().reserved == ["b"]

    def test_need_not_be_sampled_again_without_pending_workloads(self, builder: ScenarioBuilder) -> None:
        builder.finish("ns/r")
        builder.turn()
        assert builder.engine.wake_at() is None
