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
    site = SchedulerHarness(node("small", cpu="1", memory="1Gi"), node("none", pods=0))
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods."
    assert site.fit_error(pod("a", cpu="2", memory="2Gi")) == message


def test_extended_resources_count() -> None:
    site = SchedulerHarness(node("gpu", more={"nvidia.com/gpu": "2"}), node("plain"))
    assert [site.place(pod(f"p{index}", requests={"nvidia.com/gpu": "1"})) for index in range(2)] == ["gpu", "gpu"]
    assert site.fit_error(pod("c", requests={"nvidia.com/gpu": "1"})) == (
        "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    )


def test_init_containers_sidecars_and_overhead_count_at_their_peak() -> None:
    site = SchedulerHarness(node("n", cpu="4"))
    sidecar = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    init = {"name": "i", "resources": {"requests": {"cpu": "2500m"}}}
    heavy = pod("a", cpu="1", initContainers=[sidecar, init], overhead={"cpu": "600m"})
    assert site.fit_error(heavy) == "0/1 nodes are available: 1 Insufficient cpu."
    light = pod("b", cpu="1", initContainers=[sidecar, init], overhead={"cpu": "500m"})
    assert site.place(light) == "n"


def test_pod_level_requests_replace_the_sum() -> None:
    site = SchedulerHarness(node("n", cpu="2"))
    assert site.place(pod("a", cpu="8", resources={"requests": {"cpu": "2"}})) == "n"
    assert "Insufficient cpu" in site.fit_error(pod("b", resources={"requests": {"cpu": "1"}}))


def test_taints_keep_pods_away_unless_tolerated() -> None:
    site = SchedulerHarness(node("t", taints=[TAINT]))
    assert site.fit_error(pod("a")) == "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    assert site.place(pod("b", tolerations=[{"key": "gpu", "operator": "Exists"}])) == "t"


def test_a_taint_that_discourages_only_ranks() -> None:
    site = SchedulerHarness(node("t", taints=[{**TAINT, "effect": "PreferNoSchedule"}]), node("u", cpu="3"))
    assert site.place(pod("a")) == "u"
    assert site.place(pod("b", cpu="4")) == "t"


def test_cordoned_nodes_take_only_pods_that_tolerate_it() -> None:
    site = SchedulerHarness(node("c", unschedulable=True))
    assert site.fit_error(pod("a")) == "0/1 nodes are available: 1 node(s) were unschedulable."
    key = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    assert site.place(pod("b", tolerations=[key])) == "c"


@pytest.mark.parametrize(
    "preference",
    [
        {"nodeSelector": {"disk": "ssd"}},
        {"affinity": node_affinity(label_in("disk", "nvme"), label_in("disk", "ssd"))},
    ],
)
def test_selectors_and_affinity_choose_nodes(preference: Object) -> None:
    site = SchedulerHarness(node("hdd", labels={"disk": "hdd"}), node("ssd", labels={"disk": "ssd"}, cpu="1"))
    assert site.place(pod("a", cpu="1", **preference)) == "ssd"
    assert site.fit_error(pod("b", cpu="1", **preference)) == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector."
    )


def test_affinity_to_names_checks_no_other_node() -> None:
    site = SchedulerHarness(node("a"), node("b"), node("c"))
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}
    assert site.place(pod("p", affinity=node_affinity(named))) == "b"
    assert site.fit_error(pod("q", cpu="9", affinity=node_affinity(named))) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_preferred_nodes_win_over_emptier_ones() -> None:
    site = SchedulerHarness(node("big", cpu="64", memory="64Gi"), node("liked", labels={"disk": "ssd"}))
    preference = {"weight": 50, "preference": label_in("disk", "ssd")}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}
    assert site.place(pod("a", cpu="1", affinity=affinity)) == "liked"


def test_host_ports_are_given_once_per_node_and_address() -> None:
    site = SchedulerHarness(node("n"))
    assert site.place(pod("a", ports=[{"containerPort": 80, "hostPort": 80}])) == "n"
    assert site.fit_error(pod("b", ports=[{"containerPort": 1, "hostPort": 80, "hostIP": "10.0.0.1"}])) == (
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
    )
    assert site.place(pod("c", ports=[{"containerPort": 80, "hostPort": 80, "protocol": "UDP"}])) == "n"


def test_anti_affinity_holds_in_both_directions() -> None:
    site = SchedulerHarness(node("a"), node("b"))
    lonely = pod("x", labels={"app": "db"}, affinity=pod_anti_affinity(HOST, app="db"))
    assert {site.place(lonely), site.place(lonely)} == {"a", "b"}
    assert site.fit_error(lonely) == "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules."
    assert site.fit_error(pod("y", labels={"app": "db"})) == (
        "0/2 nodes are available: 2 node(s) didn't satisfy existing pods anti-affinity rules."
    )
    assert site.place(pod("z", labels={"app": "web"})) in ("a", "b")


def test_anti_affinity_ends_with_the_pod() -> None:
    site = SchedulerHarness(node("a"))
    first = site.add_pod(pod("x", labels={"app": "db"}, affinity=pod_anti_affinity(HOST, app="db")), "a")
    site.cache.remove_pod(first.uid)
    assert site.place(pod("y", labels={"app": "db"})) == "a"


def test_affinity_follows_pods_and_allows_the_first_of_its_kind() -> None:
    site = SchedulerHarness(zoned("a", "1"), zoned("b", "1"), zoned("c", "2"), node("d"))
    friend = pod("x", cpu="3", labels={"app": "db"}, affinity=pod_affinity(ZONE, app="db"))
    first, second = site.place(friend), site.place(friend)
    assert {first, second} == {"a", "b"}
    other_pod = pod("y", affinity=pod_affinity(ZONE, app="none"))
    assert site.fit_error(other_pod) == "0/4 nodes are available: 4 node(s) didn't match pod affinity rules."


