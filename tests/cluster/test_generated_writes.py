"""Objects made from our schemas, whole and spoiled: a real API server refuses and completes them as we do."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from api.schema_strategies import edited, json_for
from cluster.client import JsonClient
from cluster.mutations import spoiled
from cluster.write_results import kohort_result, server_result
from kohort.api.kinds import CustomObject, all_kinds, kind_of
from kohort.api.kueue.admission import ObjectWrite, read
from kohort.api.kueue.conversion import V1BETA2, convert
from kohort.api.kueue.group import GROUP
from kohort.api.schema import schema_of

Json = Any
Kind = type[CustomObject]

KINDS = all_kinds(GROUP)
FEWER = settings(max_examples=max(10, settings().max_examples // 3))
"""There are many kinds, and every example is some requests."""
WITH_STATUS = [kind for kind in KINDS if kind.info.has_status]


def name(kind: Kind) -> str:
    return f"{kind.info.resource.kind}-{kind.info.resource.version}"


pytestmark = pytest.mark.usefixtures("kueue")


def whole(kind: Kind) -> st.SearchStrategy[Json]:
    """Objects of a kind that mostly obey its schema."""
    resource = kind.info.resource
    head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "generated"}}
    return json_for(schema_of(kind)).map(lambda drawn: {**drawn, **head})


def changed(kind: Kind, value: Json) -> st.SearchStrategy[Json]:
    """The object after an edit, good or bad; never another object."""
    head = {name: value[name] for name in ("apiVersion", "kind", "metadata")}
    return st.one_of(edited(value, schema_of(kind)).map(lambda drawn: {**drawn, **head}), spoiled(value))


def stored(data: st.DataObject, kind: Kind) -> Json:
    """An object that the server has taken, in the version in which it lies there, status included."""
    hub = kind_of(V1BETA2, kind.info.resource.kind)
    assert hub is not None
    value = data.draw(whole(hub), "stored")
    created = kohort_result(ObjectWrite(value))
    assume(created.code == 201)
    if not hub.info.has_status or "status" not in value:
        return {**created.object, "metadata": value["metadata"]}
    complete = kohort_result(ObjectWrite(value, {**created.object, "metadata": value["metadata"]}, to_status=True))
    assume(complete.code == 200)
    return {**complete.object, "metadata": value["metadata"]}


@pytest.mark.parametrize("kind", KINDS, ids=name)
@FEWER
@given(data=st.data())
def test_a_new_object_gets_the_same_response(admin: JsonClient, kind: Kind, data: st.DataObject) -> None:
    value = data.draw(whole(kind))
    write = ObjectWrite(data.draw(st.one_of(st.just(value), spoiled(value)), "written"))
    assert kohort_result(write) == server_result(admin, write)


@pytest.mark.parametrize("kind", KINDS, ids=name)
@FEWER
@given(data=st.data())
def test_a_change_gets_the_same_response(admin: JsonClient, kind: Kind, data: st.DataObject) -> None:
    old = stored(data, kind)
    seen = read(convert(old, V1BETA2), kind.info.resource.api_version)
    write = ObjectWrite(data.draw(changed(kind, seen), "written"), old)
    assert kohort_result(write) == server_result(admin, write)


@pytest.mark.parametrize("kind", WITH_STATUS, ids=name)
@FEWER
@given(data=st.data())
def test_a_change_of_the_status_gets_the_same_response(admin: JsonClient, kind: Kind, data: st.DataObject) -> None:
    old = stored(data, kind)
    seen = {"status": {}, **read(convert(old, V1BETA2), kind.info.resource.api_version)}
    write = ObjectWrite(data.draw(changed(kind, seen), "written"), old, to_status=True)
    assert kohort_result(write) == server_result(admin, write)
