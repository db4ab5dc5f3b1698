"""Preemption follows the policy of the engine: its candidates, their order and its limits."""

from collections.abc import Sequence
from typing import Any

import pytest

from engine.scenario_builders import FAIR_SHARING, ScenarioBuilder, configured
from kohort.engine.preemption_policy import (
    KueuePreemptionPolicy,
    PreemptionContext,
    PreemptionPolicy,
    PreemptionTarget,
    SortKey,
)
from kohort.engine.records import ClusterQueueInfo, WorkloadInfo


class OldestFirst(KueuePreemptionPolicy):
    def order(self, own: ClusterQueueInfo, context: PreemptionContext) -> SortKey:
        kueue = super().order(own, context)
        return lambda each: (kueue(each)[0], each.reserved_at)


class ProtectingPolicy(KueuePreemptionPolicy):
    def may_preempt(self, rule: str, preemptor: WorkloadInfo, candidate: WorkloadInfo) -> bool:
        return candidate.key.name != "new" and super().may_preempt(rule, preemptor, candidate)


class AtMostOne(KueuePreemptionPolicy):
    def accepts(self, _preemptor: WorkloadInfo, targets: Sequence[PreemptionTarget]) -> bool:
        return len(targets) == 1


def victims(policy: PreemptionPolicy | None, size: int, configuration: Any) -> set[str]:
    builder = ScenarioBuilder(configured(configuration))
    if policy is not None:
        builder.engine.store.preemption_policy = policy
    builder.queue("q", 4, preemption={"withinClusterQueue": "LowerPriority"})
    builder.running("old", 2)
    builder.running("new", 2)
    builder.submit("high", size, priority=1)
    return set(builder.turn().evicted)


@pytest.mark.parametrize("configuration", [None, FAIR_SHARING])
class TestPolicies:
    def test_kueues_rules_are_the_default(self, configuration: Any) -> None:
        assert victims(None, 1, configuration) == {"new"}

    def test_another_order(self, configuration: Any) -> None:
        assert victims(OldestFirst(), 1, configuration) == {"old"}

    def test_other_candidates(self, configuration: Any) -> None:
        assert victims(ProtectingPolicy(), 1, configuration) == {"old"}
        assert victims(ProtectingPolicy(), 3, configuration) == set()

    def test_a_limit(self, configuration: Any) -> None:
        assert victims(AtMostOne(), 2, configuration) == {"new"}
        assert victims(AtMostOne(), 3, configuration) == set()
