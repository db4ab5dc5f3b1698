"""Rules of Topologies, TAS flavors and the topology fields of Workloads, as an API server applies them."""

from typing import Any

import pytest

from api.kueue.objects import condition, pod_set, reserved, workload
from kit.builders.kueue import make_resource_flavor, make_topology
from kohort.api.crds import WebhookService, definition
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue import v1beta1, v1beta2
from kohort.api.kueue.admission import ObjectWrite, WriteVerdict, admit
from kohort.api.kueue.conversion import V1BETA1, V1BETA2, convert
from kohort.api.merge import merge

Json = Any
HOST = "kubernetes.io/hostname"


def create(value: Json) -> WriteVerdict:
    return admit(ObjectWrite(value), DEFAULT_GATES)


def update(value: Json, patch: Json, gates: FeatureGates = DEFAULT_GATES, *, to_status: bool = False) -> WriteVerdict:
    return admit(ObjectWrite(merge(value, patch), old=value, to_status=to_status), gates)


def details(verdict: WriteVerdict) -> str:
    return "; ".join(map(str, verdict.errors))


def levels(*labels: str) -> Json:
    return {"spec": {"levels": [{"nodeLabel": label} for label in labels]}}


def test_a_topology_is_cluster_scoped_and_has_levels_only() -> None:
    """TAS-1."""
    spec = definition([v1beta2.Topology, v1beta1.Topology], WebhookService())["spec"]
    assert (spec["scope"], spec["names"]["shortNames"]) == ("Cluster", ["topo"])
    for version in spec["versions"]:
        schema = version["schema"]["openAPIV3Schema"]["properties"]
        assert set(schema) == {"apiVersion", "kind", "metadata", "spec"}
        assert set(schema["spec"]["properties"]) == {"levels"}
        assert schema["spec"]["properties"]["levels"]["x-kubernetes-list-type"] == "atomic"


@pytest.mark.parametrize(
    ("labels", "is_accepted"),
    [
        (("rack",), True),
        (tuple(f"level-{number}" for number in range(16)), True),
        (tuple(f"level-{number}" for number in range(17)), False),
    ],
)
def test_a_topology_has_one_to_sixteen_levels(labels: tuple[str, ...], is_accepted: bool) -> None:
    """TAS-1."""
    assert create(make_topology("t", *labels)).accepted is is_accepted


def test_a_topology_without_levels_is_rejected() -> None:
    """TAS-1."""
    assert not create({**make_topology("t"), **levels()}).accepted


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        (("example.com/block", "example.com/rack", HOST), ""),
        (("not a label",), "nodeLabel"),
        (("",), "nodeLabel"),
        (("p" * 253 + "/" + "n" * 63,), "nodeLabel"),
        (("rack", "rack"), "each level of a topology has its own node label"),
        ((HOST, "rack"), "kubernetes.io/hostname may be used only as the last level"),
    ],
)
def test_levels_are_distinct_label_keys_with_the_hostname_last(labels: tuple[str, ...], problem: str) -> None:
    """TAS-2(1), TAS-2(2), TAS-2(3)."""
    verdict = create(make_topology("t", *labels))
    assert verdict.accepted is not bool(problem)
    assert problem in details(verdict)


@pytest.mark.parametrize(
    ("before", "after", "is_accepted"),
    [
        (("rack", HOST), ("block", "rack", HOST), True),
        (("rack", HOST), (HOST,), True),
        (("rack", HOST), ("rack",), False),
        (("rack",), ("rack", HOST), False),
        (("block", "rack"), ("rack",), False),
        (("block", "rack"), ("block", "rack"), True),
    ],
)
def test_levels_change_only_between_topologies_of_hosts(
    before: tuple[str, ...], after: tuple[str, ...], is_accepted: bool
) -> None:
    """TAS-2(4)."""
    verdict = update(make_topology("t", *before), levels(*after))
    assert verdict.accepted is is_accepted
    expected = "spec.levels: Invalid value: levels may change only where kubernetes.io/hostname is the last level"
    assert is_accepted or details(verdict).startswith(expected)


