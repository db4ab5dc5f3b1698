"""Protobuf bodies become the JSON that Go's own encoder writes for the same objects, or are refused in one line."""

from base64 import b64decode
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.codec import decode_json
from kohort.embedded.kinds import builtin_resources, read_object
from kohort.embedded.protobuf import decode
from kohort.embedded.protobuf.messages import message, message_name
from kohort.kube.errors import StatusError

RECORDED = decode_json(Path(__file__).with_name("recorded_bodies.json").read_bytes())
BODIES = [b64decode(one["body"]) for one in RECORDED]
WITHOUT_PROTOBUF = {"CustomResourceDefinition", "APIService"}


def tag(number: int, kind: int) -> bytes:
    return varint(number << 3 | kind)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def part(number: int, value: bytes | str | int) -> bytes:
    """One field of a message."""
    if isinstance(value, int):
        return tag(number, 0) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return tag(number, 2) + varint(len(data)) + data


def body(api_version: str, kind: str, raw: bytes, *more: bytes) -> bytes:
    return b"k8s\x00" + part(1, part(1, api_version) + part(2, kind)) + part(2, raw) + b"".join(more)


def refusal(data: bytes) -> str:
    with pytest.raises(StatusError) as caught:
        decode(data)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    return str(caught.value)


@pytest.mark.parametrize(
    "one", RECORDED, ids=[f"{one['object']['apiVersion']}.{one['object']['kind']}" for one in RECORDED]
)
def test_a_body_equals_that_of_gos_json(one: dict[str, Any]) -> None:
    assert decode(b64decode(one["body"])) == one["object"]


@pytest.mark.parametrize("resource", builtin_resources(), ids=lambda one: one.qualified)
def test_every_built_in_kind_is_in_the_table_with_the_names_of_its_schema(resource: Any) -> None:
    if resource.kind in WITHOUT_PROTOBUF:
        return
    fields = message(message_name(resource.api_version, resource.kind))
    assert fields is not None
    assert {field.name for field in fields.values()} <= set(resource.schema.properties)


def test_a_zero_that_was_meant_stays_and_one_that_was_not_does_not_appear() -> None:
    pods = part(2, part(2, part(1, "main") + part(2, "") + part(16, 0)) + part(4, 0))
    spec = part(1, 0) + part(10, 0) + part(6, pods)
    job = decode(body("batch/v1", "Job", part(2, spec)))
    assert job["spec"]["parallelism"] == 0
    assert job["spec"]["suspend"] is False
    inner = job["spec"]["template"]["spec"]
    assert inner == {"containers": [{"name": "main"}], "terminationGracePeriodSeconds": 0}


def test_small_languages_are_supported() -> None:
    moment = part(1, 1_769_860_800)
    heading = part(1, "e") + part(8, moment) + part(11, part(1, "a") + part(2, "b"))
    event = decode(body("v1", "Event", part(1, heading) + part(8, 3) + part(10, moment + part(2, 5000))))
    assert event["metadata"] == {"name": "e", "creationTimestamp": "2026-01-31T12:00:00Z", "labels": {"a": "b"}}
    assert event["count"] == 3
    assert event["eventTime"] == "2026-01-31T12:00:00.000005Z"
    quota = decode(body("v1", "ResourceQuota", part(2, part(1, part(1, "cpu") + part(2, part(1, "500m"))))))
    assert quota["spec"] == {"hard": {"cpu": "500m"}}
    secret = decode(body("v1", "Secret", part(2, part(1, "k") + part(2, b"\x00\xff"))))
    assert secret["data"] == {"k": "AP8="}
    budget = decode(body("policy/v1", "PodDisruptionBudget", part(2, part(1, part(1, 1) + part(3, "50%")))))
    assert budget["spec"] == {"minAvailable": "50%"}


def test_negative_numbers_survive() -> None:
    assert decode(body("scheduling.k8s.io/v1", "PriorityClass", part(2, -5)))["value"] == -5


def test_json_may_come_in_the_envelope_too() -> None:
    assert decode(body("v1", "Pod", b'{"a":1}', part(4, "application/json"))) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "a": 1,
    }


def test_options_of_a_delete_belong_to_every_group() -> None:
    options = decode(body("batch/v1", "DeleteOptions", part(1, 0) + part(4, "Foreground")))
    assert (options["gracePeriodSeconds"], options["propagationPolicy"]) == (0, "Foreground")


def test_fields_of_newer_clients_are_passed_over() -> None:
    assert decode(body("v1", "ConfigMap", part(999, "new") + part(2, part(1, "a") + part(2, "b"))))["data"] == {
        "a": "b"
    }


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "does not start"),
        (b'{"kind":"Pod"}', "does not start"),
        (b"k8s\x00\x0a\xff", "unexpected EOF"),
        (b"k8s\x00" + b"\xff" * 11, "integer overflow"),
        (b"k8s\x00\x07", "illegal"),
        (body("v1", "Pod", b"\x0a\x05ab"), "unexpected EOF"),
        (body("v1", "ConfigMap", part(2, 7)), "wireType"),
        (body("v1", "ConfigMap", part(2, part(1, b"\xff"))), "UTF-8"),
        (body("x.io/v1", "Thing", b""), 'no kind "Thing" is registered for version "x.io/v1"'),
        (body("v1", "Pod", b"[]", part(4, "application/json")), "no object"),
        (body("v1", "Pod", b"{", part(4, "application/json")), "not valid JSON"),
        (body("v1", "Pod", part(1, part(8, part(1, 2**62)))), "years 1 to 9999"),
    ],
)
def test_anything_else_is_refused_in_one_line(data: bytes, words: str) -> None:
    output = refusal(data)
    assert words in output
    assert "\n" not in output


@given(st.sampled_from(BODIES), st.data())
def test_damage_never_gets_past_a_bad_request(original: bytes, data: st.DataObject) -> None:
    cut = data.draw(st.integers(4, len(original)))
    place = data.draw(st.integers(4, len(original) - 1))
    damaged = bytearray(original)
    damaged[place] = data.draw(st.integers(0, 255))
    for bad in (original[:cut], bytes(damaged), b"k8s\x00" + data.draw(st.binary(max_size=60))):
        with suppress(StatusError):
            assert isinstance(decode(bad), dict)


@pytest.mark.parametrize(
    "one", RECORDED, ids=[f"{one['object']['apiVersion']}.{one['object']['kind']}" for one in RECORDED]
)
def test_a_decoded_object_has_no_fields_outside_its_kind(one: dict[str, Any]) -> None:
    obj = one["object"]
    known = {resource.kind: resource for resource in builtin_resources() if resource.api_version == obj["apiVersion"]}
    resource = known.get(obj["kind"])
    if resource is not None:
        with suppress(StatusError):  # random quantities and times need not make sense
            assert not read_object(resource, obj).unknown
