"""Protobuf wire format: a message as (number, value) pairs.

Varints and fixed numbers are integers, length-delimited values bytes. Malformed input raises `Malformed`.
"""

from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


class Malformed(Exception):  # noqa: N818 - turned into an answer at the package's edge
    """The bytes are not a message."""


def varint(data: bytes, place: int) -> tuple[int, int]:
    """A varint, and the offset after it."""
    value = 0
    for index in range(_LONGEST_VARINT):
        if place + index >= len(data):
            raise Malformed("unexpected EOF")
        byte = data[place + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place + index + 1
    raise Malformed("integer overflow")


def signed(value: int) -> int:
    """A 64-bit varint as a signed integer."""
    return value - (1 << 64) if value >> 63 else value


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of every field."""
    place = 0
    while place < len(data):
        key, place = varint(data, place)
        number, kind = key >> 3, key & 7
        if not number:
            raise Malformed(f"illegal tag {number} (wire type {kind})")
        value, place = _value(data, place, kind)
        yield number, kind, value


def _value(data: bytes, place: int, kind: int) -> tuple[int | bytes, int]:
    if kind == VARINT:
        return varint(data, place)
    if kind == BYTES:
        size, place = varint(data, place)
    elif kind in (FIXED64, FIXED32):
        size = 8 if kind == FIXED64 else 4
    else:
        raise Malformed(f"illegal wireType {kind}")
    if place + size > len(data):
        raise Malformed("unexpected EOF")
    chunk = data[place : place + size]
    return (chunk if kind == BYTES else int.from_bytes(chunk, "little")), place + size
