"""Pruning, defaulting and validation by schema, on structs made for the purpose."""

from typing import Annotated, Any, ClassVar, Literal

import pytest

from kohort.api.markers import ATOMIC, SET, Bounds, Int32, OneOf, RawQuantity, Required, keyed
from kohort.api.meta import Time
from kohort.api.rules import Rule
from kohort.api.schema import schema_of
from kohort.api.struct import Struct, View
from kohort.api.structural import MISSING, default, plainly, prune, unknown_fields, validate, validate_status


class Leaf(Struct, kw_only=True):
    name: Annotated[str, Bounds(max_length=3)] = "dot"
    size: Annotated[Int32, Bounds(minimum=1)] | None = None


class Window(View):
    known: str = ""


class Tree(Struct, kw_only=True):
    kind_of_tree: Literal["oak", "fir"] = "oak"
    leaves: Annotated[tuple[Leaf, ...], keyed("name"), Bounds(max_items=2)] = ()
    tags: Annotated[tuple[str, ...], SET] = ()
    steps: Annotated[tuple[str, ...], ATOMIC, Bounds(min_items=1)] = ()
    crown: Leaf = Leaf()
    window: Window | None = None
    labels: dict[str, Annotated[str, Bounds(max_length=2)]] = {}
    weight: RawQuantity | None = None
    planted: Time | None = None
    loose: Annotated[str, OneOf(("a", "b")), Required()] = ""

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "API-5", "self.tags == oldSelf.tags", "tags are fixed", lambda new, old: new.get("tags") == old.get("tags")
        ),
    )


SCHEMA = schema_of(Tree)


def problems(value: Any, old: Any = MISSING) -> list[tuple[str, str]]:
    return [(str(error.path), error.kind.cause) for error in validate(value, SCHEMA, old)]


UNCHECKED = ("<nil>", "FieldValueInvalid")
NEITHER_NUMBER_NOR_TEXT = [
    ("weight", "FieldValueTypeInvalid"),
    ("<nil>", "FieldValueInvalid"),
    ("weight", "FieldValueTypeInvalid"),
    ("weight", "FieldValueInvalid"),
    UNCHECKED,
]
"""What a number that is not whole gets: neither type fits, the first does not, and it does not fit into 64 bits."""


class TestPruning:
    """API-3."""

    def test_unknown_fields_go_and_are_reported_with_their_path(self) -> None:
        value = {"loose": "a", "bogus": 1, "leaves": [{"name": "x", "colour": "red"}]}
        pruned, unknown = prune(value, SCHEMA)
        assert pruned == {"loose": "a", "leaves": [{"name": "x"}]}
        assert [str(path) for path in unknown] == ["bogus", "leaves[0].colour"]

    def test_unknown_fields_of_a_foreign_object_stay(self) -> None:
        value = {"window": {"known": "k", "stranger": {"deep": [1]}}}
        assert prune(value, SCHEMA) == (value, [])
        assert unknown_fields(value, Tree) == []

    @pytest.mark.parametrize(
        ("value", "left", "unknown"),
        [
            ({"loose": {"a": 1}}, {"loose": {}}, ["loose.a"]),
            ({"crown": [{"name": "x"}]}, {"crown": [{}]}, ["crown[0].name"]),
            ({"leaves": {"name": "x"}}, {"leaves": {}}, ["leaves.name"]),
            ({"tags": [{"a": 1}, "t"]}, {"tags": [{}, "t"]}, ["tags[0].a"]),
        ],
    )
    def test_where_the_type_is_wrong_every_field_is_unknown(self, value: Any, left: Any, unknown: list[str]) -> None:
        pruned, found = prune(value, SCHEMA)
        assert (pruned, [str(path) for path in found]) == (left, unknown)

    def test_a_null_counts_as_absent(self) -> None:
        assert prune({"crown": None, "labels": {"a": None}}, SCHEMA) == ({"labels": {}}, [])


class TestDefaulting:
    def test_defaults_are_filled_in_at_every_depth(self) -> None:
        assert default({"leaves": [{}]}, SCHEMA) == {
            "kindOfTree": "oak",
            "leaves": [{"name": "dot"}],
            "crown": {"name": "dot"},
        }

    def test_what_is_given_stays(self) -> None:
        value = {"kindOfTree": "fir", "crown": {"name": "x"}}
        assert default(value, SCHEMA) == value

    def test_the_original_is_not_touched(self) -> None:
        value: Any = {"leaves": [{}]}
        default(value, SCHEMA)
        assert value == {"leaves": [{}]}


