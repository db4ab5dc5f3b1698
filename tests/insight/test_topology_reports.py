"""Topology reports: capacity and usage of domains, places of a Workload, and nodes without a domain."""

from typing import Any

from insight.doctor_snapshots import cluster_queue, condition, quota, running, snapshot
from kit.builders.core import Object, make_node
from kit.builders.kueue import make_resource_flavor, make_topology
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.topology.pods import PODS
from kohort.insight.listing import KindListing
from kohort.insight.snapshot import Snapshot
from kohort.insight.topology import TopologyReport, topology_reports

RACK, HOSTNAME = "cloud/rack", "kubernetes.io/hostname"
POOL = {"pool": "gpu"}


def machine(name: str, rack: str = "", *conditions: Object, **spec: Any) -> Object:
    labels = {**POOL, HOSTNAME: name, **({RACK: rack} if rack else {})}
    made = make_node(name, labels)
    made["spec"].update(spec)
    made["status"]["conditions"] = list(conditions or (condition("Ready"),))
    return made


QUEUE = (
    make_topology("dc", RACK, HOSTNAME),
    make_resource_flavor("f", POOL, topologyName="dc"),
    cluster_queue("cq", quota(64)),
)


def placed(name: str, *domains: tuple[str, int]) -> Object:
    """An admitted workload with one CPU per pod on these hosts."""
    found = running(name, cpus=sum(pods for _, pods in domains))
    found["spec"]["podSets"][0]["count"] = sum(pods for _, pods in domains)
    found["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    assigned = found["status"]["admission"]["podSetAssignments"][0]
    assigned["count"] = sum(pods for _, pods in domains)
    assigned["topologyAssignment"] = {
        "levels": [HOSTNAME],
        "slices": [
            {
                "domainCount": len(domains),
                "valuesPerLevel": [{"individual": {"roots": [host for host, _ in domains]}}],
                "podCounts": {"individual": [pods for _, pods in domains]},
            }
        ],
    }
    return found


def workload_in(found: Snapshot, name: str) -> Workload:
    return found.of(Workload)[ObjectKey("default", name)]


def figures(report: TopologyReport) -> dict[str, tuple[int, int, int]]:
    """Nodes, capacity and usage of CPU per domain, in thousandths."""
    walked = (each for domain in report.domains for each in domain.walk())
    return {each.value: (each.nodes, each.capacity["cpu"], each.used.get("cpu", 0)) for each in walked}


def test_capacity_and_usage_are_summed_up_the_levels() -> None:
    found = snapshot(
        *QUEUE, machine("a", "r1"), machine("b", "r1"), machine("c", "r2"), placed("w", ("a", 3), ("c", 1))
    )
    (report,) = topology_reports(found)
    assert (report.flavor, report.topology, report.levels) == ("f", "dc", (RACK, HOSTNAME))
    assert report.resources == ("cpu",)
    assert figures(report) == {
        "r1": (2, 16_000, 3_000),
        "a": (1, 8_000, 3_000),
        "b": (1, 8_000, 0),
        "r2": (1, 8_000, 1_000),
        "c": (1, 8_000, 1_000),
    }
    assert report.domains[0].free("cpu") == 13_000


def test_pods_without_an_assignment_are_counted_apart() -> None:
    found = snapshot(*QUEUE, machine("a", "r1"))
    pod = b"""{"metadata": {"name": "p", "namespace": "default", "uid": "1"}, "status": {"phase": "Running"},
        "spec": {"nodeName": "a", "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}}"""
    record = PODS.read(pod)
    with_pod = Snapshot(found.taken, {**found.found, PODS: KindListing({record.identity.key: record})})
    (domain,) = topology_reports(with_pod)[0].domains
    assert (domain.used, domain.other) == ({}, {"cpu": 2_000, "pods": 1})
    assert domain.free("cpu") == 6_000


def test_the_placement_of_a_workload() -> None:
    nodes = [machine("a", "r1"), machine("b", "r1"), machine("c", "r2")]
    found = snapshot(*QUEUE, *nodes, placed("w", ("a", 2), ("gone", 1)), placed("v"))
    (report,) = topology_reports(found, workload_in(found, "w"))
    assert {each.value: each.pods for domain in report.domains for each in domain.walk()} == {"r1": 2, "a": 2}
    assert (report.nodes, report.domains[0].nodes) == (3, 2)
    assert report.absent == (("gone", 1),)
    assert topology_reports(found, workload_in(found, "v")) == []


def test_nodes_without_a_domain_are_listed_with_the_reason() -> None:
    found = snapshot(
        *QUEUE,
        machine("a", "r1"),
        machine("b", "r1", condition("Ready", "False")),
        machine("c", "r1", unschedulable=True),
        machine("d"),
        make_node("other"),
    )
    (report,) = topology_reports(found)
    assert figures(report).keys() == {"r1", "a"}
    assert [(each.name, each.reason) for each in report.unused] == [
        ("b", "not Ready"),
        ("c", "unschedulable"),
        ("d", f"no label {RACK}"),
    ]


def test_flavors_without_a_topology_have_no_report() -> None:
    assert topology_reports(snapshot(make_resource_flavor("plain"), cluster_queue("cq", quota(flavor="plain")))) == []
