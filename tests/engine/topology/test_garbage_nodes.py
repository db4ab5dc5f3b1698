"""Nodes with invalid labels and quantities: workloads are placed on the others (TAS-19 to TAS-22, TAS-26)."""

from typing import Any

import pytest

from engine.topology.topology_scenario_builder import BLOCK, HOST, RACK, TopologyScenarioBuilder, required

READY: Any = {"type": "Ready", "status": "True", "reason": "r", "message": ""}
LABELS = {"pool": "tas", BLOCK: "b1", RACK: "r1"}
GARBAGE: dict[str, Any] = {
    "not a quantity": {"allocatable": {"cpu": "abc", "pods": "110"}},
    "empty quantity": {"allocatable": {"cpu": "", "pods": ""}},
    "huge exponent": {"allocatable": {"cpu": "1e999999999", "pods": "110"}},
    "negative": {"allocatable": {"cpu": "-5", "pods": "-1"}},
    "no allocatable": {"allocatable": {}},
    "no condition": {"conditions": []},
    "empty labels": {"labels": {BLOCK: "", RACK: "", HOST: ""}},
    "long labels": {"labels": {f"label-{number}": "v" * 60 for number in range(1000)}, "conditions": []},
    "hostname of another": {"labels": {HOST: "good"}, "allocatable": {}},
    "no labels": {"labels": {"pool": ""}},
}


def garbage(name: str, **changes: Any) -> Any:
    status = {"allocatable": {"cpu": "2", "pods": "110"}, "conditions": [READY]}
    labels = {**LABELS, HOST: name, **changes.pop("labels", {})}
    head = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    return {**head, "status": {**status, **changes}}


@pytest.mark.parametrize("what", GARBAGE)
def test_a_node_with_garbage_is_not_used_and_harms_no_other(what: str) -> None:
    play = TopologyScenarioBuilder({})
    play.node("good", 3)
    play.put(garbage("bad", **GARBAGE[what]))
    play.tas_queue("q")
    play.gang("w", 3, request=required(RACK))
    assert play.turn().reserved == ["w"]
    assert play.places("w") == {"good": 3}


@pytest.mark.parametrize("what", [each for each in GARBAGE if "quantity" in each or "exponent" in each])
def test_a_node_whose_quantities_become_garbage_has_no_capacity_left(what: str) -> None:
    play = TopologyScenarioBuilder({})
    play.put(garbage("bad"))
    play.put(garbage("bad", **GARBAGE[what]))
    play.tas_queue("q")
    play.gang("w", 1, request=required(RACK))
    assert play.turn().reserved == []
    play.put(garbage("bad"))
    assert play.turn().reserved == ["w"]


def test_thousands_of_nodes_with_garbage() -> None:
    play = TopologyScenarioBuilder({})
    kinds = list(GARBAGE.values())
    play.node("good", 3, rack="r0")
    for number in range(3000):
        play.put(garbage(f"n{number}", **kinds[number % len(kinds)]))
    play.tas_queue("q")
    play.tas_queue("other")
    play.gang("unsuitable", 3, request=required("row"))
    play.gang("w", 2, request=required(RACK))
    play.gang("v", 1, "other", request=required(RACK))
    assert sorted(play.turn().reserved) == ["v", "w"]
    assert play.used() == {"good": 3}
