"""A required topology holds a Workload while no placement can honour it; a preferred one does not."""

from typing import Any

import pytest

from engine.play import Play, configured
from kohort.api.conditions import find
from kohort.api.meta import ObjectKey
from kohort.engine.explain import WorkloadPhase, explanation_lines

NOT_SUPPORTED = "topology-aware scheduling is not supported by this version of Kohort yet"
WITHOUT_TOPOLOGY = {
    "TopologyAwareScheduling": False,
    "TASFailedNodeReplacement": False,
    "TASFailedNodeReplacementFailFast": False,
    "TASHandleOverlappingFlavors": False,
    "TASMultiLayerTopology": False,
    "TASProfileMixed": False,
    "TASRecomputeAssignmentWithinSchedulingCycle": False,
    "TASReplaceNodeOnNodeTaints": False,
    "TASReplaceNodeOnPodTermination": False,
}


def submitted(request: dict[str, Any], **gates: bool) -> Play:
    play = Play(configured(**gates))
    play.queue("q", 4)
    manifest = play.workload("w", 1, "q")
    manifest["spec"]["podSets"][0]["topologyRequest"] = request
    play.put(manifest)
    play.submit("other", 1)
    play.turn()
    return play


@pytest.mark.parametrize(
    "request_",
    [
        {"required": "rack"},
        {"preferred": "block", "podSetSliceRequiredTopology": "rack", "podSetSliceSize": 1},
        {"podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 1}]},
    ],
    ids=["pod set", "slice", "layers of slices"],
)
def test_a_required_topology_holds_the_workload_and_no_other(request_: dict[str, Any]) -> None:
    play = submitted(request_)
    assert play.reserved == ["other"]
    reserved = find(play.workloads[ObjectKey("ns", "w")].status.conditions, "QuotaReserved")
    assert reserved is not None
    assert reserved.status == "False"
    assert reserved.message.startswith("pod set main requires a topology: ")
    assert NOT_SUPPORTED in reserved.message


@pytest.mark.parametrize("request_", [{"preferred": "rack"}, {"unconstrained": True}, {"podIndexLabel": "i"}])
def test_other_requests_are_admitted(request_: dict[str, Any]) -> None:
    assert sorted(submitted(request_).reserved) == ["other", "w"]


def test_with_the_gate_off_the_request_is_not_read() -> None:
    assert sorted(submitted({"required": "rack"}, **WITHOUT_TOPOLOGY).reserved) == ["other", "w"]


def test_explain_names_the_topology() -> None:
    play = submitted({"required": "rack"})
    found = play.engine.explain(ObjectKey("ns", "w"), play.now)
    assert found.state is WorkloadPhase.MISCONFIGURED
    assert any(NOT_SUPPORTED in line for line in explanation_lines(found))
