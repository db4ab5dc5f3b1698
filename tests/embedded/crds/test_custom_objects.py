"""Custom objects brought into shape and judged, as a real API server does."""

from typing import Any

import pytest

from embedded.crds.definitions import crd, version
from kohort.embedded.crds import ValidationResult, resources_of, shape, validate, validate_status
from kohort.embedded.resources import ServedResource

Json = Any
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def obj(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


def listed(items: Json, **more: Json) -> Json:
    return {"type": "array", "items": items, **more}


def kind(spec: Json, **more: Json) -> ServedResource:
    return resources_of(crd(version(spec=spec, **more)))[0]


def shirt(spec: Json, **metadata: Json) -> Json:
    return {"apiVersion": "stable.example.com/v1", "kind": "Shirt", "metadata": {"name": "a", **metadata}, "spec": spec}


def shaped(schema: Json, spec: Json) -> Json:
    return shape(kind(schema), shirt(spec)).object["spec"]


def texts(verdict: ValidationResult) -> list[str]:
    return [str(error) for error in verdict.errors]


def refused(schema: Json, spec: Json, old: Json = None) -> list[str]:
    return texts(validate(kind(schema), shirt(spec), None if old is None else shirt(old)))


# Shape


def test_unknown_fields_are_dropped_and_reported() -> None:
    made = shape(kind(obj(a=obj(b=TEXT))), {**shirt({"a": {"b": "x", "c": 1}, "d": 1}, mood="good"), "e": 1})
    assert made.object == shirt({"a": {"b": "x"}})
    assert [str(path) for path in made.unknown] == ["metadata.mood", "spec.a.c", "spec.d", "e"]


def test_what_is_to_be_kept_is_kept_and_what_is_known_below_is_still_pruned() -> None:
    schema = {**obj(known=obj(a=TEXT)), **OPEN}
    assert shaped(schema, {"x": {"y": 1}, "known": {"a": "b", "z": 1}}) == {"x": {"y": 1}, "known": {"a": "b"}}
    assert shaped({"type": "object", "additionalProperties": obj(a=TEXT)}, {"k": {"a": "x", "b": 1}}) == {
        "k": {"a": "x"}
    }


def test_items_are_shaped_too() -> None:
    assert shaped(obj(a=listed(obj(b=TEXT))), {"a": [{"b": "x", "c": 1}]}) == {"a": [{"b": "x"}]}


def test_absent_members_get_their_default_and_defaults_theirs() -> None:
    inner = obj(n={**NUMBER, "default": 3})
    assert shaped(obj(a={**inner, "default": {}}, b=inner), {}) == {"a": {"n": 3}}


def test_a_null_is_dropped_or_defaulted_unless_it_is_allowed() -> None:
    schema = obj(a=TEXT, b={**TEXT, "default": "x"}, c={**TEXT, "nullable": True})
    assert shaped(schema, {"a": None, "b": None, "c": None}) == {"b": "x", "c": None}


def test_one_default_is_not_shared_by_two_objects() -> None:
    schema = obj(a={"type": "object", "default": {"x": []}, **OPEN})
    shaped(schema, {})["a"]["x"].append(1)
    assert shaped(schema, {}) == {"a": {"x": []}}


def test_a_resource_within_a_resource_keeps_its_head() -> None:
    embedded = {**obj(spec=obj(a=TEXT)), "x-kubernetes-embedded-resource": True}
    inner = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x", "labels": {"a": "b"}}, "spec": {"a": "b"}}
    assert shaped(obj(t=embedded), {"t": {**inner, "other": 1}}) == {"t": inner}


# Schema


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (TEXT, 1, '"integer": spec.a in body must be of type string: "integer"'),
        ({"type": "boolean"}, "true", '"string": spec.a in body must be of type boolean: "string"'),
        ({"x-kubernetes-int-or-string": True}, True, 'spec.a in body must be of type integer,string: "boolean"'),
        ({**NUMBER, "minimum": 1}, 0, "Invalid value: 0: spec.a in body should be greater than or equal to 1"),
        (
            {**NUMBER, "maximum": 5, "exclusiveMaximum": True},
            5,
            "Invalid value: 5: spec.a in body should be less than 5",
        ),
        ({"type": "number", "multipleOf": 0.5}, 0.7, "Invalid value: 0.7: spec.a in body should be a multiple of 0.5"),
        ({**TEXT, "maxLength": 2}, "abc", "Too long: may not be more than 2 bytes"),
        ({**TEXT, "minLength": 2}, "a", 'Invalid value: "a": spec.a in body should be at least 2 chars long'),
        ({**TEXT, "pattern": "^b"}, "a", "Invalid value: \"a\": spec.a in body should match '^b'"),
        ({**TEXT, "enum": ["b", "c"]}, "a", 'Unsupported value: "a": supported values: "b", "c"'),
        ({**NUMBER, "enum": [1, 2]}, 3, 'Unsupported value: 3: supported values: "1", "2"'),
        ({**TEXT, "format": "date-time"}, "today", 'spec.a in body must be of type date-time: "today"'),
        (listed(TEXT, maxItems=1), ["a", "b"], "Too many: 2: must have at most 1 item"),
        (listed(TEXT, minItems=1), [], "Invalid value: 0: spec.a in body should have at least 1 items"),
        ({**obj(), "minProperties": 1}, {}, "Invalid value: 0: spec.a in body should have at least 1 properties"),
    ],
)
def test_a_value_that_the_schema_does_not_allow_is_refused(schema: Json, value: Json, expected: str) -> None:
    (found,) = refused(obj(a=schema), {"a": value})
    assert found.startswith("spec.a: ")
    assert expected in found