def test_terms_apply_to_the_namespaces_they_select() -> None:
    site = SchedulerHarness(node("a"), node("b"))
    site.cache.pod_counts.set_namespace("other", {"team": "red"})
    site.add_pod(pod("x", labels={"app": "db"}, namespace="other"), "a")
    site.add_pod(pod("full", cpu="4"), "b")
    affinity = pod_anti_affinity(HOST, app="db")
    assert site.find_node(pod("y", cpu="1", affinity=affinity)) == SelectedNode("a"), (
        "a term selects pods of its own namespace only"
    )
    site.add_node(node("b", cpu="16"))
    term = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    term["namespaceSelector"] = {"matchLabels": {"team": "red"}}
    assert site.place(pod("z", affinity=affinity)) == "b"
    site.cache.pod_counts.set_namespace("other", {"team": "blue"})
    site.add_node(node("b", cpu="4"))
    assert site.place(pod("w", cpu="4", affinity=affinity)) == "a"


def test_preferred_affinity_draws_and_repels() -> None:
    site = SchedulerHarness(node("a"), node("b"), node("c"))
    site.add_pod(pod("x", labels={"app": "db"}), "b")
    assert site.place(pod("y", affinity=preferred_pod_affinity("podAffinity", HOST, 100, app="db"))) == "b"
    assert site.place(pod("z", affinity=preferred_pod_affinity("podAntiAffinity", HOST, 100, app="db"))) != "b"


def test_spreading_keeps_zones_even() -> None:
    site = SchedulerHarness(zoned("a", "1"), zoned("b", "2"), zoned("c", "3", cpu="0"))
    even = pod("x", cpu="1", labels={"app": "w"}, topologySpreadConstraints=topology_spread(ZONE, app="w"))
    placed = [site.place(even) for _ in range(2)]
    assert sorted(placed) == ["a", "b"]
    assert site.fit_error(even) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match pod topology spread constraints."
    )


def test_a_spread_that_selects_everything_counts_nothing() -> None:
    site = SchedulerHarness(zoned("a", "1"), zoned("b", "2", cpu="0"))
    even = pod("x", cpu="1", topologySpreadConstraints=topology_spread(ZONE))
    assert [site.place(even) for _ in range(3)] == ["a", "a", "a"]


def test_spreading_needs_the_label() -> None:
    site = SchedulerHarness(node("a"))
    even = pod("x", topologySpreadConstraints=topology_spread(ZONE, app="w"))
    assert site.fit_error(even) == (
        "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints (missing required label)."
    )


def test_spreading_counts_only_nodes_that_the_pod_may_use() -> None:
    site = SchedulerHarness(zoned("a", "1"), zoned("b", "2"), node("c", labels={ZONE: "3", "off": "yes"}))
    bound_for = node_affinity({"matchExpressions": [{"key": "off", "operator": "DoesNotExist"}]})
    even = pod("x", labels={"app": "w"}, affinity=bound_for, topologySpreadConstraints=topology_spread(ZONE, app="w"))
    assert sorted(site.place(even) for _ in range(4)) == ["a", "a", "b", "b"]


def test_soft_spreading_ranks_and_never_refuses() -> None:
    site = SchedulerHarness(zoned("a", "1", cpu="64", memory="64Gi"), zoned("b", "2"))
    even = pod(
        "x", cpu="1", labels={"app": "w"}, topologySpreadConstraints=topology_spread(ZONE, 1, "ScheduleAnyway", app="w")
    )
    assert sorted(site.place(even) for _ in range(4)) == ["a", "a", "b", "b"]
    assert [site.place(pod(f"fill{index}", cpu="1", nodeSelector={HOST: "b"})) for index in range(2)] == ["b", "b"]
    assert site.place(even) == "a"


def test_equal_nodes_alternate() -> None:
    site = SchedulerHarness(*(node(f"n{index}") for index in range(5)))
    names = []
    for index in range(10):
        record = site.pod_info(pod(f"p{index}"))
        names.append(site.place(record))
        site.cache.remove_pod(record.uid)
    assert sorted(names) == sorted(f"n{index}" for index in range(5) for _ in range(2))


def test_a_changed_or_deleted_node_is_seen_at_once() -> None:
    site = SchedulerHarness(node("a"))
    assert [site.place(pod(f"p{index}", cpu="1")) for index in range(2)] == ["a", "a"]
    site.add_node(node("a", taints=[TAINT]))
    assert "untolerated" in site.fit_error(pod("q", cpu="1"))
    site.add_node(node("a"))
    assert site.place(pod("r", cpu="1")) == "a"
    site.cache.remove_node("a")
    assert site.fit_error(pod("s", cpu="1")) == "no nodes available to schedule pods"
    site.add_node(node("a"))
    assert site.place(pod("t", cpu="1")) == "a"
    assert "Insufficient cpu" in site.fit_error(pod("u", cpu="1")), "pods outlive the node's object"


def test_a_node_of_the_same_name_is_another_node() -> None:
    site = SchedulerHarness(node("a"))
    assert [site.place(pod(f"p{index}", cpu="1")) for index in range(2)] == ["a", "a"]
    for uid in list(site.cache.nodes["a"].pods):
        site.cache.remove_pod(uid)
    site.cache.remove_node("a")
    site.add_node(node("a", taints=[TAINT]))
    assert site.fit_error(pod("q", cpu="1")) == "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    site.cache.remove_node("a")
    site.add_node(node("a"))
    assert site.place(pod("r", cpu="1")) == "a"
