"""The usage of a node by a running pod (TAS-27), and sums of it that stay right after any event (TAS-28)."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.topologies import pod
from kit.apiserver import Object
from kit.memory import retained_memory
from kohort.api.errors import DecodeError
from kohort.api.meta import ObjectKey
from kohort.controllers.topology.node_usage import NodeUsageTotals
from kohort.controllers.topology.pods import PODS, PodRecord
from kohort.kube.resource_types import ObjectIdentity


def read(found: Object) -> PodRecord:
    return PODS.read(json.dumps(found).encode())


def container(name: str = "c", **requests: str) -> Object:
    return {"name": name, "image": "i", "resources": {"requests": requests}}


def amounts(spec: Object, status: Object | None = None) -> Any:
    made = pod("p", "n1", **spec)
    made["status"] = status or {}
    return read(made).amounts


def test_containers_are_summed_and_the_pod_itself_counts() -> None:
    spec = {
        "containers": [container("a", cpu="500m", memory="1Gi"), container("b", cpu="1", **{"nvidia.com/gpu": "2"})]
    }
    assert amounts(spec) == {"cpu": 1500, "memory": 2**30, "nvidia.com/gpu": 2, "pods": 1}


def test_a_pod_without_requests_counts_as_a_pod() -> None:
    assert amounts({"containers": [{"name": "c", "image": "i"}]}) == {"pods": 1}


def test_an_init_container_counts_where_it_needs_more() -> None:
    spec = {"containers": [container(cpu="1", memory="1Gi")], "initContainers": [container("i", cpu="3", memory="1Mi")]}
    assert amounts(spec) == {"cpu": 3000, "memory": 2**30, "pods": 1}


def test_a_sidecar_is_counted_together_with_the_containers() -> None:
    sidecar = {**container("s", cpu="250m"), "restartPolicy": "Always"}
    assert amounts({"containers": [container(cpu="1")], "initContainers": [sidecar]}) == {"cpu": 1250, "pods": 1}


def test_overhead_and_requests_of_the_pod_as_a_whole_count() -> None:
    spec = {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": "100m"}}
    assert amounts(spec) == {"cpu": 2100, "pods": 1}


RESIZES = [
    pytest.param({"cpu": "1"}, {"cpu": "2"}, [], 2000, id="shrinks, and the node has not released it"),
    pytest.param({"cpu": "2"}, {"cpu": "1"}, [], 2000, id="grows, and the node has not granted it"),
    pytest.param({"cpu": "2"}, {"cpu": "2"}, [], 2000, id="done"),
    pytest.param(
        {"cpu": "9"}, {"cpu": "1"}, [{"type": "PodResizePending", "reason": "Infeasible"}], 1000, id="never granted"
    ),
    pytest.param(
        {"cpu": "9"}, {"cpu": "1"}, [{"type": "PodResizePending", "reason": "Deferred"}], 9000, id="granted later"
    ),
]


@pytest.mark.parametrize("place", ["resources", "allocatedResources"])
@pytest.mark.parametrize(("requested", "granted", "conditions", "expected"), RESIZES)
def test_a_pod_that_is_resized_in_place_counts_with_the_greater_request(
    place: str, requested: Any, granted: Any, conditions: Any, expected: int
) -> None:
    state = {"requests": granted} if place == "resources" else granted
    status = {"containerStatuses": [{"name": "c", place: state}], "conditions": conditions}
    assert amounts({"containers": [container(**requested)]}, status) == {"cpu": expected, "pods": 1}


ANNOTATIONS = (
    "podset-required-topology",
    "podset-preferred-topology",
    "podset-unconstrained-topology",
    "podset-slice-required-topology",
    "podset-slice-required-topology-constraints",
)


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_a_pod_with_any_topology_annotation_is_a_tas_pod(name: str) -> None:
    record = read(pod("p", "n1", annotations={f"kueue.x-k8s.io/{name}": "x"}))
    assert record.amounts is None
    assert record.topology is not None


def test_a_pod_without_topology_annotation_is_none() -> None:
    record = read(pod("p", "n1", annotations={"kueue.x-k8s.io/workload": "w"}))
    assert record.amounts == {"cpu": 1000, "pods": 1}
    assert record.topology is None


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_terminated_pod_uses_nothing(phase: str) -> None:
    assert amounts({}, {"phase": phase}) is None


def test_a_request_that_can_not_be_read_is_reported_by_pod() -> None:
    broken = json.dumps(pod("p", "n1", cpu="much")).encode()
    with pytest.raises(DecodeError, match="much"):
        PODS.read(broken)
    page = PODS.page(b'{"items": [' + broken + b"," + json.dumps(pod("q", "n1")).encode() + b"]}")
    assert [each.identity.key.name for each in page.items] == ["q"]
    assert [each.identity.key.name for each in page.unreadable] == ["p"]


# Sums

NODES = st.sampled_from(["", "a", "b", "c"])
REQUESTS = st.none() | st.dictionaries(st.sampled_from(["cpu", "memory", "pods"]), st.integers(0, 5), max_size=3)
EVENTS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["put", "remove"]), NODES, REQUESTS), max_size=30)


@given(EVENTS)
def test_sums_equal_a_new_computation_after_any_events(
    events: list[tuple[int, str, str, dict[str, int] | None]],
) -> None:
    usage, pods = NodeUsageTotals(), dict[ObjectKey, PodRecord]()
    reported = dict[str, dict[str, int]]()
    for number, kind, node, request in events:
        key = ObjectKey("default", f"p{number}")
        if kind == "put":
            pods[key] = PodRecord(ObjectIdentity(key, "u", "1"), node, request if node else None)
            change = usage.put(pods[key])
        else:
            pods.pop(key, None)
            change = usage.remove(key)
        for changed in change.grown | change.shrunk:
            reported[changed] = usage.of(changed)
    for node in "abc":
        expected = Counter[str]()
        for each in pods.values():
            if each.node == node and each.amounts is not None:
                expected.update(each.amounts)
        total = {name: amount for name, amount in expected.items() if amount}
        assert usage.of(node) == total
        assert reported.get(node, {}) == total, "each change was reported"


# Memory

PODS_OF_A_CLUSTER = 10_000


def test_of_a_pod_a_few_hundred_bytes_are_kept() -> None:
    """A cluster has far more pods than Workloads, most of which no queue manages."""
    made = pod("p", "n1", annotations={"a": "x" * 2000}, volumes=[{"name": str(number)} for number in range(20)])
    bodies = [
        json.dumps(
            {**made, "metadata": {**made["metadata"], "name": f"p-{number:05}", "uid": f"{number:036}"}}
        ).encode()
        for number in range(PODS_OF_A_CLUSTER)
    ]
    usage = NodeUsageTotals()
    with retained_memory() as size:
        records = {record.identity.key: record for record in map(PODS.read, bodies)}
        for record in records.values():
            usage.put(record)
        used = size()
    assert usage.of("n1") == {"cpu": 1000 * PODS_OF_A_CLUSTER, "pods": PODS_OF_A_CLUSTER}
    assert used / PODS_OF_A_CLUSTER < 900
