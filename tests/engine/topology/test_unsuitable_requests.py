"""Requests that suit no flavor of their queue stay pending with the reason, and block no other (TAS-36, TAS-43).

Jobs with most of them are rejected by webhooks, and Workloads by hand are not.
"""

from typing import Any

import pytest

from engine.invariants import check
from engine.scenario_builders import configured
from engine.topology.topology_scenario_builder import BLOCK, HOST, RACK, TopologyScenarioBuilder, required

Json = Any
LEVELS = f"levels of Topology default: {BLOCK}, {RACK}, {HOST}"
NOT_A_LEVEL = 'Flavor "tas" does not contain the requested level (requested: {}; ' + LEVELS + ")"
NOT_SUITABLE = "{} (flavor tas; " + LEVELS + ")"


def slices(level: str, size: int) -> Json:
    return {"podSetSliceRequiredTopology": level, "podSetSliceSize": size}


def layers(*found: tuple[str, int]) -> Json:
    return {"podsetSliceRequiredTopologyConstraints": [{"topology": level, "size": size} for level, size in found]}


UNSUITABLE: dict[str, tuple[Json, str]] = {
    "required level": (required("row"), NOT_A_LEVEL.format("row")),
    "preferred level": ({"preferred": "row"}, NOT_A_LEVEL.format("row")),
    "slice level": ({"required": "zone", **slices("row", 1)}, NOT_A_LEVEL.format("zone, row")),
    "layer": (layers((RACK, 2), ("row", 1)), NOT_A_LEVEL.format("row")),
    "slices above": (
        {"required": RACK, **slices(BLOCK, 2)},
        NOT_SUITABLE.format("podset slice topology block is above the podset topology rack"),
    ),
    "undivided": (
        {"required": RACK, **slices(RACK, 3)},
        NOT_SUITABLE.format("pod count 4 is not a multiple of the slice size 3 on level rack"),
    ),
    "layers upside down": (
        layers((RACK, 4), (BLOCK, 2)),
        NOT_SUITABLE.format("additional slice layer topology block must be at a lower level than rack"),
    ),
    "layers that do not divide": (
        layers((RACK, 4), (HOST, 3)),
        NOT_SUITABLE.format("additional slice layer size 3 must evenly divide parent layer size 4"),
    ),
    "everything": (
        {"required": RACK, "preferred": "row", "unconstrained": True, "podSetGroupName": "g"},
        NOT_A_LEVEL.format("row"),
    ),
}


def play_with(request: Json) -> TopologyScenarioBuilder:
    """A queue whose oldest workload has the request, with a younger one, and another queue."""
    builder = TopologyScenarioBuilder()
    builder.tas_queue("q")
    builder.tas_queue("other")
    builder.gang("w", 4, request=request, priority=9)
    builder.gang("next", 4, request=required(RACK))
    builder.gang("elsewhere", 3, "other", request=required(RACK))
    return builder


@pytest.mark.parametrize("what", UNSUITABLE)
def test_an_unsuitable_request_waits_with_the_reason_and_no_other_waits_for_it(what: str) -> None:
    """TAS-15, TAS-36, TAS-43, TAS-57."""
    request, reason = UNSUITABLE[what]
    builder = play_with(request)
    builder.turn()
    assert builder.waiting["w"].message == f"couldn't assign flavors to pod set main: {reason}"
    assert sorted(builder.reserved) == ["elsewhere", "next"]
    assert check(builder.engine) == []


@pytest.mark.parametrize("what", UNSUITABLE)
def test_it_is_inadmissible_until_its_flavor_or_topology_changes(what: str) -> None:
    builder = play_with(UNSUITABLE[what][0])
    builder.turn()
    assert builder.turn().decisions == []
    builder.topology("default", "zone", "row", BLOCK, RACK, HOST)
    for host in ("h3", "h4", "h5"):
        builder.node(host, 4, block="b1", rack="r2", zone="z", row="w")
    assert builder.turn().decisions != []
    assert check(builder.engine) == []


MOST = 2**31 - 1


@pytest.mark.parametrize(
    "request_",
    [
        required(RACK),
        {"preferred": RACK},
        {"unconstrained": True},
        None,
        {"required": BLOCK, **slices(RACK, MOST)},
        {"required": BLOCK, **slices(HOST, 1)},
        layers((BLOCK, MOST), (HOST, 1)),
    ],
)
@pytest.mark.parametrize("balances", [False, True])
def test_the_largest_gang_waits_and_keeps_no_other_waiting(request_: Json, balances: bool) -> None:
    builder = TopologyScenarioBuilder(settings=configured(TASBalancedPlacement=balances))
    builder.tas_queue("q", MOST)
    builder.tas_queue("other")
    builder.gang("w", MOST, request=request_, priority=9)
    builder.gang("elsewhere", 3, "other", request=required(RACK))
    assert builder.turn().reserved == ["elsewhere"]
    assert 'topology "default"' in builder.waiting["w"].message


@pytest.mark.parametrize(
    ("counts", "requests"),
    [
        ((1, 2, 2), [{"required": RACK}] * 3),
        ((2, 2), [{"required": RACK}] * 2),
    ],
)
def test_a_pod_set_group_of_a_wrong_size_keeps_no_other_waiting(counts: tuple[int, ...], requests: list[Json]) -> None:
    """TAS-14."""
    builder = play_with(required("row"))
    made = builder.gang_of("group", 1)
    (pod_set,) = made["spec"]["podSets"]
    made["spec"]["podSets"] = [
        {**pod_set, "name": f"p{index}", "count": count, "topologyRequest": {**request, "podSetGroupName": "g"}}
        for index, (count, request) in enumerate(zip(counts, requests, strict=True))
    ]
    builder.put(made)
    builder.turn()
    assert builder.waiting["group"].message.endswith(
        'pod set group "g" must have two pod sets, one of them with a single pod'
    )
    assert sorted(builder.reserved) == ["elsewhere", "next"]