class TestValidation:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ({"loose": "a", "kindOfTree": "elm"}, [("kindOfTree", "FieldValueNotSupported"), UNCHECKED]),
            ({}, [("loose", "FieldValueRequired"), UNCHECKED]),
            ({"loose": "c"}, [("loose", "FieldValueNotSupported"), UNCHECKED]),
            ({"loose": "a", "leaves": [{"name": n} for n in "abc"]}, [("leaves", "FieldValueTooMany"), UNCHECKED]),
            ({"loose": "a", "leaves": [{"name": "long"}]}, [("leaves[0].name", "FieldValueTooLong"), UNCHECKED]),
            ({"loose": "a", "leaves": [{"name": "x"}, {"name": "x"}]}, [("leaves[1]", "FieldValueDuplicate")]),
            ({"loose": "a", "tags": ["t", "t"]}, [("tags[1]", "FieldValueDuplicate")]),
            ({"loose": "a", "steps": []}, [("steps", "FieldValueInvalid")]),
            ({"loose": "a", "crown": {"size": 0}}, [("crown.size", "FieldValueInvalid")]),
            ({"loose": "a", "crown": {"size": 2**31}}, [("crown.size", "FieldValueInvalid")]),
            ({"loose": "a", "crown": {"size": "1"}}, [("crown.size", "FieldValueTypeInvalid"), UNCHECKED]),
            ({"loose": "a", "crown": {"size": True}}, [("crown.size", "FieldValueTypeInvalid"), UNCHECKED]),
            ({"loose": "a", "crown": []}, [("crown", "FieldValueTypeInvalid"), UNCHECKED]),
            ({"loose": "a", "labels": {"k": "long"}}, [("labels.k", "FieldValueTooLong"), UNCHECKED]),
            ({"loose": "a", "weight": "5x"}, [("weight", "FieldValueInvalid")]),
            ({"loose": "a", "weight": "1e2.5"}, [("weight", "FieldValueTypeInvalid"), UNCHECKED]),
            ({"loose": "a", "weight": 10**300}, NEITHER_NUMBER_NOR_TEXT),
            ({"loose": "a", "weight": 5.5}, NEITHER_NUMBER_NOR_TEXT),
            ({"loose": "a", "planted": "yesterday"}, [("planted", "FieldValueTypeInvalid"), UNCHECKED]),
            ({"loose": "a", "planted": "2026-01-31T12:00:00"}, [("planted", "FieldValueTypeInvalid"), UNCHECKED]),
            ({"loose": "a", "planted": "2026-01-31T12:00:00Z", "weight": "16Gi", "crown": {"size": 1.0}}, []),
        ],
    )
    def test_a_value_has_these_problems(self, value: Any, expected: list[tuple[str, str]]) -> None:
        assert problems(value) == expected

    def test_a_pattern_does_not_match_before_a_final_newline(self) -> None:
        assert problems({"loose": "a", "weight": "5\n"}) == [("weight", "FieldValueInvalid")]

    def test_a_wrong_type_where_some_texts_are_allowed_is_not_supported_either(self) -> None:
        assert problems({"loose": 3}) == [
            ("loose", "FieldValueTypeInvalid"),
            ("loose", "FieldValueNotSupported"),
            UNCHECKED,
        ]

    def test_a_repeated_item_is_reported_once_and_after_all_else(self) -> None:
        """API-5."""
        value = {"loose": "a", "tags": ["t", "t", "t"], "crown": {"size": 0}}
        assert problems(value) == [("crown.size", "FieldValueInvalid"), ("tags[1]", "FieldValueDuplicate")]

    def test_repeated_items_pass_where_some_were_repeated_before(self) -> None:
        old = {"loose": "a", "tags": ["t", "t"]}
        assert problems({**old, "leaves": [{"name": "x"}, {"name": "x"}]}, old) == []

    def test_only_objects_have_keys(self) -> None:
        assert problems({"loose": "a", "leaves": [{"name": "x"}, "x", "x"]})[:3] == [
            ("leaves", "FieldValueTooMany"),
            ("leaves[1]", "FieldValueTypeInvalid"),
            ("leaves[2]", "FieldValueTypeInvalid"),
        ]
        assert ("leaves[1]", "FieldValueInvalid") in problems({"loose": "a", "leaves": [{"name": "x"}, "x"]})

    def test_the_object_as_a_whole_is_always_judged(self) -> None:
        """API-75: what is required stays required, even if it was missing before."""
        assert problems({"kindOfTree": "fir"}, {"kindOfTree": "fir"}) == [("loose", "FieldValueRequired"), UNCHECKED]

    @pytest.mark.parametrize(
        ("time", "is_one"),
        [
            ("2026-01-31t12:00:00.5z", True),
            ("2026-01-31T12:00:00+99:99", True),
            ("0000-02-29T00:00:00Z", True),
            ("2026-02-29T00:00:00Z", False),
            ("2026-01-31T24:00:00Z", False),
            ("2026-01-31 12:00:00Z", False),
            ("20260131T120000Z", False),
        ],
    )
    def test_a_time_is_what_a_real_server_takes_for_one(self, time: str, is_one: bool) -> None:
        assert (problems({"loose": "a", "planted": time}) == []) == is_one

    def test_what_did_not_change_is_not_judged_again(self) -> None:
        """API-75: an object stored under looser rules stays editable."""
        old = {"loose": "zzz", "leaves": [{"name": "long"}, {"name": "x"}]}
        assert problems({**old, "kindOfTree": "fir"}, old) == []
        changed = {**old, "leaves": [{"name": "x"}, {"name": "long", "size": 1}]}
        assert problems(changed, old) == [], "items of a keyed list are followed by their key"
        assert problems({**old, "loose": "yyy"}, old) == [("loose", "FieldValueNotSupported"), UNCHECKED]

    def test_true_is_not_what_one_was(self) -> None:
        old = {"loose": "a", "crown": {"size": 1}}
        assert problems({"loose": "a", "crown": {"size": True}}, old) == [
            ("crown.size", "FieldValueTypeInvalid"),
            UNCHECKED,
        ]

    def test_a_rule_that_stumbles_over_what_was_stored_is_broken(self) -> None:
        assert problems({"loose": "a", "tags": ["t"]}, ["not", "an", "object"]) == [("<nil>", "FieldValueInvalid")]

    def test_a_rule_on_changes_needs_a_former_value(self) -> None:
        value = {"loose": "a", "tags": ["t"]}
        assert problems(value) == []
        assert problems(value, {"loose": "a"}) == [("<nil>", "FieldValueInvalid")]


