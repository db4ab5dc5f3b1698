"""What topology scenarios are about: each has one theme, so that a difference has one cause."""

import random
from collections.abc import Callable
from typing import Any

from engine.scenario_strategies import STRATEGIES, manifest
from oracle.clusters import HOST_LEVELS, topology
from oracle.placements import CYCLE, PlacementScenarioGenerator

Json = Any


class SingleQueue(PlacementScenarioGenerator):
    """Quota for all: only places are scarce."""


class Preemptors(PlacementScenarioGenerator):
    """Urgent workloads take the places of others, in one queue or in two."""

    quota_share = (0.5, 1.0, 1.0, 3.0)
    preemption = (
        {"withinClusterQueue": "LowerPriority"},
        {"withinClusterQueue": "LowerOrNewerEqualPriority"},
        {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
    )
    priorities = (0, 0, 1, 2, 3)

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.queues = chance.choice([("q0",), ("q0", "q1")])


class Cohort(PlacementScenarioGenerator):
    """Several queues on the same nodes."""

    queues = ("q0", "q1", "q2")
    quota_share = (0.3, 0.5, 1.0)
    preemption = (
        {},
        {"reclaimWithinCohort": "Any"},
        {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "LowerPriority"},
        {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 1}},
    )
    priorities = (0, 0, 1, 2)

    def configuration(self) -> Json:
        """By fair share every other time."""
        return self.chance.choice([{}, {"fairSharing": {"preemptionStrategies": self.chance.choice(STRATEGIES)}}])


class Tiers(PlacementScenarioGenerator):
    """Two flavors with nodes of their own, and perhaps a plain flavor, in one queue or in two."""

    quota_share = (0.3, 0.6, 5.0)
    preemption = ({}, {}, {"withinClusterQueue": "LowerPriority"})
    priorities = (0, 0, 1)

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.queues = chance.choice([("q0",), ("q0", "q1")])
        self.cluster.tiers = ("one", "two")
        self.offers = chance.choice([["one", "two"], ["one", "two"], ["two", "one", "plain"], ["plain", "one"]])
        self.second_levels = chance.random() < 0.3

    def flavors(self) -> list[Json]:
        """One per tier, and the plain one."""
        tree = "short" if self.second_levels else "tree"
        specs: dict[str, Json] = {
            "one": {"nodeLabels": {"tier": "one"}, "topologyName": "tree"},
            "two": {"nodeLabels": {"tier": "two"}, "topologyName": tree},
            "plain": {},
        }
        return [manifest("ResourceFlavor", name, spec) for name, spec in specs.items()]

    def _topologies(self) -> list[Json]:
        return [self.cluster.topology(), topology("short", self.cluster.levels[-1:])]

    def flavor_names(self, _queue: str) -> list[str]:
        """Those that the scenario offers."""
        return self.offers


class Overlapping(PlacementScenarioGenerator):
    """Two flavors of which one has all nodes of the other, in a single queue without preemption (Q-6)."""

    quota_share = (0.3, 0.6)

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.cluster.tiers = ("one", "one", "two")

    def flavors(self) -> list[Json]:
        """One for the first tier, and one for all nodes."""
        return [
            manifest("ResourceFlavor", "one", {"nodeLabels": {"tier": "one"}, "topologyName": "tree"}),
            *super().flavors(),
        ]

    def flavor_names(self, _queue: str) -> list[str]:
        """Both."""
        return self.chance.choice([["one", "all"], ["all", "one"]])


class Failures(PlacementScenarioGenerator):
    """Nodes fail under running workloads, which get other nodes in a second pass."""

    priorities = (0, 0, 1)
    lengths = (12, 32)
    has_failures = True

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.cluster.shapes = HOST_LEVELS
        self.cluster.sizes = ((4,), (4, 8), (3, 5, 8, 10))

    def steps(self) -> list[tuple[int, Callable[[], list[Json]]]]:
        """Nodes fail, and time passes."""
        return [*super().steps(), (30, self.fail), (25, self.cluster.recover_node), (6, self.settle)]

    def fail(self) -> list[Json]:
        """A node fails, and mostly the second pass comes before anything else happens."""
        later: list[Json] = [{"wait": self.chance.choice([1, 1, 2, 30])}, CYCLE]
        return [*self.cluster.fail_node(), *self.chance.choice([later, later, later, []])]


THEMES = (SingleQueue, SingleQueue, Preemptors, Preemptors, Cohort, Tiers, Overlapping, Failures, Failures)


def scenario(seed: str) -> Json:
    """The topology scenario that belongs to a seed."""
    chance = random.Random(seed)  # noqa: S311
    return chance.choice(THEMES)(chance).scenario()