def test_a_missing_required_member_is_reported_with_its_path() -> None:
    (error,) = validate(kind(obj(a={**obj(b=TEXT), "required": ["b"]})), shirt({"a": {}}), None).errors
    assert (str(error.path), error.kind.cause) == ("spec.a.b", "FieldValueRequired")


@pytest.mark.parametrize(
    ("combination", "value", "expected"),
    [
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": "x"}, []),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": "x", "b": "y"},
            ['"spec" must validate one and only one schema (oneOf). Found 2 valid alternatives'],
        ),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            ['"spec" must validate at least one schema (anyOf)', ""],
        ),
        ({"not": {"required": ["a"]}}, {"a": "x"}, ['"spec" must not validate the schema (not)']),
        (
            {"allOf": [{"properties": {"a": {"minLength": 3}}}]},
            {"a": "x"},
            [
                '"spec" must validate all the schemas (allOf). None validated',
                "spec.a in body should be at least 3 chars long",
            ],
        ),
    ],
)
def test_schemas_combine(combination: Json, value: Json, expected: list[str]) -> None:
    verdict = validate(kind({**obj(a=TEXT, b=TEXT), **combination}), shirt(value), None)
    assert [error.detail for error in verdict.errors] == expected


def test_sets_and_maps_hold_nothing_twice() -> None:
    schema = obj(
        s=listed(NUMBER, **{"x-kubernetes-list-type": "set"}),
        m=listed(obj(k=TEXT, v=TEXT), **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}),
    )
    verdict = validate(kind(schema), shirt({"s": [1, 2, 1], "m": [{"k": "a", "v": "1"}, {"k": "a", "v": "2"}]}), None)
    assert [(str(error.path), error.kind.cause) for error in verdict.errors] == [
        ("spec.s[2]", "FieldValueDuplicate"),
        ("spec.m[1]", "FieldValueDuplicate"),
    ]


def test_an_embedded_resource_needs_a_head() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, **OPEN}
    found = refused(obj(t=embedded), {"t": {"metadata": {"name": "No Name"}}})
    assert [text.partition(":")[0] for text in found] == ["spec.t.apiVersion", "spec.t.kind", "spec.t.metadata.name"]


def test_replica_counts_are_not_negative() -> None:
    paths = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    verdict = validate(kind(obj(n=NUMBER), subresources={"scale": paths}), shirt({"n": -1}), None)
    assert texts(verdict) == [".spec.n: Invalid value: -1: should be a non-negative integer"]