class Plant(Struct, kw_only=True):
    spec: Leaf | None = None
    status: Leaf | None = None


class Pot(Struct, kw_only=True):
    size: int = 1
    lid: Annotated[Leaf | None, Rule("API-75", "false", "no lid fits", lambda _new, _old: False)] = None

    schema_rules: ClassVar[tuple[Rule, ...]] = (
        Rule("API-75", "self.size < 2", "too large", lambda new, _old: new["size"] < 2),
    )


def test_a_broken_rule_of_the_whole_object_is_reported_even_if_nothing_changed() -> None:
    """API-75."""
    value = {"size": 2, "lid": {}}
    assert [error.detail for error in validate(value, schema_of(Pot), value)] == ["too large"]


class TestStatusWrites:
    """API-4."""

    def test_the_rest_of_the_object_is_not_judged(self) -> None:
        value = {"spec": {"name": "long"}, "status": {"size": 1}}
        assert validate_status(value, schema_of(Plant), {"spec": {}}) == []

    def test_the_status_is_validated_at_its_path(self) -> None:
        (error,) = validate_status({"status": {"size": 0}}, schema_of(Plant), {"status": {"size": 1}})
        assert str(error.path) == "status.size"

    def test_a_status_that_did_not_change_is_not_judged_again(self) -> None:
        value = {"status": {"size": 0}}
        assert validate_status(value, schema_of(Plant), value) == []


def test_a_wrong_type_is_reported_once() -> None:
    errors = validate({"loose": 3, "weight": [1]}, SCHEMA)
    assert [str(error.path) for error in plainly(errors)] == ["loose", "weight"]
