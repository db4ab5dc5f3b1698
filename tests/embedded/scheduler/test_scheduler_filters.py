"""Each filter refuses what it must, in Kubernetes' words, and nothing else."""

import pytest

from embedded.scheduler.harness import (
    HOST,
    ZONE,
    Object,
    SchedulerHarness,
    label_in,
    node,
    node_affinity,
    pod,
    pod_affinity,
    pod_anti_affinity,
    preferred_pod_affinity,
    topology_spread,
)
from kohort.embedded.scheduler.placement import SelectedNode

TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}


def zoned(name: str, zone: str, **spec: object) -> Object:
    return node(name, labels={ZONE: zone}, **spec)  # type: ignore[arg-type]


def test_a_cluster_without_nodes_reports_it() -> None:
    assert SchedulerHarness().fit_error(pod("a")) == "no nodes available to schedule pods"


def test_every_lacking_resource_is_named() -> None:
    harness = SchedulerHarness(node("small", cpu="1", memory="1Gi"), node("none", pods=0))
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods."
    assert harness.fit_error(pod("a", cpu="2", memory="2Gi")) == message


def test_extended_resources_count() -> None:
    harness = SchedulerHarness(node("gpu", more={"nvidia.com/gpu": "2"}), node("plain"))
    assert [harness.place(pod(f"p{index}", requests={"nvidia.com/gpu": "1"})) for index in range(2)] == ["gpu", "gpu"]
    assert harness.fit_error(pod("c", requests={"nvidia.com/gpu": "1"})) == (
        "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    )


def test_init_containers_sidecars_and_overhead_count_at_their_peak() -> None:
    harness = SchedulerHarness(node("n", cpu="4"))
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    init = {"name": "i", "resources": {"requests": {"cpu": "2500m"}}}
    heavy = pod("a", cpu="1", initContainers=[sidecar, init], overhead={"cpu": "600m"})
    assert harness.fit_error(heavy) == "0/1 nodes are available: 1 Insufficient cpu."
    light = pod("b", cpu="1", initContainers=[sidecar, init], overhead={"cpu": "500m"})
    assert harness.place(light) == "n"


def test_pod_level_requests_replace_the_sum() -> None:
    harness = SchedulerHarness(node("n", cpu="2"))
    assert harness.place(pod("a", cpu="8", resources={"requests": {"cpu": "2"}})) == "n"
    assert "Insufficient cpu" in harness.fit_error(pod("b", resources={"requests": {"cpu": "1"}}))


def test_taints_keep_pods_away_unless_tolerated() -> None:
    harness = SchedulerHarness(node("t", taints=[TAINT]))
    assert harness.fit_error(pod("a")) == "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    assert harness.place(pod("b", tolerations=[{"key": "gpu", "operator": "Exists"}])) == "t"


def test_a_taint_that_discourages_only_ranks() -> None:
    harness = SchedulerHarness(node("t", taints=[{**TAINT, "effect": "PreferNoSchedule"}]), node("u", cpu="3"))
    assert harness.place(pod("a")) == "u"
    assert harness.place(pod("b", cpu="4")) == "t"


def test_cordoned_nodes_take_only_pods_that_tolerate_it() -> None:
    harness = SchedulerHarness(node("c", unschedulable=True))
    assert harness.fit_error(pod("a")) == "0/1 nodes are available: 1 node(s) were unschedulable."
    key = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    assert harness.place(pod("b", tolerations=[key])) == "c"


@pytest.mark.parametrize(
    "preference",
    [
        {"nodeSelector": {"disk": "ssd"}},
        {"affinity": node_affinity(label_in("disk", "nvme"), label_in("disk", "ssd"))},
    ],
)
def test_selectors_and_affinity_choose_nodes(preference: Object) -> None:
    harness = SchedulerHarness(node("hdd", labels={"disk": "hdd"}), node("ssd", labels={"disk": "ssd"}, cpu="1"))
    assert harness.place(pod("a", cpu="1", **preference)) == "ssd"
    assert harness.fit_error(pod("b", cpu="1", **preference)) == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector."
    )


