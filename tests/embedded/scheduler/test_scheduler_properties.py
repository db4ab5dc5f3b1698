"""What holds for every history: no node is overcommitted, every filter is kept, the same history ends the same way."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.scheduler.harness import (
    HOST,
    ZONE,
    Object,
    SchedulerHarness,
    node,
    pod,
    pod_affinity,
    pod_anti_affinity,
    topology_spread,
)
from kohort.api.amounts import to_amount
from kohort.api.codec import decode, encode
from kohort.embedded.scheduler.cache import NodeInfo, PodInfo
from kohort.embedded.scheduler.placement import SelectedNode
from kohort.embedded.scheduler.requirements import RequirementsCache
from kohort.embedded.scheduler.views import SchedulerPod, strip_unused

TAINT = {"key": "k", "effect": "NoSchedule"}
TOLERATION = {"key": "k", "operator": "Exists"}
NODES = st.builds(
    lambda cpu, pods, zone, tainted, disk: {"cpu": cpu, "pods": pods, "zone": zone, "tainted": tainted, "disk": disk},
    st.integers(0, 6),
    st.integers(0, 5),
    st.sampled_from(["1", "2", None]),
    st.booleans(),
    st.sampled_from(["ssd", "hdd"]),
)
PODS = st.builds(
    lambda cpu, app, tolerates, disk, expected, port: {
        "cpu": cpu,
        "app": app,
        "tolerates": tolerates,
        "disk": disk,
        "says": expected,
        "port": port,
    },
    st.integers(0, 3),
    st.sampled_from(["a", "b"]),
    st.booleans(),
    st.sampled_from(["", "ssd"]),
    st.sampled_from(["", "", "", "away", "near", "spread"]),
    st.sampled_from([0, 0, 80]),
)
STEPS = st.lists(st.one_of(PODS, st.integers(0, 20), st.tuples(st.integers(0, 5), NODES)), max_size=30)
"""A pod to be placed, the number of one to be deleted, or a node that is replaced by another of its name."""


def made_node(index: int, facts: dict[str, Any]) -> Object:
    labels = {"disk": facts["disk"], **({ZONE: facts["zone"]} if facts["zone"] else {})}
    taints = [TAINT] if facts["tainted"] else []
    return node(f"n{index}", cpu=str(facts["cpu"]), pods=facts["pods"], labels=labels, taints=taints)


def made_pod(index: int, facts: dict[str, Any]) -> Object:
    app = facts["app"]
    expected: dict[str, dict[str, Any]] = {
        "away": {"affinity": pod_anti_affinity(HOST, app=app)},
        "near": {"affinity": pod_affinity(ZONE, app=app)},
        "spread": {"topologySpreadConstraints": topology_spread(ZONE, app=app)},
    }
    return pod(
        f"p{index}",
        cpu=str(facts["cpu"]) if facts["cpu"] else "",
        labels={"app": app},
        tolerations=[TOLERATION] if facts["tolerates"] else [],
        nodeSelector={"disk": "ssd"} if facts["disk"] else {},
        ports=[{"containerPort": 1, "hostPort": facts["port"]}] if facts["port"] else [],
        **expected.get(facts["says"], {}),
    )


class ReferenceScheduler:
    """The rules once more, in the slow and simple form of the documentation: checks all pods each time."""

    def __init__(self, nodes: list[dict[str, Any]]) -> None:
        self.nodes = {f"n{index}": facts for index, facts in enumerate(nodes)}
        self.pods: dict[int, tuple[dict[str, Any], str]] = {}

    def takes(self, name: str, asked: dict[str, Any]) -> bool:
        facts, here = self.nodes[name], self._on(name)
        return (
            (asked["tolerates"] or not facts["tainted"])
            and asked["disk"] in ("", facts["disk"])
            and len(here) < facts["pods"]
            and sum(each["cpu"] for each in here) + asked["cpu"] <= facts["cpu"]
            and self._peers_agree(name, asked)
        )

    def _peers_agree(self, name: str, asked: dict[str, Any]) -> bool:
        here, app = self._on(name), asked["app"]
        if asked["port"] and any(each["port"] for each in here):
            return False
        if any(each["app"] == app and "away" in (each["says"], asked["says"]) for each in here):
            return False
        if asked["says"] == "near":
            return self._is_near(name, app)
        return asked["says"] != "spread" or self._is_even(name, asked)

    def _is_near(self, name: str, app: str) -> bool:
        zone = self.nodes[name]["zone"]
        with_zone = [self.nodes[place]["zone"] for each, place in self.pods.values() if each["app"] == app]
        friends = [each for each in with_zone if each]
        return bool(zone) and (not friends or zone in friends)

    def _is_even(self, name: str, asked: dict[str, Any]) -> bool:
        usable = [
            (each, facts["zone"])
            for each, facts in self.nodes.items()
            if facts["zone"] and asked["disk"] in ("", facts["disk"])
        ]
        counts = {zone: 0 for _, zone in usable}
        for each, zone in usable:
            counts[zone] += sum(one["app"] == asked["app"] for one in self._on(each))
        zone = self.nodes[name]["zone"]
        return bool(zone) and counts.get(zone, 0) + 1 - min(counts.values(), default=0) <= 1

    def _on(self, name: str) -> list[dict[str, Any]]:
        return [each for each, place in self.pods.values() if place == name]


def played(
    nodes: list[dict[str, Any]], steps: list[Any]
) -> Iterator[tuple[SchedulerHarness, ReferenceScheduler, PodInfo, dict[str, Any], Any]]:
    """A history; stops before each placement takes effect."""
    harness = SchedulerHarness(*(made_node(index, facts) for index, facts in enumerate(nodes)))
    plain = ReferenceScheduler(nodes)
    records: dict[int, PodInfo] = {}
    for number, step in enumerate(steps):
        if isinstance(step, int):
            if step in records:
                harness.cache.remove_pod(records.pop(step).uid)
                del plain.pods[step]
            continue
        if isinstance(step, tuple):
            _replace(harness, plain, *step)
            continue
        record = harness.pod_info(made_pod(number, step))
        answer = harness.placer.place(record)
        yield harness, plain, record, step, answer
        if isinstance(answer, SelectedNode):
            harness.cache.add_pod(record, answer.node)
            plain.pods[number] = (step, answer.node)
            records[number] = record


def _replace(harness: SchedulerHarness, plain: ReferenceScheduler, index: int, facts: dict[str, Any]) -> None:
    """A node that has pods keeps its size, lest it be overcommitted by the test itself."""
    name = f"n{index}"
    if name in plain.nodes:
        size = {key: plain.nodes[name][key] for key in ("cpu", "pods")} if harness.cache.nodes[name].pods else {}
        plain.nodes[name] = {**facts, **size}
        harness.cache.remove_node(name)
        harness.add_node(made_node(index, plain.nodes[name]))


@settings(deadline=None)
@given(st.lists(NODES, min_size=1, max_size=6), STEPS)
def test_a_pod_gets_a_node_exactly_when_one_takes_it(nodes: list[dict[str, Any]], steps: list[Any]) -> None:
    for _, plain, _, asked, answer in played(nodes, steps):
        taking = {name for name in plain.nodes if plain.takes(name, asked)}
        if isinstance(answer, SelectedNode):
            assert answer.node in taking
        else:
            assert not taking, answer.message


@settings(deadline=None)
@given(st.lists(NODES, min_size=1, max_size=6), STEPS)
def test_no_node_is_ever_overcommitted(nodes: list[dict[str, Any]], steps: list[Any]) -> None:
    for harness, *_ in played(nodes, steps):
        assert all(is_within(each) for each in harness.cache.nodes.values())


def is_within(record: NodeInfo) -> bool:
    used: dict[str, int] = {}
    for each in record.pods.values():
        for name, amount in each.requirements.requests:
            used[name] = used.get(name, 0) + amount
    assert used == {name: amount for name, amount in record.used.items() if amount}
    return len(record.pods) <= record.allowed_pods and all(record.allocatable[name] >= used[name] for name in used)


@settings(deadline=None)
@given(st.lists(NODES, min_size=1, max_size=6), STEPS)
def test_the_same_history_has_the_same_end(nodes: list[dict[str, Any]], steps: list[Any]) -> None:
    first, second = ([answer for *_, answer in played(nodes, steps)] for _ in range(2))
    assert first == second


@settings(deadline=None)
@given(st.lists(NODES, min_size=1, max_size=6), STEPS)
def test_every_node_is_counted_in_a_refusal(nodes: list[dict[str, Any]], steps: list[Any]) -> None:
    for harness, _, _, _, answer in played(nodes, steps):
        if not isinstance(answer, SelectedNode):
            assert set(answer.failures) == set(harness.cache.nodes)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=40))
def test_counts_kept_by_and_by_equal_a_fresh_count(steps: list[tuple[int, bool]]) -> None:
    harness = SchedulerHarness(*(node(f"n{index}", labels={ZONE: str(index % 2)}) for index in range(3)))
    speaker = pod(
        "x",
        labels={"app": "a"},
        topologySpreadConstraints=topology_spread(ZONE, app="a"),
        affinity=pod_anti_affinity(HOST, app="b"),
    )
    selection = harness.pod_info(speaker).requirements.relations.spreads[0].selection
    counted = harness.cache.pod_counts.count(selection)
    there: dict[int, PodInfo] = {}
    for number, leaving in steps:
        if number in there:
            harness.cache.remove_pod(there.pop(number).uid)
        else:
            there[number] = harness.add_pod(speaker, f"n{number % 3}", leaving=leaving)
        fresh: dict[str, int] = {}
        for key, each in there.items():
            if not each.is_terminating:
                fresh[f"n{key % 3}"] = fresh.get(f"n{key % 3}", 0) + 1
        assert counted == fresh
        assert sum(sum(each.values()) for each in harness.cache.pod_counts.anti_affinity.values()) == len(there)


def test_pods_of_one_shape_share_their_requests() -> None:
    tokens = [[{"name": f"token-{name}", "projected": {}}] for name in "ab"]
    first, second = (
        strip_unused(
            decode(
                encode(pod(f"p{index}", cpu="1", labels={"index": str(index)}, nodeName=f"n{index}", volumes=each)),
                SchedulerPod,
            )
        )
        for index, each in enumerate(tokens)
    )
    assert first.spec.containers is second.spec.containers
    assert (first.spec.node_name, second.spec.node_name) == ("n0", "n1")
    assert RequirementsCache().of(first).requests == (("cpu", 1000),)
    requirements = RequirementsCache()
    assert requirements.of(first) is requirements.of(second), (
        "neither labels nor volumes without a claim make another shape"
    )


def test_amounts_are_compared_exactly() -> None:
    harness = SchedulerHarness(node("n", cpu="1", memory="1000"))
    assert harness.place(pod("a", cpu="999m", memory="999")) == "n"
    assert harness.place(pod("b", cpu="1m", memory="1")) == "n"
    assert "Insufficient cpu, 1 Insufficient memory" in harness.fit_error(pod("c", cpu="1m", memory="1"))
    assert harness.cache.nodes["n"].used["cpu"] == to_amount("cpu", "1")
