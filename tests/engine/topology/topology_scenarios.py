"""Random scenarios with nodes: gangs with all kinds of topology requests, nodes that come, fail and fill up."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from engine.scenario_strategies import (
    CALM_WRITINGS,
    SCHEDULE,
    TURNS,
    WRITINGS,
    Layout,
    Pick,
    ScenarioGenerator,
    Writing,
    common_objects,
    indexes,
    manifest,
    mostly,
    write_configuration,
)

Json = Any
T = TypeVar("T")
HOST = "kubernetes.io/hostname"
LEVELS = ("block", "rack", HOST)
TAS_LAYOUTS: tuple[Layout, ...] = (
    ((("cpu",), ("tas",)),),
    ((("cpu",), ("tas", "near")),),
    ((("cpu",), ("plain", "tas")),),
    ((("cpu",), ("near",)),),
    ((("cpu",), ("racks",)),),
    ((("cpu", "memory"), ("tas",)),),
)
REQUESTS: tuple[Json, ...] = (
    {"required": "rack"},
    {"preferred": "rack"},
    {"unconstrained": True},
    {"required": "block"},
    {"preferred": "block", "podSetSliceRequiredTopology": "rack", "podSetSliceSize": 1},
    {"required": HOST},
    None,
)
GATES = {
    "TASRecomputeAssignmentWithinSchedulingCycle": False,
    "TASHandleOverlappingFlavors": False,
    "TASProfileMixed": False,
    "TASBalancedPlacement": True,
    "TASFailedNodeReplacementFailFast": False,
}
"""Gates that change placements, each as it is not by default."""


def flavors() -> list[Json]:
    """A flavor of all nodes, one of a part of them, and one whose lowest level is the rack."""
    return [
        manifest("Topology", "hosts", {"levels": [{"nodeLabel": level} for level in LEVELS]}),
        manifest("Topology", "racks", {"levels": [{"nodeLabel": level} for level in LEVELS[:2]]}),
        manifest("ResourceFlavor", "tas", {"topologyName": "hosts", "nodeLabels": {"pool": "tas"}}),
        manifest("ResourceFlavor", "near", {"topologyName": "hosts", "nodeLabels": {"block": "b0"}}),
        manifest("ResourceFlavor", "racks", {"topologyName": "racks", "nodeLabels": {"pool": "tas"}}),
    ]


def node(name: str, cores: int, block: str, rack: str, *, ready: bool = True) -> Json:
    labels = {"pool": "tas", "block": block, "rack": rack, HOST: name}
    condition = {"type": "Ready", "status": str(ready), "reason": "r", "message": ""}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": str(cores), "memory": "8", "pods": "10"}, "conditions": [condition]},
    }


@dataclass
class TopologyScenarioGenerator(ScenarioGenerator):
    """Also writes nodes, and topology requests of pod sets."""

    layouts: tuple[Layout, ...] = TAS_LAYOUTS
    running: tuple[int, ...] = (0,)
    nodes: dict[str, Json] = field(default_factory=dict)

    def world(self, pick: Pick) -> list[Json]:
        """Nodes before the queues and workloads."""
        for number in range(pick([4, 3, 6, 2])):
            name = f"n{number}"
            self.nodes[name] = node(name, pick([4, 3, 2, 6]), pick(["b0", "b0", "b1"]), pick(["r0", "r1"]))
        return [*self.nodes.values(), *super().world(pick)]

    def _workload(self, pick: Pick) -> Json:
        made = super()._workload(pick)
        for pod_set in made["spec"]["podSets"]:
            request = pick(REQUESTS)
            if request is not None:
                pod_set["topologyRequest"] = request
        return made

    def fail_node(self, pick: Pick) -> list[Json]:
        """A node is lost, or comes back; workloads with pods on it are marked."""
        name = pick(sorted(self.nodes))
        old = self.nodes[name]
        labels = old["metadata"]["labels"]
        cores = int(old["status"]["allocatable"]["cpu"])
        ready = pick([True, False])
        self.nodes[name] = node(name, cores, labels["block"], labels["rack"], ready=ready)
        marked = (
            []
            if ready
            else [{"failNodes": {"workload": self._key(each), "nodes": [name]}} for each in self._some_workload(pick)]
        )
        return [{"put": self.nodes[name]}, *marked]

    def move_node(self, pick: Pick) -> list[Json]:
        """A node gets another rack or another size."""
        name = pick(sorted(self.nodes))
        self.nodes[name] = node(name, pick([1, 2, 4, 6]), pick(["b0", "b1"]), pick(["r0", "r1", "r2"]))
        return [{"put": self.nodes[name]}]

    def use_node(self, pick: Pick) -> list[Json]:
        """Other pods come or end on a node."""
        usage = {"requests": {"cpu": str(pick([0, 1, 2]))}, "pods": pick([0, 1])}
        return [{"nodeUsage": {"node": pick(sorted(self.nodes)), **usage}}]

    def change_levels(self, pick: Pick) -> list[Json]:
        """The hosts get another level, or lose one (TAS-4)."""
        levels = pick([LEVELS, LEVELS[1:]])
        return [{"put": manifest("Topology", "hosts", {"levels": [{"nodeLabel": level} for level in levels]})}]


NODE_WRITINGS: list[Writing] = [
    TopologyScenarioGenerator.fail_node,  # type: ignore[list-item]
    TopologyScenarioGenerator.move_node,  # type: ignore[list-item]
    TopologyScenarioGenerator.use_node,  # type: ignore[list-item]
    TopologyScenarioGenerator.change_levels,  # type: ignore[list-item]
]
CALM = CALM_WRITINGS
WILD = [*WRITINGS, *NODE_WRITINGS * 3]


@st.composite
def topology_scenarios(
    draw: st.DrawFn, prefixes: Sequence[str] = ("",), most_steps: int = 30, writings: Sequence[Writing] = tuple(WILD)
) -> Json:
    """Scenarios with one generator for each prefix; all share the nodes."""

    def pick(options: Sequence[T], /) -> T:
        return options[draw(indexes(len(options)))]

    generators = [TopologyScenarioGenerator(prefix) for prefix in prefixes]
    configuration = write_configuration(pick)
    flipped = pick(mostly(None, *GATES, one_in=2))
    if flipped is not None:
        configuration["gates"] = {**configuration["gates"], flipped: GATES[flipped]}
    objects = [*common_objects(), *flavors(), *(each for generator in generators for each in generator.world(pick))]
    steps: list[Json] = []
    for _ in range(draw(st.integers(1, most_steps))):
        steps += [pick(TURNS)] if pick(mostly(False, True)) else pick(writings)(pick(generators), pick)
    return {**configuration, "objects": objects, "steps": [*steps, SCHEDULE]}
