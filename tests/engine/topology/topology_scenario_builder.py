"""Scenarios with nodes: a flavor `tas` over a tree of blocks, racks and hosts, whose pods request whole cores."""

from collections.abc import Mapping
from typing import Any

from engine.invariants import CheckedEngine
from engine.scenario_builders import CPU, ScenarioBuilder, group, quota
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.kueue.slices import expand
from kohort.api.meta import ObjectKey
from kohort.engine.settings import EngineSettings

Json = Any
BLOCK, RACK, HOST = "block", "rack", "kubernetes.io/hostname"
Racks = Mapping[str, Mapping[str, int]]
"""Cores of hosts, by rack."""
TREE_T: Mapping[str, Racks] = {
    "b1": {"r1": {"h1": 2, "h2": 2}, "r2": {"h3": 4, "h4": 2, "h5": 1}},
    "b2": {"r3": {"h6": 3, "h7": 3}},
}
"""The tree T of the examples."""


class TopologyScenarioBuilder(ScenarioBuilder):
    """A scenario builder with nodes, on an engine that checks itself."""

    def __init__(self, tree: Mapping[str, Racks] = TREE_T, settings: EngineSettings | None = None) -> None:
        super().__init__(settings)
        self.topology("default", BLOCK, RACK, HOST)
        self.tas_flavor("tas")
        for block, racks in tree.items():
            for rack, hosts in racks.items():
                for host, cores in hosts.items():
                    self.node(host, cores, block=block, rack=rack)

    def __post_init__(self) -> None:
        self.engine = CheckedEngine(self.settings)

    def topology(self, name: str, *levels: str) -> None:
        self.put(
            {
                "apiVersion": V1BETA2,
                "kind": "Topology",
                "metadata": {"name": name},
                "spec": {"levels": [{"nodeLabel": level} for level in levels]},
            }
        )

    def tas_flavor(self, name: str, topology: str = "default", **labels: str) -> None:
        self.flavor(name, topologyName=topology, nodeLabels=labels or {"pool": "tas"})

    def node(
        self,
        name: str,
        cores: Json,
        *,
        block: str = "b1",
        rack: str = "r1",
        ready: bool = True,
        taints: Json = (),
        hostname: str = "",
        **labels: str,
    ) -> None:
        """A node, or a change of it."""
        condition = {"type": "Ready", "status": str(ready), "reason": "r", "message": ""}
        labels = {"pool": "tas", BLOCK: block, RACK: rack, HOST: hostname or name, **labels}
        self.put(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": {"taints": list(taints)},
                "status": {"allocatable": {CPU: str(cores), "pods": "110"}, "conditions": [condition]},
            }
        )

    def tas_queue(self, name: str, nominal: Json = 100, flavor: str = "tas", **spec: Json) -> None:
        """A ClusterQueue with one TAS flavor, and a LocalQueue of the same name."""
        self.queue(name, groups=[group({flavor: [quota(CPU, nominal)]})], **spec)

    def gang(
        self, name: str, count: int, queue: str = "q", size: Json = 1, *, request: Json = None, **facts: Json
    ) -> None:
        """A pending workload of one pod set, which requests a topology."""
        self.put(self.gang_of(name, count, queue, size, request=request, **facts))

    def gang_of(
        self, name: str, count: int, queue: str = "q", size: Json = 1, *, request: Json = None, **facts: Json
    ) -> Json:
        manifest = self.workload(name, size, queue, count=count, **facts)
        if request is not None:
            manifest["spec"]["podSets"][0]["topologyRequest"] = request
        return manifest

    # Answers

    def places(self, name: str, pod_set: str = "main", namespace: str = "ns") -> dict[str, int]:
        """Pods per domain by the written admission; the last value of each domain."""
        admission = self.workloads[ObjectKey(namespace, name)].status.admission
        assert admission is not None
        (assigned,) = [each for each in admission.pod_set_assignments if each.name == pod_set]
        if assigned.topology_assignment is None:
            return {}
        return {domain.values[-1]: domain.pods for domain in expand(assigned.topology_assignment)}

    def used(self, flavor: str = "tas") -> dict[str, int]:
        """Pods per domain of the lowest level in the engine, as far as there are any."""
        topology = self.engine.store.topology.flavor(flavor)
        assert topology is not None
        in_use = self.engine.store.topology.usage.in_use()
        return {
            values[-1]: amounts["pods"]
            for (owner, values), amounts in in_use.items()
            if owner in ("", flavor) and topology.has_domain(values)
        }


def required(level: str) -> Json:
    return {"required": level}


def preferred(level: str) -> Json:
    return {"preferred": level}


UNCONSTRAINED: Json = {"unconstrained": True}
