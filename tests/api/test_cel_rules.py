"""The CEL text of every rule and its Python equivalent agree (ADR 3).

The CEL runs in a real interpreter. Values are those of the golden transcripts, examples of our own where the
transcripts show only one side of a rule, and generated ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from api.schema_strategies import edited, json_for
from kit.golden.admission import FILES
from kit.golden.recordings import api_recording_with_times
from kohort.api.kinds import CustomObject, all_kinds, kind_of
from kohort.api.kueue import v1beta1, v1beta2
from kohort.api.kueue.conversion import V1BETA1, V1BETA2, convert
from kohort.api.kueue.group import GROUP
from kohort.api.rules import Rule
from kohort.api.schema import Schema, schema_of
from kohort.api.structural import default, prune, validate

cel = pytest.importorskip("cel_expr_python.cel", reason="cel-expr-python has no build for this Python")

Json = Any
NOTHING: Any = object()
"""Marks that there was no former value."""


# Places and rules


@dataclass(frozen=True)
class SchemaNode:
    """A node of a kind's schema that has rules."""

    path: str
    schema: Schema = field(repr=False)


def nodes_below(schema: Schema, path: str) -> Iterator[SchemaNode]:
    if schema.rules:
        yield SchemaNode(path, schema)
    for name, node in schema.properties.items():
        yield from nodes_below(node, f"{path}.{name}")
    for suffix, below in (("[]", schema.items), ("{}", schema.additional)):
        if below is not None:
            yield from nodes_below(below, path + suffix)


def title(kind: type[CustomObject]) -> str:
    return f"{kind.info.resource.version}.{kind.info.resource.kind}"


def all_places() -> list[SchemaNode]:
    """One place for each set of rules: the versions of a kind share most of them."""
    found = (place for kind in all_kinds(GROUP) for place in nodes_below(schema_of(kind), title(kind)))
    return list({place.schema.rules: place for place in found}.values())


PLACES = all_places()
RULES = list({rule: None for place in PLACES for rule in place.schema.rules})


def rule_id(rule: Rule) -> str:
    return f"{rule.spec} {rule.message}"


# Evaluation


@cache
def program(text: str) -> Any:
    return cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}).compile(text)


def cel_holds(rule: Rule, value: Json, old: Json) -> bool:
    """What an API server makes of the rule; an error, such as a missing key, counts as broken."""
    data = {"self": value} if old is NOTHING else {"self": value, "oldSelf": old}
    result = program(rule.cel).eval(data=data)
    return bool(result.type() == cel.Type.BOOL and result.value() is True)


def python_holds(rule: Rule, value: Json, old: Json) -> bool:
    return rule.holds(value, None if old is NOTHING else old)


@dataclass(frozen=True)
class RuleCase:
    """A rule met with a value."""

    rule: Rule
    value: Json
    old: Json

    @property
    def holds(self) -> bool:
        return cel_holds(self.rule, self.value, self.old)

    def agrees(self) -> bool:
        return self.holds == python_holds(self.rule, self.value, self.old)


def sightings(value: Json, schema: Schema, old: Json) -> Iterator[RuleCase]:
    """Every rule at or below a node, with the value it is applied to."""
    for rule in schema.rules:
        if not (rule.is_transition and old is NOTHING):
            yield RuleCase(rule, value, old)
    for node, member, former in children(value, schema, old):
        yield from sightings(member, node, former)


def children(value: Json, schema: Schema, old: Json) -> Iterator[tuple[Schema, Json, Json]]:
    if isinstance(value, dict):
        for name, member in value.items():
            node = schema.properties.get(name) or schema.additional
            if node is not None:
                yield node, member, old.get(name, NOTHING) if isinstance(old, dict) else NOTHING
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            yield schema.items, item, NOTHING


# Values


def admitted_form(body: Json, schema: Schema) -> Json:
    return default(prune(body, schema)[0], schema)


def passes_the_schema(value: Json, schema: Schema) -> bool:
    """Rules are checked only where the schema accepts the value."""
    return all(error.source == "cel" for error in validate(value, schema))


def golden_sightings() -> Iterator[RuleCase]:
    for name in FILES:
        for case in api_recording_with_times(name):
            former: Json = NOTHING
            for step in case["steps"]:
                yield from step_sightings(step, former)
                former = step["response"].get("object", former)


def step_sightings(step: Json, former: Json) -> Iterator[RuleCase]:
    body = step.get("body", {})
    kind = kind_of(body.get("apiVersion", ""), body.get("kind", ""))
    if kind is None:
        return
    value = admitted_form(body, schema_of(kind))
    if passes_the_schema(value, schema_of(kind)):
        yield from sightings(value, schema_of(kind), NOTHING if step["op"] == "create" else former)


def workload(*conditions: str, status: Json = NOTHING, **spec: Json) -> Json:
    """A Workload whose named conditions are True."""
    reported = [{"type": name, "status": "True"} for name in conditions]
    return {"spec": spec, "status": {"conditions": reported, **({} if status is NOTHING else status)}}


def reserved(**spec: Json) -> Json:
    return workload("QuotaReserved", **spec)


def admitted(**spec: Json) -> Json:
    return workload("QuotaReserved", "Admitted", **spec)


