"""The topology request that annotations of a pod template make (TAS-11, TAS-12, TAS-17)."""

from typing import Any

import pytest

from jobs.bad_topologies import K
from kohort.api.codec import to_json
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.jobs.topology import IndexLabels, topology_request

Json = Any
PAIR = {"slice-required-topology": "rack", "slice-size": "4"}
SLICED = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 4}
LAYERS = {"slice-required-topology-constraints": '[{"topology": "block", "size": 4}, {"topology": "rack", "size": 2}]'}
LAYERED = {
    "podsetSliceRequiredTopologyConstraints": [{"topology": "block", "size": 4}, {"topology": "rack", "size": 2}]
}


def request_of(annotations: dict[str, str], *off: Gate, **labels: Any) -> Json:
    """The request as JSON; annotations without `kueue.x-k8s.io/podset-`."""
    named = {f"{K}podset-{name}": value for name, value in annotations.items()}
    gates = FeatureGates(DEFAULT_GATES.on - set(off))
    found = topology_request({"metadata": {"annotations": named}}, gates, **labels)
    return None if found is None else to_json(found)


@pytest.mark.parametrize(
    ("annotations", "request_"),
    [
        ({}, None),
        ({"required-topology": "rack"}, {"required": "rack"}),
        ({"preferred-topology": "rack"}, {"preferred": "rack"}),
        ({"unconstrained-topology": "true"}, {"unconstrained": True}),
        ({"unconstrained-topology": "false"}, {"unconstrained": False}),
        ({"required-topology": "rack", "preferred-topology": "block"}, {"required": "rack"}),
        ({"preferred-topology": "rack", "unconstrained-topology": "true"}, {"preferred": "rack"}),
        (PAIR, SLICED),
        ({"slice-size": "4"}, None),
        ({"slice-required-topology": "rack"}, None),
        ({**PAIR, "required-topology": "block"}, {"required": "block", **SLICED}),
        (LAYERS, LAYERED),
        ({**LAYERS, **PAIR}, LAYERED),
        ({"group-name": "g"}, None),
        ({"group-name": "g", "required-topology": "rack"}, {"required": "rack", "podSetGroupName": "g"}),
        ({"group-name": "g", "unconstrained-topology": "true"}, {"unconstrained": True}),
    ],
)
def test_annotations_make_a_request(annotations: dict[str, str], request_: Json) -> None:
    """TAS-11, TAS-12."""
    assert request_of(annotations) == request_


def test_without_its_gate_the_annotation_of_layers_is_ignored() -> None:
    """TAS-12."""
    assert request_of(LAYERS, Gate.TASMultiLayerTopology) is None
    assert request_of({**LAYERS, **PAIR}, Gate.TASMultiLayerTopology) == SLICED


def test_labels_of_a_framework_make_a_request_by_themselves() -> None:
    """TAS-12, TAS-17."""
    found = request_of({}, labels=IndexLabels("index", "job"), sub_group_count=2)
    assert found == {"podIndexLabel": "index", "subGroupIndexLabel": "job", "subGroupCount": 2}


def test_without_topology_aware_scheduling_there_is_no_request() -> None:
    assert request_of({"required-topology": "rack"}, Gate.TopologyAwareScheduling) is None
