"""Nodes with invalid labels and quantities: workloads are placed on the others (TAS-19 to TAS-22, TAS-26)."""

from typing import Any

import pytest

from engine.topology.topology_scenario_builder import BLOCK, HOST, RACK, TopologyScenarioBuilder, required
from kohort.api.codec import from_json
from kohort.api.core.nodes import Node
from kohort.controllers.topology.nodes import reduced
from kohort.engine.engine import Engine
from kohort.engine.events import ObjectUpserted
from kohort.engine.topology import FlavorDomains
from kohort.engine.topology.tree import DomainTree

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
    builder = TopologyScenarioBuilder({})
    builder.node("good", 3)
    builder.put(garbage("bad", **GARBAGE[what]))
    builder.tas_queue("q")
    builder.gang("w", 3, request=required(RACK))
    assert builder.turn().reserved == ["w"]
    assert builder.places("w") == {"good": 3}


@pytest.mark.parametrize("what", [each for each in GARBAGE if "quantity" in each or "exponent" in each])
def test_a_node_whose_quantities_become_garbage_has_no_capacity_left(what: str) -> None:
    builder = TopologyScenarioBuilder({})
    builder.put(garbage("bad"))
    builder.put(garbage("bad", **GARBAGE[what]))
    builder.tas_queue("q")
    builder.gang("w", 1, request=required(RACK))
    assert builder.turn().reserved == []
    builder.put(garbage("bad"))
    assert builder.turn().reserved == ["w"]


def test_thousands_of_nodes_with_garbage() -> None:
    builder = TopologyScenarioBuilder({})
    kinds = list(GARBAGE.values())
    builder.node("good", 3, rack="r0")
    for number in range(3000):
        builder.put(garbage(f"n{number}", **kinds[number % len(kinds)]))
    builder.tas_queue("q")
    builder.tas_queue("other")
    builder.gang("unsuitable", 3, request=required("row"))
    builder.gang("w", 2, request=required(RACK))
    builder.gang("v", 1, "other", request=required(RACK))
    assert sorted(builder.turn().reserved) == ["v", "w"]
    assert builder.used() == {"good": 3}


class UncheckedScenarioBuilder(TopologyScenarioBuilder):
    """On an engine that does not check all its state after every event."""

    def __post_init__(self) -> None:
        self.engine = Engine(self.settings)


KINDS = 5


def strange(number: int) -> Any:
    """A node that is alone in its domains, shares a hostname with thousands, or has nothing that can be used."""
    name = f"n{number}"
    match number % KINDS:
        case 0:
            return garbage(name, labels={BLOCK: f"b{number}", RACK: f"-{number}"}, allocatable={"cpu": "0"})
        case 1:
            return garbage(name, labels={HOST: "one-for-all", RACK: f"r{number % 100}"}, allocatable={"cpu": "1e-9"})
        case 2:
            return garbage(name, labels={f"label-{number}": "x", BLOCK: "", RACK: "", HOST: ""}, allocatable={})
        case 3:
            return garbage(name, allocatable={"cpu": f"{number}Zi!", "pods": "110"})
        case _:
            return garbage(name, labels={"pool": f"p{number}"})


def test_a_hundred_thousand_nodes_with_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree is built once; gangs that fit are admitted, others have the reason, and a change costs no new tree."""
    built: list[str] = []
    build = FlavorDomains._build

    def recorded(self: FlavorDomains) -> DomainTree:
        built.append(self.name)
        return build(self)

    monkeypatch.setattr(FlavorDomains, "_build", recorded)
    builder = UncheckedScenarioBuilder({})
    builder.node("good", 3, rack="r0")
    for number in range(100_000):
        builder.engine.apply(ObjectUpserted(reduced(from_json(strange(number), Node))), builder.now)
    builder.tas_queue("q")
    builder.tas_queue("other")
    builder.gang("unsuitable", 3, request=required("row"))
    builder.gang("wide", 4, request=required(RACK))
    builder.gang("w", 2, request=required(RACK))
    builder.gang("v", 1, "other", request=required(RACK))
    assert sorted(builder.turn().reserved) == ["v", "w"]
    assert builder.used() == {"good": 3}
    assert 'Flavor "tas" does not contain the requested level (requested: row' in builder.waiting["unsuitable"].message
    assert "allows to fit only 2 out of 4 pod(s). Total nodes: 40003; excluded: " in builder.waiting["wide"].message
    builder.engine.apply(
        ObjectUpserted(reduced(from_json(garbage("n0", labels={BLOCK: "b0", RACK: "-0"}), Node))), builder.now
    )
    builder.turn()
    assert built == ["tas"]
