"""No definition and no object makes the server stumble, however odd."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from embedded.crds.definitions import crd, version
from kohort.api.fields import ROOT
from kohort.embedded.crds import default_crd, resources_of, shape, validate, validate_crd
from kohort.embedded.crds.keywords import keyword_problems
from kohort.embedded.crds.structure import structure_problems

Json = Any
LISTED = """
    type properties items additionalProperties required enum default nullable pattern format minimum maxLength allOf
    oneOf not multipleOf a rule message fieldPath metadata x-kubernetes-list-type x-kubernetes-list-map-keys
    x-kubernetes-validations x-kubernetes-embedded-resource x-kubernetes-int-or-string x-kubernetes-map-type
    x-kubernetes-preserve-unknown-fields
"""
WORDS = st.sampled_from(LISTED.split())
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS
TYPES = st.sampled_from(
    ["object", "array", "string", "integer", "number", "boolean", "map", "atomic", "self.a", "(", ".a"]
)
ODD = st.recursive(
    LEAVES | TYPES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=10,
)


@given(ODD)
def test_any_schema_is_accepted_or_refused(schema: Json) -> None:
    structure_problems(schema, ROOT)


@given(ODD, ODD, ODD)
def test_any_object_of_an_accepted_definition_is_accepted_or_refused(schema: Json, value: Json, old: Json) -> None:
    definition = default_crd(crd(version(spec=schema if isinstance(schema, dict) else {"type": "object"})))
    if not validate_crd(definition):
        resource = resources_of(definition)[0]
        head = {"apiVersion": "stable.example.com/v1", "kind": "Shirt", "metadata": value}
        shaped = shape(resource, {**head, "spec": value}).object
        validate(resource, shaped, None)
        validate(resource, shaped, {**head, "spec": old})


def test_keywords_have_values_of_their_kind() -> None:
    schema = {"type": 1, "properties": {"a": 5, "b": {"required": [1], "x-kubernetes-validations": [{"rule": 1}, 2]}}}
    assert [str(error.path) for error in keyword_problems(schema, ROOT / "s")] == [
        "s.type",
        "s.properties[a]",
        "s.properties[b].required[0]",
        "s.properties[b].x-kubernetes-validations[0].rule",
        "s.properties[b].x-kubernetes-validations[1]",
    ]


def test_schemas_that_nest_without_end_are_refused() -> None:
    schema: Json = {"type": "string"}
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    assert "must not nest deeper" in str(structure_problems({"type": "object", "properties": {"a": schema}}, ROOT)[0])
