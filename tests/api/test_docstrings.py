"""Every field has one description, in its struct; CRDs and reference pages take it from there."""

from collections.abc import Iterator

import pytest

from kohort.api.config import v1beta1 as config_v1beta1
from kohort.api.config import v1beta2 as config_v1beta2
from kohort.api.crds import property_text, without_rule_numbers
from kohort.api.docstrings import class_description, field_descriptions
from kohort.api.kinds import all_kinds
from kohort.api.kueue import v1beta1, v1beta2
from kohort.api.kueue.group import GROUP
from kohort.api.meta import ObjectMeta
from kohort.api.schema import Schema, schema_of

ROOTS = [*all_kinds(GROUP), config_v1beta1.Configuration, config_v1beta2.Configuration]


def test_inherited_fields_keep_their_text_unless_it_is_written_anew() -> None:
    inherited = field_descriptions(v1beta1.queues.FlavorFungibility)
    assert inherited["preference"] == field_descriptions(v1beta2.queues.FlavorFungibility)["preference"]
    assert inherited["when_can_borrow"] != field_descriptions(v1beta2.queues.FlavorFungibility)["when_can_borrow"]


def test_a_field_without_text_has_none() -> None:
    assert "metadata" not in field_descriptions(v1beta2.Cohort)


def test_a_struct_is_described_by_its_docstring() -> None:
    assert class_description(v1beta2.Cohort) == "A node of a tree in which ClusterQueues lend and borrow quota."


def test_rule_numbers_in_brackets_are_for_the_reference_only() -> None:
    assert without_rule_numbers("Leave it (API-24), or not (see API-3, API-4). (No rule)") == (
        "Leave it, or not. (No rule)"
    )


def fields_below(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    """Path and text of every field but an object's metadata, which API servers describe themselves."""
    for name, node in schema.properties.items():
        if node.struct is not ObjectMeta:
            yield f"{path}.{name}", property_text(schema, name)
            yield from fields_below(node, f"{path}.{name}")
    for node in filter(None, (schema.items, schema.additional)):
        yield from fields_below(node, path)


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: f"{root.__module__}.{root.__name__}")
def test_every_field_reports_what_it_is_for(root: type) -> None:
    assert [path for path, text in fields_below(schema_of(root), root.__name__) if not text] == []


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: f"{root.__module__}.{root.__name__}")
def test_every_text_is_one_line_that_ends_like_a_sentence(root: type) -> None:
    texts = [text for _path, text in fields_below(schema_of(root), root.__name__)]
    assert [text for text in texts if "\n" in text or not text.endswith(".")] == []
