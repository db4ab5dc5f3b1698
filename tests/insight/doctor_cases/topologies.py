"""Findings about topologies and the labels of nodes."""

from insight.doctor_cases.case import ill, well
from insight.doctor_snapshots import cluster_queue, quota
from kit.builders.core import Object, make_node
from kit.builders.kueue import make_resource_flavor, make_topology

BLOCK, RACK, HOSTNAME = "cloud/block", "cloud/rack", "kubernetes.io/hostname"
POOL = {"pool": "gpu"}


def cluster(*levels: str) -> tuple[Object, ...]:
    """A queue with quota in a flavor that has a topology."""
    return (
        make_topology("dc", *levels),
        make_resource_flavor("f", POOL, topologyName="dc"),
        cluster_queue("cq", quota(flavor="f")),
    )


def machine(name: str, **labels: str) -> Object:
    """A node of the flavor, with the labels of some levels."""
    keys = {"block": BLOCK, "rack": RACK, "hostname": HOSTNAME}
    return make_node(name, {**POOL, **{keys[key]: value for key, value in labels.items()}})


TOPOLOGIES = (
    ill(
        "node-without-level-label",
        "a node that was not labeled",
        *cluster(BLOCK, RACK),
        machine("a", block="b1", rack="r1"),
        machine("b", block="b1"),
        about="ResourceFlavor f",
        problem="1 of its 2 nodes lacks the label cloud/rack of Topology dc: b",
        fix="kubectl label node b cloud/rack=VALUE",
    ),
    well(
        "node-without-level-label",
        "a node of another flavor",
        *cluster(BLOCK, RACK),
        machine("a", block="b1", rack="r1"),
        make_node("b"),
    ),
    ill(
        "topology-level-ambiguous",
        "two nodes with one hostname",
        *cluster(RACK, HOSTNAME),
        machine("a", rack="r1", hostname="a"),
        machine("b", rack="r1", hostname="a"),
        about="Topology dc",
        problem="1 value of the lowest level kubernetes.io/hostname is of several nodes: a of a, b",
        fix="set a distinct kubernetes.io/hostname on each node",
    ),
    ill(
        "topology-level-ambiguous",
        "racks of one name in two blocks",
        *cluster(BLOCK, RACK),
        machine("a", block="b1", rack="r1"),
        machine("b", block="b2", rack="r1"),
        machine("c", block="b2", rack="r2"),
        about="Topology dc",
        problem="1 value of the lowest level cloud/rack is in several domains of cloud/block: r1 in b1, b2",
        fix="use distinct values of cloud/rack if these are one domain",
    ),
    well(
        "topology-level-ambiguous",
        "distinct hostnames, and several nodes in a rack",
        *cluster(RACK, HOSTNAME),
        machine("a", rack="r1", hostname="a"),
        machine("b", rack="r1", hostname="b"),
    ),
    well(
        "topology-level-ambiguous",
        "one level, and several nodes in a rack",
        *cluster(RACK),
        machine("a", rack="r1"),
        machine("b", rack="r1"),
    ),
    ill(
        "hostname-differs",
        "a node with the label of another one",
        *cluster(HOSTNAME),
        machine("a", hostname="a.example.com"),
        about="Node a",
        problem="its label kubernetes.io/hostname is a.example.com",
        fix="kubectl label --overwrite node a kubernetes.io/hostname=a",
    ),
    well("hostname-differs", "equal names", *cluster(HOSTNAME), machine("a", hostname="a")),
    well("hostname-differs", "a topology of racks", *cluster(RACK), machine("a", rack="r1", hostname="x")),
)
