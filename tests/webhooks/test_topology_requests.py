"""Topology requests of Workloads that users create: rejected where no value fits, else warned about (TAS-8, TAS-16)."""

import json
from typing import Any

import pytest

from kit.builders.kueue import make_workload
from kit.kueue_apiserver import running_kueue_apiserver
from kohort.api.gates import DEFAULT_GATES
from kohort.webhooks.kueue import kueue_handlers
from kohort.webhooks.server import handle_admission

Json = Any
VALIDATE = "/validate-kueue-x-k8s-io-v1beta2-workload"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
REQUEST = "spec.podSets[0].topologyRequest"
LAYERS = "podsetSliceRequiredTopologyConstraints"
NEVER = "the workload can't be admitted"


def workload(*requests: Json, counts: tuple[int, ...] = ()) -> Json:
    """A Workload with a pod set of four pods for each request, or of other counts."""
    made = make_workload("w", "lq")
    (pod_set,) = made["spec"]["podSets"]
    made["spec"]["podSets"] = [
        {**pod_set, "name": f"p{index}", "count": count, "topologyRequest": request}
        for index, (request, count) in enumerate(zip(requests, counts or [4] * len(requests), strict=True))
    ]
    return made


def pair(size: Json = 2) -> Json:
    return {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": size}


def layers(*sizes: Json) -> Json:
    return {LAYERS: [{"topology": f"l{index}", "size": size} for index, size in enumerate(sizes)]}


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (pair(0), "podSetSliceSize"),
        (pair(-1), "podSetSliceSize"),
        (pair("2"), "podSetSliceSize"),
        (pair(2**40), "podSetSliceSize"),
        ({"podSetSliceSize": 2}, "podSetSliceSize"),
        ({"podSetSliceRequiredTopology": "rack"}, "podSetSliceSize"),
        ({"required": "r" * 64}, "required"),
        ({"unconstrained": "yes"}, "unconstrained"),
        ({"required": "rack", "podSetGroupName": "g" * 257}, "podSetGroupName"),
        (layers(0), f"{LAYERS}[0].size"),
        (layers(8, 4, 2, 1), LAYERS),
        ({LAYERS: [{"size": 2}]}, f"{LAYERS}[0].topology"),
        ({LAYERS: {}}, LAYERS),
    ],
)
async def test_a_request_that_no_topology_can_have_is_rejected_with_its_field(request_: Json, field: str) -> None:
    async with running_kueue_apiserver() as server:
        reply = await server.request("POST", WORKLOADS, workload(request_))
    assert reply.status in (400, 403, 422), reply
    assert field in str(reply.body), reply


@pytest.mark.parametrize(
    ("requests", "counts", "warning"),
    [
        (
            [{"required": "rack", "preferred": "rack"}],
            (),
            f"{REQUEST}: required applies, preferred is ignored: remove one of them",
        ),
        (
            [{"required": "rack", "unconstrained": True}],
            (),
            f"{REQUEST}: required applies, unconstrained is ignored: remove one of them",
        ),
        ([{"podSetGroupName": "g"}], (), f"{REQUEST}.podSetGroupName: needs required or preferred beside it"),
        (
            [{"unconstrained": True, **pair(3)}],
            (),
            f"{REQUEST}.podSetSliceSize: 3 does not divide the number of pods, 4: {NEVER}",
        ),
        (
            [layers(2) | pair()],
            (),
            f"{REQUEST}.podSetSliceSize: ignored, since there are constraints: remove one of them",
        ),
        ([layers(8)], (), f"{REQUEST}.{LAYERS}[0].size: 8 does not divide the number of pods, 4: {NEVER}"),
        ([layers(4, 3)], (), f"{REQUEST}.{LAYERS}[1].size: 3 does not divide 4, the layer above it: {NEVER}"),
        (
            [{"required": "rack", "podSetGroupName": "g"}] * 3,
            (1, 2, 2),
            f"spec.podSets: group g must have two pod sets, one of them with a single pod: {NEVER}",
        ),
        (
            [{"required": "rack", "podSetGroupName": "g"}] * 2,
            (2, 2),
            f"spec.podSets: group g must have two pod sets, one of them with a single pod: {NEVER}",
        ),
        (
            [{"required": level, "podSetGroupName": "g"} for level in ("rack", "block")],
            (1, 4),
            "spec.podSets: group g has several levels: that of the larger pod set applies; use one",
        ),
    ],
)
async def test_a_request_that_contradicts_itself_is_warned_about(
    requests: list[Json], counts: tuple[int, ...], warning: str
) -> None:
    response = await validated("CREATE", workload(*requests, counts=counts))
    assert (response["allowed"], response["warnings"]) == (True, [warning])


@pytest.mark.parametrize(
    "requests",
    [
        [{"required": "rack", **pair()}],
        [layers(4, 2, 1)],
        [{"unconstrained": False, "preferred": "rack"}],
        [{"required": "rack", "podSetGroupName": "g"}],
        [{"podIndexLabel": "i"}],
    ],
)
async def test_no_warning_about_others_or_about_what_is_there(requests: list[Json]) -> None:
    assert await validated("CREATE", workload(*requests)) == {"uid": "u", "allowed": True}
    wrong = workload({"required": "rack", "preferred": "rack"})
    assert await validated("UPDATE", wrong, wrong) == {"uid": "u", "allowed": True}


async def validated(operation: str, obj: Json, old: Json = None) -> Json:
    request = {"uid": "u", "operation": operation, "object": obj, "oldObject": old}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    judge = kueue_handlers(DEFAULT_GATES)[VALIDATE]
    return json.loads(await handle_admission(VALIDATE, judge, json.dumps(review).encode()))["response"]