def test_affinity_to_names_checks_no_other_node() -> None:
    harness = SchedulerHarness(node("a"), node("b"), node("c"))
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
    assert harness.place(pod("p", affinity=node_affinity(named))) == "b"
    assert harness.fit_error(pod("q", cpu="9", affinity=node_affinity(named))) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_preferred_nodes_win_over_emptier_ones() -> None:
    harness = SchedulerHarness(node("big", cpu="64", memory="64Gi"), node("liked", labels={"disk": "ssd"}))
    preference = {"weight": 50, "preference": label_in("disk", "ssd")}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}
    assert harness.place(pod("a", cpu="1", affinity=affinity)) == "liked"


def test_host_ports_are_given_once_per_node_and_address() -> None:
    harness = SchedulerHarness(node("n"))
    assert harness.place(pod("a", ports=[{"containerPort": 80, "hostPort": 80}])) == "n"
    assert harness.fit_error(pod("b", ports=[{"containerPort": 1, "hostPort": 80, "hostIP": "10.0.0.1"}])) == (
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
    )
    assert harness.place(pod("c", ports=[{"containerPort": 80, "hostPort": 80, "protocol": "UDP"}])) == "n"


def test_anti_affinity_holds_in_both_directions() -> None:
    harness = SchedulerHarness(node("a"), node("b"))
    lonely = pod("x", labels={"app": "db"}, affinity=pod_anti_affinity(HOST, app="db"))
    assert {harness.place(lonely), harness.place(lonely)} == {"a", "b"}
    assert harness.fit_error(lonely) == "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    assert harness.fit_error(pod("y", labels={"app": "db"})) == (
        "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules."
    )
    assert harness.place(pod("z", labels={"app": "web"})) in ("a", "b")


def test_anti_affinity_ends_with_the_pod() -> None:
    harness = SchedulerHarness(node("a"))
    first = harness.add_pod(pod("x", labels={"app": "db"}, affinity=pod_anti_affinity(HOST, app="db")), "a")
    harness.cache.remove_pod(first.uid)
    assert harness.place(pod("y", labels={"app": "db"})) == "a"


def test_affinity_follows_pods_and_allows_the_first_of_its_kind() -> None:
    harness = SchedulerHarness(zoned("a", "1"), zoned("b", "1"), zoned("c", "2"), node("d"))
    friend = pod("x", cpu="3", labels={"app": "db"}, affinity=pod_affinity(ZONE, app="db"))
    first, second = harness.place(friend), harness.place(friend)
    assert {first, second} == {"a", "b"}
    other_pod = pod("y", affinity=pod_affinity(ZONE, app="none"))
    assert harness.fit_error(other_pod) == "0/4 nodes are available: 4 node(s) didn't match pod affinity rules."


def test_terms_apply_to_the_namespaces_they_select() -> None:
    harness = SchedulerHarness(node("a"), node("b"))
    harness.cache.pod_counts.set_namespace("other", {"team": "red"})
    harness.add_pod(pod("x", labels={"app": "db"}, namespace="other"), "a")
    harness.add_pod(pod("full", cpu="4"), "b")
    affinity = pod_anti_affinity(HOST, app="db")
    assert harness.find_node(pod("y", cpu="1", affinity=affinity)) == SelectedNode("a"), (
        "a term selects pods of its own namespace only"
    )
    harness.add_node(node("b", cpu="16"))
    term = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    term["namespaceSelector"] = {"matchLabels": {"team": "red"}}
    assert harness.place(pod("z", affinity=affinity)) == "b"
    harness.cache.pod_counts.set_namespace("other", {"team": "blue"})
    harness.add_node(node("b", cpu="4"))
    assert harness.place(pod("w", cpu="4", affinity=affinity)) == "a"


def test_preferred_affinity_draws_and_repels() -> None:
    harness = SchedulerHarness(node("a"), node("b"), node("c"))
    harness.add_pod(pod("x", labels={"app": "db"}), "b")
    assert harness.place(pod("y", affinity=preferred_pod_affinity("podAffinity", HOST, 100, app="db"))) == "b"
    assert harness.place(pod("z", affinity=preferred_pod_affinity("podAntiAffinity", HOST, 100, app="db"))) != "b"


