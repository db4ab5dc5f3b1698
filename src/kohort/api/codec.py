"""Bytes and JSON values to typed structs and back.

Decoding checks types only: what is stored is readable even where today's rules would refuse it. A `null` counts as
absent, as it does for the API server; it is looked for only when the fast path fails.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from kohort.api.errors import DecodeError

T = TypeVar("T")

Json = Any
"""What `json.loads` gives: dicts, lists, texts, numbers, booleans and None."""

JsonObject = dict[str, Json]
"""A JSON object, such as an API object whose kind has no struct; one that came from a cache must not be changed."""

JsonMapping = Mapping[str, Json]
"""A JSON object that is only read."""


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder of a type, made once: making one costs more than using it."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    return decoder


_encoder = msgspec.json.Encoder()


def decode(data: bytes | memoryview | msgspec.Raw, kind: type[T]) -> T:
    """Read one typed object from JSON bytes."""
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError as error:
        return _decode_without_nulls(data, kind, error)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise DecodeError(f"not valid JSON: {error}") from None


def _decode_without_nulls(data: bytes | memoryview | msgspec.Raw, kind: type[T], first: Exception) -> T:
    value = decode_json(data)
    cleaned = without_nulls(value)
    if cleaned == value:
        raise DecodeError(str(first)) from None
    return from_json(cleaned, kind)


def decode_json(data: bytes | memoryview | msgspec.Raw) -> Json:
    """Read JSON bytes into plain dicts and lists."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise DecodeError(f"not valid JSON: {error}") from None


def from_json(value: Json, kind: type[T]) -> T:
    """Give a plain JSON value its type."""
    try:
        return _decoder(kind).decode(_encoder.encode(value))
    except (msgspec.DecodeError, RecursionError, UnicodeError, TypeError, OverflowError) as error:
        cleaned = without_nulls(value)
        if cleaned != value:
            return from_json(cleaned, kind)
        raise DecodeError(str(error)) from None


def encode(value: Any) -> bytes:
    """Write a typed object (or plain JSON) as JSON bytes; what equals its schema default is left out."""
    body = _encoder.encode(value)
    head: bytes | None = getattr(value, "wire_head", None)
    if head is None:
        return body
    return b"{" + head + (b"," if len(body) > 2 else b"") + body[1:]


def to_json(value: Any) -> Json:
    """A typed object as plain dicts and lists."""
    return msgspec.json.decode(encode(value))


def without_nulls(value: Json) -> Json:
    """The value with every null member dropped, at any depth."""
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