def ref(kind: str, **name: str) -> Json:
    group = {"PriorityClass": "scheduling.k8s.io", "WorkloadPriorityClass": "kueue.x-k8s.io"}[kind]
    return {"group": group, "kind": kind, **name}


def levels(*labels: str) -> Json:
    return {"spec": {"levels": [{"nodeLabel": label} for label in labels]}}


WORKLOAD_CLASS = "kueue.x-k8s.io/workloadpriorityclass"
POD_CLASS = "scheduling.k8s.io/priorityclass"

CHANGES: list[tuple[type[CustomObject], Json, Json]] = [
    (v1beta2.Workload, reserved(), reserved(priorityClassRef=ref("PriorityClass", name="a"))),
    (v1beta2.Workload, workload(), workload(priorityClassRef=ref("PriorityClass", name="a"))),
    (
        v1beta2.Workload,
        *(reserved(priorityClassRef=ref(kind, name="a")) for kind in ("PriorityClass", "WorkloadPriorityClass")),
    ),
    (v1beta2.Workload, *(reserved(priorityClassRef=ref("PriorityClass", name=name)) for name in "ab")),
    (v1beta2.Workload, *(reserved(priorityClassRef=ref("WorkloadPriorityClass", name=name)) for name in "ab")),
    (v1beta2.Workload, *(reserved(priorityClassRef=ref("PriorityClass"), priority=number) for number in (1, 2))),
    (v1beta2.Workload, *(reserved(queueName=name) for name in "ab")),
    (v1beta2.Workload, workload(queueName="a"), reserved(queueName="b")),
    (v1beta2.Workload, reserved(), reserved(queueName="b")),
    (v1beta2.Workload, *(admitted(maximumExecutionTimeSeconds=time) for time in (1, 2))),
    (v1beta2.Workload, *(reserved(maximumExecutionTimeSeconds=time) for time in (1, 2))),
    (v1beta2.Workload, *(workload(status={"clusterName": name}) for name in "ab")),
    (v1beta2.Workload, workload(), workload(status={"clusterName": "a"})),
    (v1beta1.Workload, *(reserved(priorityClassSource=source) for source in (WORKLOAD_CLASS, POD_CLASS))),
    (v1beta1.Workload, *(workload(priorityClassSource=source) for source in (WORKLOAD_CLASS, POD_CLASS))),
    (v1beta1.Workload, *(reserved(priorityClassName=name, priorityClassSource=POD_CLASS) for name in "ab")),
    (v1beta1.Workload, *(reserved(priorityClassName=name, priorityClassSource=WORKLOAD_CLASS) for name in "ab")),
    (v1beta1.Topology, levels("a", "b"), levels("a", "b")),
]
"""Kind, object and former object, where the transcripts show a rule only kept or only broken."""


@cache
def known_sightings() -> dict[Rule, list[RuleCase]]:
    seen: dict[Rule, list[RuleCase]] = {rule: [] for rule in RULES}
    ours = (sighting for kind, value, old in CHANGES for sighting in sightings(value, schema_of(kind), old))
    for sighting in (*golden_sightings(), *ours):
        seen[sighting.rule].append(sighting)
    return seen


def every_domain_has_all_levels(workload: Json) -> bool:
    """Other topology assignments pass the schema of v1beta1 and have no form in v1beta2."""
    admission = workload.get("status", {}).get("admission", {})
    topologies = [each.get("topologyAssignment") for each in admission.get("podSetAssignments", ())]
    return all(
        len(domain["values"]) == len(topology["levels"])
        for topology in topologies
        if topology
        for domain in topology["domains"]
    )


# Tests


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_cel_and_python_agree_on_everything_known(rule: Rule) -> None:
    assert [sighting for sighting in known_sightings()[rule] if not sighting.agrees()] == []


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_every_rule_is_seen_kept_and_broken(rule: Rule) -> None:
    assert {sighting.holds for sighting in known_sightings()[rule]} == {True, False}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.path)
@given(data=st.data())
def test_cel_and_python_agree_on_generated_values(place: SchemaNode, data: st.DataObject) -> None:
    value = default(data.draw(json_for(place.schema)), place.schema)
    old = data.draw(st.one_of(st.just(NOTHING), edited(value, place.schema)))
    for sighting in sightings(value, place.schema, old):
        assert sighting.agrees(), sighting


@pytest.mark.parametrize("kind", v1beta1.__all__)
@given(data=st.data())
def test_they_agree_on_objects_that_were_stored_through_v1beta1(kind: str, data: st.DataObject) -> None:
    """API-75: such an object may lack what v1beta2 demands, and passes as long as that is left as it was."""
    source, target = schema_of(getattr(v1beta1, kind)), schema_of(getattr(v1beta2, kind))
    written = {**data.draw(json_for(source)), "apiVersion": V1BETA1, "kind": kind}
    assume(every_domain_has_all_levels(written))
    old = convert(default(written, source), V1BETA2)
    new = default(data.draw(edited(old, target)), target)
    assume(all(error.source == "cel" for error in validate(new, target, old)))
    for sighting in sightings(new, target, old):
        assert sighting.agrees(), sighting