def test_spreading_keeps_zones_even() -> None:
    harness = SchedulerHarness(zoned("a", "1"), zoned("b", "2"), zoned("c", "3", cpu="0"))
    even = pod("x", cpu="1", labels={"app": "w"}, topologySpreadConstraints=topology_spread(ZONE, app="w"))
    placed = [harness.place(even) for _ in range(2)]
    assert sorted(placed) == ["a", "b"]
    assert harness.fit_error(even) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match pod topology spread constraints."
    )


def test_a_spread_that_selects_everything_counts_nothing() -> None:
    harness = SchedulerHarness(zoned("a", "1"), zoned("b", "2", cpu="0"))
    even = pod("x", cpu="1", topologySpreadConstraints=topology_spread(ZONE))
    assert [harness.place(even) for _ in range(3)] == ["a", "a", "a"]


def test_spreading_needs_the_label() -> None:
    harness = SchedulerHarness(node("a"))
    even = pod("x", topologySpreadConstraints=topology_spread(ZONE, app="w"))
    assert harness.fit_error(even) == (
        "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label)."
    )


def test_spreading_counts_only_nodes_that_the_pod_may_use() -> None:
    harness = SchedulerHarness(zoned("a", "1"), zoned("b", "2"), node("c", labels={ZONE: "3", "off": "yes"}))
    bound_for = node_affinity({"matchExpressions": [{"key": "off", "operator": "DoesNotExist"}]})
    even = pod("x", labels={"app": "w"}, affinity=bound_for, topologySpreadConstraints=topology_spread(ZONE, app="w"))
    assert sorted(harness.place(even) for _ in range(4)) == ["a", "a", "b", "b"]


def test_soft_spreading_ranks_and_never_refuses() -> None:
    harness = SchedulerHarness(zoned("a", "1", cpu="64", memory="64Gi"), zoned("b", "2"))
    even = pod(
        "x", cpu="1", labels={"app": "w"}, topologySpreadConstraints=topology_spread(ZONE, 1, "ScheduleAnyway", app="w")
    )
    assert sorted(harness.place(even) for _ in range(4)) == ["a", "a", "b", "b"]
    assert [harness.place(pod(f"fill{index}", cpu="1", nodeSelector={HOST: "b"})) for index in range(2)] == ["b", "b"]
    assert harness.place(even) == "a"


def test_equal_nodes_alternate() -> None:
    harness = SchedulerHarness(*(node(f"n{index}") for index in range(5)))
    names = []
    for index in range(10):
        record = harness.pod_info(pod(f"p{index}"))
        names.append(harness.place(record))
        harness.cache.remove_pod(record.uid)
    assert sorted(names) == sorted(f"n{index}" for index in range(5) for _ in range(2))


def test_a_changed_or_deleted_node_is_seen_at_once() -> None:
    harness = SchedulerHarness(node("a"))
    assert [harness.place(pod(f"p{index}", cpu="1")) for index in range(2)] == ["a", "a"]
    harness.add_node(node("a", taints=[TAINT]))
    assert "untolerated" in harness.fit_error(pod("q", cpu="1"))
    harness.add_node(node("a"))
    assert harness.place(pod("r", cpu="1")) == "a"
    harness.cache.remove_node("a")
    assert harness.fit_error(pod("s", cpu="1")) == "no nodes available to schedule pods"
    harness.add_node(node("a"))
    assert harness.place(pod("t", cpu="1")) == "a"
    assert "Insufficient cpu" in harness.fit_error(pod("u", cpu="1")), "pods outlive the node's object"


def test_a_node_of_the_same_name_is_another_node() -> None:
    harness = SchedulerHarness(node("a"))
    assert [harness.place(pod(f"p{index}", cpu="1")) for index in range(2)] == ["a", "a"]
    for uid in list(harness.cache.nodes["a"].pods):
        harness.cache.remove_pod(uid)
    harness.cache.remove_node("a")
    harness.add_node(node("a", taints=[TAINT]))
    assert harness.fit_error(pod("q", cpu="1")) == "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    harness.cache.remove_node("a")
    harness.add_node(node("a"))
    assert harness.place(pod("r", cpu="1")) == "a"
