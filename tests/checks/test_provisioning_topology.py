"""Nodes that a request provides are assigned by topology in the second pass (TAS-40, MK-7)."""

from typing import Any

from checks.provisioning_harness import make_config, make_provisioning_check, running_provisioning_harness
from controllers.scheduling_harness import conditions_of
from kit.builders.kueue import (
    admission_checks,
    make_cluster_queue,
    make_local_queue,
    make_pod_set,
    make_resource_flavor,
    make_topology,
)

Json = Any


def make_node(name: str, rack: str) -> Json:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"rack": rack, "tier": "a"}},
        "status": {"allocatable": {"cpu": "2", "pods": "110"}, "conditions": [ready]},
    }


async def test_pods_are_placed_on_the_nodes_that_were_provisioned() -> None:
    async with running_provisioning_harness() as harness:
        await harness.create(
            make_topology("t", "rack"),
            make_resource_flavor(nodeLabels={"tier": "a"}, topologyName="t"),
            make_config(),
            make_provisioning_check(),
        )
        await harness.create_active(
            make_cluster_queue("q", "8", **admission_checks("prov")), make_local_queue("lq", "q")
        )
        await harness.submit(podSets=[make_pod_set(count=4, topologyRequest={"required": "rack"})])
        found = await harness.get("Workload", "w")
        assert conditions_of(found)["QuotaReserved"][0] == "True", "the nodes do not exist yet"
        (assignment,) = found["status"]["admission"]["podSetAssignments"]
        assert assignment["delayedTopologyRequest"] == "Pending"
        await harness.create(make_node("n1", "r1"), make_node("n2", "r2"), make_node("n3", "r2"))
        await harness.report("Provisioned")
        await harness.advance(5)
        found = await harness.get("Workload", "w")
        assert conditions_of(found)["Admitted"][0] == "True"
        (assignment,) = found["status"]["admission"]["podSetAssignments"]
        assert assignment["delayedTopologyRequest"] == "Ready"
        assert assignment["topologyAssignment"]["slices"][0]["valuesPerLevel"] == [{"universal": "r2"}]
