"""Decodes and encodes typed structs and JSON values.

Decoding checks types only: stored objects are readable even if current rules would reject them. A `null` counts as
absent, as in kube-apiserver; it is searched for only when the fast path fails.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from kohort.api.errors import DecodeError

T = TypeVar("T")

Json = Any
"""What `json.loads` returns: dicts, lists, strings, numbers, booleans and None."""

JsonObject = dict[str, Json]
"""A JSON object, such as an API object whose kind has no struct; one that came from a cache must not be changed."""

JsonMapping = Mapping[str, Json]
"""A JSON object that is only read."""


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """The cached decoder of a type: creating one costs more than using it."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    return decoder


_encoder = msgspec.json.Encoder()


def decode(data: bytes | memoryview | msgspec.Raw, kind: type[T]) -> T:
    """Decode a typed object from JSON bytes."""
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
    """Decode JSON bytes into plain dicts and lists."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise DecodeError(f"not valid JSON: {error}") from None


def from_json(value: Json, kind: type[T]) -> T:
    """Convert a plain JSON value to a type."""
    try:
        return _decoder(kind).decode(_encoder.encode(value))
    except (msgspec.DecodeError, RecursionError, UnicodeError, TypeError, OverflowError) as error:
        cleaned = without_nulls(value)
        if cleaned != value:
            return from_json(cleaned, kind)
        raise DecodeError(str(error)) from None


def encode(value: Any) -> bytes:
    """Encode a typed object or plain JSON; values that equal their schema default are omitted."""
    body = _encoder.encode(value)
    head: bytes | None = getattr(value, "wire_head", None)
    if head is None:
        return body
    return b"{" + head + (b"," if len(body) > 2 else b"") + body[1:]


def to_json(value: Any) -> Json:
    """Convert a typed object to plain dicts and lists."""
    return msgspec.json.decode(encode(value))


def without_nulls(value: Json) -> Json:
    """The value without null members, at any depth."""
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