@pytest.mark.parametrize(
    ("spec", "is_accepted"),
    [
        ({"nodeLabels": {"pool": "gpu"}, "topologyName": "dc"}, True),
        ({"topologyName": "dc"}, False),
        ({"nodeLabels": {"pool": "gpu"}, "topologyName": "Not a name"}, False),
        ({"nodeLabels": {"pool": "gpu"}, "topologyName": "n" * 254}, False),
    ],
)
def test_a_flavor_with_a_topology_has_a_node_label(spec: Json, is_accepted: bool) -> None:
    """TAS-5."""
    assert create(make_resource_flavor("f", spec.pop("nodeLabels", None), **spec)).accepted is is_accepted


@pytest.mark.parametrize(
    ("patch", "is_accepted"),
    [
        ({"topologyName": "other"}, False),
        ({"topologyName": None}, False),
        ({"nodeLabels": {"pool": "tpu"}}, True),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, True),
    ],
)
def test_a_flavor_keeps_its_topology(patch: Json, is_accepted: bool) -> None:
    """TAS-5."""
    flavor = make_resource_flavor("f", {"pool": "gpu"}, topologyName="dc")
    assert update(flavor, {"spec": patch}).accepted is is_accepted


PLACED: Json = {
    "levels": [HOST],
    "slices": [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"individual": {"prefix": "h", "roots": ["1", "2"]}}],
            "podCounts": {"universal": 1},
        }
    ],
}


def admitted(**assignment: Json) -> Json:
    """A workload with quota for two pods."""
    status = reserved(main=2)
    status["admission"]["podSetAssignments"][0] |= assignment
    return workload(pod_set(count=2), status=status)


@pytest.mark.parametrize(
    ("assignment", "is_accepted"),
    [
        ({"topologyAssignment": PLACED}, True),
        ({"topologyAssignment": PLACED, "delayedTopologyRequest": "Ready"}, True),
        ({"count": 1}, False),
        ({"flavors": {"cpu": "f2"}}, False),
    ],
)
def test_of_an_admission_only_the_places_change(assignment: Json, is_accepted: bool) -> None:
    """TAS-9; without the feature gate nothing does."""
    old = admitted(delayedTopologyRequest="Pending")
    changed = {**old["status"]["admission"]["podSetAssignments"][0], **assignment}
    patch = {"status": {"admission": {"podSetAssignments": [changed]}}}
    assert update(old, patch, to_status=True).accepted is is_accepted
    off = FeatureGates(DEFAULT_GATES.on - {Gate.TopologyAwareScheduling})
    assert not update(old, patch, off, to_status=True).accepted


@pytest.mark.parametrize(("number", "is_accepted"), [(8, True), (9, False)])
def test_a_workload_lists_up_to_eight_unhealthy_nodes(number: int, is_accepted: bool) -> None:
    """TAS-10."""
    nodes = [{"name": f"n{index}"} for index in range(number)]
    verdict = update(admitted(), {"status": {"unhealthyNodes": nodes}}, to_status=True)
    assert verdict.accepted is is_accepted


def test_an_assignment_is_a_list_of_domains_in_v1beta1() -> None:
    """TAS-70, TAS-74."""
    value = admitted(topologyAssignment=PLACED)
    value["status"]["conditions"] = [condition("QuotaReserved")]
    older = convert(value, V1BETA1)
    assigned = older["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]
    assert assigned == {
        "levels": [HOST],
        "domains": [{"values": ["h1"], "count": 1}, {"values": ["h2"], "count": 1}],
    }
    newer = convert(older, V1BETA2)
    assert newer["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] == PLACED


@pytest.mark.parametrize("request_", [{"podSetSliceRequiredTopology": "rack"}, {"podSetSliceSize": 2}])
def test_half_a_slice_layer_is_rejected_with_its_gate(request_: Json) -> None:
    """TAS-16."""
    value = workload(pod_set(count=2, topologyRequest={"required": "block", **request_}))
    assert not create(value).accepted
    off = FeatureGates(DEFAULT_GATES.on - {Gate.TASValidateWorkloadSliceSize})
    assert admit(ObjectWrite(value), off).accepted
