"""Any value of the right type is accepted, and processing it twice gives the same as once."""

import copy
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.kinds.schema_strategies import objects
from kohort.embedded.kinds import (
    ReadObject,
    apply_defaults,
    builtin_resources,
    field_values,
    prepare_create,
    prepare_update,
    read_object,
    selectable,
    validate,
)
from kohort.embedded.resources import ServedResource
from kohort.embedded.tables import table

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize("resource", builtin_resources(), ids=lambda one: one.qualified)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_a_random_object_can_be_written_changed_and_shown(resource: ServedResource, data: st.DataObject) -> None:
    raw, other = data.draw(objects(resource)), data.draw(objects(resource))
    before = copy.deepcopy(raw)
    read = read_object(resource, raw)
    assert not read.unknown
    assert read_object(resource, read.object) == ReadObject(read.object)
    stored = prepare_create(resource, apply_defaults(resource, read.object))
    assert apply_defaults(resource, stored) == stored
    validate(resource, stored)
    changed = apply_defaults(resource, prepare_update(resource, other, stored))
    validate(resource, changed, stored)
    for subresource in resource.subresources:
        prepare_update(resource, other, stored, subresource.name)
    field_values(resource, stored, selectable(resource))
    answer = table(resource, [stored], NOW)
    assert len(answer["rows"][0]["cells"]) == len(answer["columnDefinitions"])
    assert raw == before