# Rules


def ruled(schema: Json, *rules: str | Json) -> Json:
    listed_rules = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return {**schema, "x-kubernetes-validations": listed_rules}


def test_a_broken_rule_is_reported_with_its_path() -> None:
    schema = obj(a=ruled(NUMBER, "self < 3"), m={"type": "object", "additionalProperties": ruled(TEXT, "self != ''")})
    assert refused(schema, {"a": 5, "m": {"k": ""}}) == [
        "spec.a: Invalid value: 5: failed rule: self < 3",
        "spec.m[k]: Invalid value: \"\": failed rule: self != ''",
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"message": "no"}, "spec: Invalid value: no"),
        ({"messageExpression": "'is ' + string(self.a)"}, "spec: Invalid value: is 5"),
        ({"messageExpression": "self.zz", "message": "no"}, "spec: Invalid value: no"),
        ({"fieldPath": ".a", "message": "no"}, "spec.a: Invalid value: no"),
        ({"reason": "FieldValueForbidden", "message": "no"}, "spec: Forbidden: no"),
        ({"reason": "FieldValueRequired", "message": "no"}, "spec: Required value: no"),
    ],
)
def test_a_rule_reports_what_and_where(rule: Json, expected: str) -> None:
    assert refused(ruled(obj(a=NUMBER), {"rule": "self.a < 3", **rule}), {"a": 5}) == [expected]


def test_a_rule_that_fails_is_broken_and_reports_why() -> None:
    assert refused(ruled(obj(a=NUMBER), {"rule": "self.a > 1", "message": "a"}), {}) == [
        'spec: Invalid value: "object": no such key: a evaluating rule: a'
    ]
    (found,) = refused(obj(a=ruled({"x-kubernetes-int-or-string": True}, "self > 1")), {"a": "x"})
    assert "'no such overload': call arguments did not match a supported operator" in found


def test_values_have_the_types_of_their_schema() -> None:
    schema = ruled(
        obj(
            t={**TEXT, "format": "date-time"},
            d={**TEXT, "format": "duration"},
            n={"type": "number"},
            b={**TEXT, "format": "byte"},
            namespace=TEXT,
            **{"a-b.c": TEXT},
        ),
        "self.t < timestamp('2030-01-01T00:00:00Z')",
        "self.d.getMinutes() == 2",
        "self.n / 2.0 == 1.5",
        "size(self.b) == 2",
        "self.__namespace__ == 'x' && self.a__dash__b__dot__c == 'y'",
    )
    value = {"t": "2026-01-01T00:00:00Z", "d": "2m", "n": 3, "b": "YWI=", "namespace": "x", "a-b.c": "y"}
    assert refused(schema, value) == []


def test_sets_are_equal_in_any_order_and_maps_merge_by_key() -> None:
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    schema = ruled(
        obj(s=listed(TEXT, **{"x-kubernetes-list-type": "set"}), m=listed(obj(k=TEXT, v=NUMBER), **keyed)),
        "self.s == ['b', 'a'] && (self.s + ['a']).size() == 2",
        "(self.m + [{'k': 'x', 'v': 9}]).map(e, e.v) == [9, 2]",
    )
    assert refused(schema, {"s": ["a", "b"], "m": [{"k": "x", "v": 1}, {"k": "y", "v": 2}]}) == []


def test_rules_of_a_whole_object_see_its_head() -> None:
    schema = ruled(
        {"type": "object", "properties": {"spec": obj()}}, "self.metadata.name == 'b' && self.kind == 'Shirt'"
    )
    resource = resources_of(crd(version(schema={"openAPIV3Schema": schema})))[0]
    assert len(validate(resource, shirt({}), None).errors) == 1


def test_rules_wait_while_the_schema_refuses() -> None:
    found = refused(obj(a=ruled(NUMBER, "self < 3"), b={**TEXT, "enum": ["x"]}), {"a": 5, "b": "y"})
    assert len(found) == 2
    assert found[1].startswith("<nil>: Invalid value: null: some validation rules were not checked")


