"""Random small clusters for topology scenarios: nodes, Topologies and the flavors on them."""

import random
from dataclasses import dataclass, field
from typing import Any

from engine.scenario_strategies import manifest

Json = Any
HOST = "kubernetes.io/hostname"
GPU = "amd.com/gpu"

HOST_LEVELS: tuple[tuple[str, ...], ...] = (
    ("block", "rack", HOST),
    ("block", "rack", HOST),
    ("rack", HOST),
    ("zone", "block", "rack", HOST),
    (HOST,),
)
LEVELS = (*HOST_LEVELS, ("block", "rack"))
MOST_NODES = 14
TAINTS: tuple[Json, ...] = (
    {"key": "odd", "value": "true", "effect": "NoSchedule"},
    {"key": "odd", "value": "true", "effect": "NoExecute"},
    {"key": "odd", "effect": "PreferNoSchedule"},
    {"key": "other", "value": "x", "effect": "NoSchedule"},
)
BEARS_ODD: Json = {"key": "odd", "operator": "Exists"}


@dataclass
class ClusterGenerator:
    """Nodes of one topology, in one tier or two, and what happens to them."""

    chance: random.Random
    shapes: tuple[tuple[str, ...], ...] = LEVELS
    levels: tuple[str, ...] = ()
    nodes: dict[str, Json] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    tiers: tuple[str, ...] = ("one",)
    sizes: tuple[tuple[int, ...], ...] = ((2,), (4,), (1, 2, 3, 4), (2, 3, 5, 8))
    """Cores of nodes: one of these per cluster."""
    has_gpus: bool = False
    has_few_pods: bool = False
    """Whether nodes run out of pods before they run out of cores."""

    def build(self) -> None:
        """Choose the shape and put the nodes up."""
        chance = self.chance
        self.levels = chance.choice(self.shapes)
        self.has_gpus = chance.random() < 0.15
        self.has_few_pods = chance.random() < 0.15
        pattern = chance.choice(["h{1}", "pool-{0}-n{1}", "n{1}-{0}-x"])
        sizes = chance.choice(self.sizes)
        for path in self._racks():
            for _ in range(chance.randint(1, 3)):
                if len(self.nodes) < MOST_NODES:
                    name = pattern.format(path[-1], len(self.nodes))
                    self.nodes[name] = self._node(name, path, chance.choice(sizes))

    def _racks(self) -> list[tuple[str, ...]]:
        """Paths of the domains that hold hosts; racks of two blocks may have one name."""
        paths: list[tuple[str, ...]] = [()]
        names_are_local = self.chance.random() < 0.5
        inner = [level for level in self.levels if level != HOST]
        for level in inner:
            most = 2 if level == "zone" else 3
            paths = [
                (*path, f"{level[0]}{index}" if names_are_local else f"{level[0]}{position}{index}")
                for position, path in enumerate(paths)
                for index in range(self.chance.randint(1, most))
            ]
        return [path or ("all",) for path in paths]

    def _node(self, name: str, path: tuple[str, ...], cores: int) -> Json:
        chance = self.chance
        inner = [level for level in self.levels if level != HOST]
        labels = {**dict(zip(inner, path, strict=False)), HOST: name, "tier": chance.choice(self.tiers)}
        labels["all"] = "yes"
        labels["color"] = chance.choice(["red", "red", "red", "blue"])
        if chance.random() < 0.03:
            labels.pop(chance.choice(self.levels))
        allocatable = {"cpu": str(cores), "pods": str(chance.choice([1, 2, 3]) if self.has_few_pods else 110)}
        if self.has_gpus:
            allocatable[GPU] = str(chance.choice([0, 1, 2, 4]))
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": [chance.choice(TAINTS)]} if chance.random() < 0.1 else {},
            "status": {"allocatable": allocatable, "conditions": [_ready("True")]},
        }

    @property
    def cores(self) -> int:
        """What all nodes have together."""
        return sum(int(node["status"]["allocatable"]["cpu"]) for node in self.nodes.values())

    def topology(self) -> Json:
        """The Topology of all flavors."""
        return topology("tree", self.levels)

    # What happens to nodes

    def change_node(self) -> list[Json]:
        """A node is changed, removed or added."""
        change = self.chance.choice(
            [self._flip, self._cordon, self._taint, self._resize, self._move, self._remove, self._restore]
        )
        return change()

    def _flip(self) -> list[Json]:
        return self._edit(
            lambda node: node["status"].update(conditions=[_ready(self.chance.choice(["True", "False"]))])
        )

    def _cordon(self) -> list[Json]:
        return self._edit(lambda node: node["spec"].update(unschedulable=self.chance.choice([True, False])))

    def _taint(self) -> list[Json]:
        taints = self.chance.choice([[], [], [self.chance.choice(TAINTS)]])
        return self._edit(lambda node: node["spec"].update(taints=taints))

    def _resize(self) -> list[Json]:
        cores = str(self.chance.choice([0, 1, 2, 4, 6]))
        return self._edit(lambda node: node["status"]["allocatable"].update(cpu=cores))

    def _move(self) -> list[Json]:
        """A node gets the place of another one."""
        inner = [level for level in self.levels if level != HOST]
        other = self.nodes[self._some_node()]["metadata"]["labels"]
        place = {level: other[level] for level in inner if level in other}
        return self._edit(lambda node: node["metadata"]["labels"].update(place))

    def _remove(self) -> list[Json]:
        name = self._some_node()
        if name in self.gone:
            return []
        self.gone.append(name)
        return [{"delete": {"kind": "Node", "name": name}}]

    def _restore(self) -> list[Json]:
        if not self.gone:
            return []
        return [{"put": self.nodes[self.gone.pop()]}]

    def recover_node(self) -> list[Json]:
        """A node that is gone or not ready is as it was."""
        broken = [name for name, node in self.nodes.items() if node["status"]["conditions"] != [_ready("True")]]
        if self.gone:
            return self._restore()
        if not broken:
            return []
        return self._edit(lambda node: node["status"].update(conditions=[_ready("True")]), self.chance.choice(broken))

    def use_node(self) -> list[Json]:
        """Other pods come and go."""
        cores, pods = self.chance.choice([("0", 0), ("0", 0), ("500m", 1), ("1", 1), ("2", 2), ("3", 3)])
        requests = {"cpu": cores} if pods else {}
        return [{"nodeUsage": {"node": self._some_node(), "requests": requests, "pods": pods}}]

    def fail_node(self) -> list[Json]:
        """A node fails under the workloads on it; it is removed, not ready, tainted, or seemingly healthy."""
        name = self._some_node()
        if name in self.gone:
            return []
        seen = self.chance.choice([self._delete_named, self._break_named, self._break_named, self._keep_named])(name)
        return [*seen, {"fail": name}]

    def _delete_named(self, name: str) -> list[Json]:
        self.gone.append(name)
        return [{"delete": {"kind": "Node", "name": name}}]

    def _break_named(self, name: str) -> list[Json]:
        return self._edit(lambda node: node["status"].update(conditions=[_ready("False")]), name)

    def _keep_named(self, _name: str) -> list[Json]:
        return []

    def _some_node(self) -> str:
        return self.chance.choice(list(self.nodes))

    def _edit(self, change: Any, name: str = "") -> list[Json]:
        name = name or self._some_node()
        if name in self.gone:
            return []
        old = self.nodes[name]
        node = {
            **old,
            "metadata": {**old["metadata"], "labels": dict(old["metadata"]["labels"])},
            "spec": dict(old["spec"]),
            "status": {**old["status"], "allocatable": dict(old["status"]["allocatable"])},
        }
        change(node)
        self.nodes[name] = node
        return [{"put": node}]


def topology(name: str, levels: tuple[str, ...]) -> Json:
    """A Topology."""
    return manifest("Topology", name, {"levels": [{"nodeLabel": level} for level in levels]})


def _ready(status: str) -> Json:
    return {"type": "Ready", "status": status}
