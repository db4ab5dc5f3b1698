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


def test_topology_assignments_and_topology_requests_are_not_shared() -> None:
    sharing, plain = StructInterner(), workload("a", TEMPLATE, {"cpu": "2"})
    sharing.share(plain)
    with_topology = workload(
        "b", TEMPLATE, {"cpu": "2"}, topology_request={"required": "rack"}, place={"levels": ["rack"], "slices": []}
    )
    before = encode(with_topology)
    sharing.share(with_topology)
    assert encode(with_topology) == before
    assert with_topology.spec.pod_sets is not plain.spec.pod_sets


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
