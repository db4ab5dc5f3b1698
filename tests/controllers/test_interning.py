"""Workloads with equal parts share them, and keep their values."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kohort.api.codec import encode, from_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, PodSet, PodSetAssignment
from kohort.controllers.workloads.interning import StructInterner

Json = Any


def workload(
    name: str, template: Json, usage: Json, queue: str = "q", topology_request: Json = None, place: Json = None
) -> Workload:
    pod_set = {
        "name": "main",
        "count": 2,
        "template": template,
        **({"topologyRequest": topology_request} if topology_request else {}),
    }
    assignment = {"name": "main", "count": 2, "flavors": {"cpu": "default"}, "resourceUsage": usage}
    placed = {**assignment, **({"topologyAssignment": place} if place else {})}
    admission = {"clusterQueue": queue, "podSetAssignments": [placed]}
    value = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"queueName": queue, "podSets": [pod_set]},
        "status": {"admission": admission},
    }
    return from_json(value, Workload)


TEMPLATE = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}


def test_what_is_equal_is_kept_once() -> None:
    sharing, one, other = StructInterner(), workload("a", TEMPLATE, {"cpu": "2"}), workload("b", TEMPLATE, {"cpu": "2"})
    sharing.share(one)
    sharing.share(other)
    assert other.spec.pod_sets is one.spec.pod_sets
    assert other.status.admission is one.status.admission
    assert other.metadata.labels is one.metadata.labels


TEMPLATES = st.sampled_from([TEMPLATE, {"spec": {"containers": []}}, {"spec": {"containers": []}, "metadata": {}}])
USAGES = st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.sampled_from(["1", "2", 1, 1.0, "1.0"]), max_size=2)


@given(shown=st.lists(st.tuples(TEMPLATES, USAGES, st.sampled_from(["q", "r"])), max_size=6))
def test_interned_objects_stay_equal_to_their_originals(shown: list[tuple[Json, Json, str]]) -> None:
    sharing = StructInterner()
    for number, (template, usage, queue) in enumerate(shown):
        found = workload(f"w{number}", template, usage, queue)
        before = encode(found)
        sharing.share(found)
        assert encode(found) == before


def placed_on(*hosts: str) -> Json:
    values = [{"individual": {"roots": list(hosts)}}]
    part = {"domainCount": len(hosts), "valuesPerLevel": values, "podCounts": {"universal": 2}}
    return {"levels": ["kubernetes.io/hostname"], "slices": [part]}


def test_equal_topology_requests_and_assignments_are_kept_once() -> None:
    sharing = StructInterner()
    one, other = [
        workload(name, TEMPLATE, {"cpu": "2"}, topology_request={"required": "rack"}, place=placed_on("h1", "h2"))
        for name in "ab"
    ]
    sharing.share(one)
    sharing.share(other)
    assert other.spec.pod_sets is one.spec.pod_sets
    assert other.status.admission is one.status.admission


REQUESTS = st.sampled_from([None, {"required": "rack"}, {"preferred": "rack"}, {"unconstrained": True}])
PLACES = st.sampled_from(
    [None, placed_on("h1"), placed_on("h2"), placed_on("h1", "h2"), {"levels": ["r"], "slices": []}]
)


@given(shown=st.lists(st.tuples(REQUESTS, PLACES), max_size=6))
def test_interned_topologies_stay_equal_to_their_originals(shown: list[tuple[Json, Json]]) -> None:
    sharing = StructInterner()
    for number, (request, place) in enumerate(shown):
        found = workload(f"w{number}", TEMPLATE, {"cpu": "2"}, topology_request=request, place=place)
        before = encode(found)
        sharing.share(found)
        assert encode(found) == before


def test_a_large_assignment_is_not_kept_for_sharing() -> None:
    """It would be kept after its Workload is deleted."""
    sharing, hosts = StructInterner(), [f"h{number}" for number in range(100)]
    one, other = [workload(name, TEMPLATE, {"cpu": "2"}, place=placed_on(*hosts)) for name in "ab"]
    sharing.share(one)
    sharing.share(other)
    assert other.status.admission is not one.status.admission


def test_every_field_of_what_is_shared_is_compared_or_absent() -> None:
    """A field added to these structs has to be added to `sharing`."""
    assert set(PodSet.__struct_fields__) == {"name", "count", "min_count", "template", "topology_request"}
    assert set(Admission.__struct_fields__) == {"cluster_queue", "pod_set_assignments"}
    assert set(PodSetAssignment.__struct_fields__) == {
        "name",
        "count",
        "flavors",
        "resource_usage",
        "topology_assignment",
        "delayed_topology_request",
    }