def test_a_rule_that_costs_too_much_ends_the_check() -> None:
    loops = "self.all(a, self.all(b, self.all(c, a + b + c > 0)))"
    (found,) = refused(obj(a=ruled(listed(NUMBER), loops, "false")), {"a": list(range(1, 300))})[:1]
    assert "no further validation rules will be run due to call cost exceeds limit" in found


# Changes


def test_a_transition_rule_compares_with_the_former_value() -> None:
    schema = obj(a=ruled(NUMBER, "self >= oldSelf"))
    assert refused(schema, {"a": 1}) == []
    assert refused(schema, {"a": 1}, {}) == []
    assert refused(schema, {"a": 2}, {"a": 1}) == []
    assert len(refused(schema, {"a": 0}, {"a": 1})) == 1


def test_a_rule_may_take_a_former_value_that_is_not_there() -> None:
    rule = {"rule": "oldSelf.hasValue() || self == 1", "optionalOldSelf": True}
    schema = obj(a=ruled(NUMBER, rule))
    assert refused(schema, {"a": 1}) == []
    assert len(refused(schema, {"a": 2})) == 1
    assert refused(schema, {"a": 2}, {"a": 1}) == []


def test_items_are_compared_by_their_keys() -> None:
    item = ruled(obj(k=TEXT, v=NUMBER), "self.v >= oldSelf.v")
    schema = obj(m=listed(item, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}))
    old = {"m": [{"k": "a", "v": 5}, {"k": "b", "v": 1}]}
    assert refused(schema, {"m": [{"k": "b", "v": 2}, {"k": "a", "v": 5}, {"k": "c", "v": 0}]}, old) == []
    assert len(refused(schema, {"m": [{"k": "b", "v": 0}, {"k": "a", "v": 5}]}, old)) == 1


def test_what_has_not_changed_is_not_judged_again() -> None:
    schema = obj(a={**TEXT, "maxLength": 2}, b=TEXT)
    assert refused(schema, {"a": "abc", "b": "new"}, {"a": "abc", "b": "old"}) == []
    assert len(refused(schema, {"a": "abcd"}, {"a": "abc"})) == 1
    assert len(refused(schema, {"a": "abc"}, {})) == 1


def test_items_without_identity_are_unchanged_only_together() -> None:
    schema = obj(l=listed({**TEXT, "maxLength": 1}), b=TEXT)
    assert refused(schema, {"l": ["ab"], "b": "new"}, {"l": ["ab"]}) == []
    assert len(refused(schema, {"l": ["ab", "c"]}, {"l": ["ab"]})) == 1


def test_a_rule_broken_by_what_has_not_changed_is_a_warning() -> None:
    resource = kind(obj(a=ruled(NUMBER, "self < 3"), b=TEXT))
    verdict = validate(resource, shirt({"a": 5, "b": "new"}), shirt({"a": 5, "b": "old"}))
    assert verdict.errors == ()
    assert verdict.warnings == ("spec.a: Invalid value: 5: failed rule: self < 3",)


def test_a_set_that_held_something_twice_may_go_on_so() -> None:
    schema = obj(s=listed(NUMBER, **{"x-kubernetes-list-type": "set"}))
    assert refused(schema, {"s": [1, 1, 2]}, {"s": [1, 1]}) == []


def test_a_write_to_the_status_is_judged_by_the_status_alone() -> None:
    schema = {"type": "object", "properties": {"spec": obj(a={**TEXT, "maxLength": 1}), "status": obj(n=NUMBER)}}
    resource = resources_of(crd(version(schema={"openAPIV3Schema": schema}, subresources={"status": {}})))[0]
    old = {**shirt({"a": "x"}), "status": {}}
    verdict = validate_status(resource, {**shirt({"a": "too long"}), "status": {"n": "x"}}, old)
    assert [(str(error.path), error.detail) for error in verdict.errors] == [
        ("status.n", 'n in body must be of type integer: "string"')
    ]
