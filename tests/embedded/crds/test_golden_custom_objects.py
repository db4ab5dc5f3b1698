"""Responses of a real API server to Kueue's objects, from the generic path: definitions as JSON, no Python rules.

The webhooks of Kueue are no part of an API server: a write that they refuse must pass here.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest

from kit.golden import admission as golden
from kohort.api.crds import WebhookService, definitions
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.admission import ObjectWrite, admit, read
from kohort.api.kueue.webhooks import mutate_on_create
from kohort.embedded.crds import ValidationResult, default_crd, resources_of, shape, validate, validate_status
from kohort.embedded.resources import ServedResource

Json = Any
WRITES = ("create", "update", "update-status")


@cache
def resources() -> dict[tuple[str, str], ServedResource]:
    found = (each for crd in definitions(WebhookService()) for each in resources_of(default_crd(crd)))
    return {(each.api_version, each.kind): each for each in found}


@cache
def cases() -> list[tuple[golden.AdmissionStep, ObjectWrite]]:
    return list(_cases())


def _cases() -> Iterator[tuple[golden.AdmissionStep, ObjectWrite]]:
    for name in golden.FILES:
        writes: list[ObjectWrite] = []

        def recorded(write: ObjectWrite, gates: Any, writes: list[ObjectWrite] = writes) -> Any:
            writes.append(write)
            return admit(write, gates)

        with patch.object(golden, "admit", recorded):
            answers = golden.replay.__wrapped__(name)
        yield from zip([each for each in answers if each.step["op"] in WRITES], writes, strict=True)


def parameters() -> list[Any]:
    return [
        pytest.param(answer, write, id=f"{answer.case}-{answer.step['op']}-{index}")
        for index, (answer, write) in enumerate(cases())
    ]


def as_written(value: Json, write: ObjectWrite, resource: ServedResource) -> Json:
    """A write to an object leaves its status alone, and the reverse; Kueue's webhook fills in defaults of its own."""
    old = {} if write.old is None else read(write.old, resource.api_version)
    if resource.subresource("status"):
        taken, kept = (old, value) if write.to_status else (value, old)
        value = {name: member for name, member in taken.items() if name != "status"}
        value |= {"status": kept["status"]} if "status" in kept else {}
    return value if write.old is not None else mutate_on_create(value, DEFAULT_GATES)


def judged(write: ObjectWrite) -> ValidationResult:
    resource = resources()[write.value["apiVersion"], write.value["kind"]]
    value = shape(resource, as_written(shape(resource, write.value).object, write, resource)).object
    if write.old is None:
        return validate(resource, value, None)
    old = shape(resource, read(write.old, resource.api_version)).object
    return (validate_status if write.to_status else validate)(resource, value, old)


def is_refused_for_unknown_fields(write: ObjectWrite) -> bool:
    resource = resources()[write.value["apiVersion"], write.value["kind"]]
    return write.field_validation == "Strict" and bool(shape(resource, write.value).unknown)


@pytest.mark.parametrize(("answer", "write"), parameters())
def test_a_write_gets_the_response_of_the_real_server(answer: golden.AdmissionStep, write: ObjectWrite) -> None:
    expected = [error for error in answer.expected.get("errors", ()) if error["source"] != "webhook"]
    if answer.expected["code"] == 400:
        assert is_refused_for_unknown_fields(write) or judged(write).errors or answer.expected["errors"]
        return
    found = judged(write)
    theirs = Counter((error["source"], error["field"], error["kind"]) for error in expected)
    ours = Counter((error.source, str(error.path), error.kind.cause) for error in found.errors)
    assert ours == golden.MERGED_ERRORS.get(answer.case, theirs), [str(error) for error in found.errors]


def test_defaults_are_those_of_the_real_server() -> None:
    for answer, write in cases():
        if answer.step["op"] == "create" and "object" in answer.expected and not answer.expected.get("warnings"):
            resource = resources()[write.value["apiVersion"], write.value["kind"]]
            shaped = shape(resource, answer.expected["object"])
            assert shaped.object == answer.expected["object"], answer.case
            assert not shaped.unknown
