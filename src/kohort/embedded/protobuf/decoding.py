"""Decodes a protobuf body to JSON.

Go encodes zero values of non-pointer fields and omits nil pointers; the field table distinguishes them, so that a zero
is kept only if it was set. A malformed body is rejected with one line.
"""

import struct
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from kohort.api.codec import Json, decode_json
from kohort.api.errors import DecodeError
from kohort.api.times import format_duration, format_micro_time, format_time
from kohort.embedded.protobuf.messages import Field, message, message_name
from kohort.embedded.protobuf.wire import BYTES, FIXED64, VARINT, Malformed, fields, signed, varint
from kohort.kube.errors import bad_request

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MAX_DEPTH = 64
_ZEROS: dict[str, Json] = {"s": "", "y": "", "i": 0, "b": False, "f": 0, "Q": "0", "I": 0, "D": "0s", "V": []}


def decode(body: bytes) -> dict[str, Json]:
    """The object in an envelope of `k8s\\0` and a `runtime.Unknown`; raises BadRequest otherwise."""
    try:
        return _decode(body)
    except Malformed as problem:
        raise bad_request(f"couldn't get version/kind; protobuf parse error: {problem}") from None


def _decode(body: bytes) -> dict[str, Json]:
    if not body.startswith(_MAGIC):
        raise Malformed("the body does not start with the bytes 'k8s' and zero")
    envelope = {number: value for number, _, value in fields(body[len(_MAGIC) :])}
    head = {number: _text(value) for number, _, value in fields(_chunk(envelope.get(1, b"")))}
    api_version, kind = head.get(1, ""), head.get(2, "")
    raw = _chunk(envelope.get(2, b""))
    if _text(envelope.get(3, b"")):
        raise Malformed("an encoded content is not supported: send it plain")
    content_type = _text(envelope.get(4, b""))
    if content_type == "application/json":
        return _whole(_json(raw), api_version, kind)
    name = message_name(api_version, kind)
    if message(name) is None:
        raise bad_request(f'no kind "{kind}" is registered for version "{api_version}" in protobuf: send it as JSON')
    return _whole(_message(raw, name, 0), api_version, kind)


def _whole(obj: Json, api_version: str, kind: str) -> dict[str, Json]:
    if not isinstance(obj, dict):
        raise Malformed("the content is no object")
    return {"apiVersion": api_version, "kind": kind, **obj}


def _message(data: bytes, name: str, depth: int) -> dict[str, Json]:
    known = message(name)
    if known is None or depth > _MAX_DEPTH:
        raise Malformed(f"nothing is known of the message {name}")
    found: dict[str, Json] = {}
    for number, kind, value in fields(data):
        field = known.get(number)
        if field is not None:
            _add(found, field, kind, value, depth)
    return found


def _add(found: dict[str, Json], field: Field, kind: int, value: int | bytes, depth: int) -> None:
    if field.is_map:
        key, inner = _entry(_chunk(value), field, depth)
        found.setdefault(field.name, {})[key] = inner
    elif field.is_list:
        found.setdefault(field.name, []).extend(_items(field, kind, value, depth))
    elif not field.name:
        found.update(_message(_chunk(value), field.message, depth + 1))
    else:
        single = _single(field, kind, value, depth)
        if single is None or (field.drops_zero and single in ("", 0, False)):
            found.pop(field.name, None)
        else:
            found[field.name] = single


def _items(field: Field, kind: int, value: int | bytes, depth: int) -> list[Json]:
    """List items; numbers may be packed."""
    if field.kind != "i" or kind != BYTES:
        return [_single(field, kind, value, depth)]
    data, place, numbers = _chunk(value), 0, []
    while place < len(data):
        number, place = varint(data, place)
        numbers.append(signed(number))
    return numbers


def _entry(data: bytes, field: Field, depth: int) -> tuple[str, Json]:
    key, inner = "", _ZEROS.get(field.kind, {})
    for number, kind, value in fields(data):
        if number == 1:
            key = _text(value)
        elif number == 2:
            inner = _single(field, kind, value, depth)
    return key, inner


def _single(field: Field, kind: int, value: int | bytes, depth: int) -> Json:
    if field.kind == "m":
        return _message(_chunk(value), field.message, depth + 1)
    if field.kind in "ib":
        if kind != VARINT or not isinstance(value, int):
            raise Malformed(f"wrong wireType = {kind} for field {field.name}")
        return signed(value) if field.kind == "i" else bool(value)
    if field.kind == "f":
        return _float(kind, value, field)
    return _READERS[field.kind](_chunk(value))


def _chunk(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise Malformed("wrong wireType = 0 where bytes belong")
    return value


def _text(value: int | bytes) -> str:
    try:
        return _chunk(value).decode()
    except UnicodeDecodeError:
        raise Malformed("a text is no UTF-8") from None


def _float(kind: int, value: int | bytes, field: Field) -> float:
    if kind != FIXED64 or not isinstance(value, int):
        raise Malformed(f"wrong wireType = {kind} for field {field.name}")
    number: float = struct.unpack("<d", value.to_bytes(8, "little"))[0]
    if number - number != 0:
        raise Malformed(f"field {field.name} is no finite number")
    return number


def _json(data: bytes) -> Json:
    if not data:
        return None
    try:
        return decode_json(data)
    except DecodeError as problem:
        raise Malformed(str(problem)) from None


def _numbers(data: bytes) -> dict[int, int]:
    """A message of integers only."""
    return {number: signed(value) for number, _, value in fields(data) if isinstance(value, int)}


def _moment(data: bytes) -> datetime | None:
    parts = _numbers(data)
    seconds, nanos = parts.get(1, 0), parts.get(2, 0)
    if not seconds and not nanos:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise Malformed("a time lies outside the years 1 to 9999") from None


def _time(data: bytes) -> Json:
    moment = _moment(data)
    return None if moment is None else format_time(moment)


def _micro_time(data: bytes) -> Json:
    moment = _moment(data)
    return None if moment is None else format_micro_time(moment)


def _int_or_string(data: bytes) -> Json:
    parts: dict[int, Any] = {number: value for number, _, value in fields(data)}
    if parts.get(1):
        return _text(parts.get(3, b""))
    number = parts.get(2, 0)
    if not isinstance(number, int):
        raise Malformed("wrong wireType = 2 for field intVal")
    return signed(number)


def _quantity(data: bytes) -> Json:
    texts = [_text(value) for number, _, value in fields(data) if number == 1]
    return (texts[-1] if texts else "") or "0"


def _raw(data: bytes) -> Json:
    chunks = [_chunk(value) for number, _, value in fields(data) if number == 1]
    return _json(chunks[-1]) if chunks else None


_READERS: dict[str, Callable[[bytes], Json]] = {
    "s": _text,
    "y": lambda data: b64encode(data).decode(),
    "Q": _quantity,
    "I": _int_or_string,
    "T": _time,
    "U": _micro_time,
    "D": lambda data: format_duration(_numbers(data).get(1, 0)),
    "R": _raw,
    "V": lambda data: [_text(value) for number, _, value in fields(data) if number == 1],
}
