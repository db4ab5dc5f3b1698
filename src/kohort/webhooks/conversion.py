"""ConversionReview: objects from one version of the group to another, one at a time (API-72, API-73).

A review may hold a page of a list: each object is decoded, converted and encoded by itself, and a large review in a
thread, so that a whole list neither fills memory nor blocks the event loop.
"""

import asyncio
import json
import logging
from collections.abc import Iterator, Sequence
from typing import NoReturn

import msgspec

from kohort.api.codec import Json, decode, encode
from kohort.api.errors import ApiError, DecodeError
from kohort.api.kueue.conversion import convert
from kohort.api.struct import View
from kohort.webhooks.limits import LARGE, MAX_OBJECTS

log = logging.getLogger(__name__)

API_VERSION = "apiextensions.k8s.io/v1"
KIND = "ConversionReview"
_RESPONSE_METADATA = ("name", "namespace", "uid", "labels", "annotations")
"""Metadata that API servers read from a response; they keep the rest, such as managed fields."""


class ConversionRequest(View):
    """Objects, and their desired version."""

    uid: str = ""
    desired_api_version: str = msgspec.field(default="", name="desiredAPIVersion")
    objects: msgspec.Raw = msgspec.Raw(b"[]")
    """A JSON array, not decoded."""


class _Review(View):
    api_version: str = ""
    kind: str = ""
    request: ConversionRequest | None = None


async def handle_conversion(body: bytes) -> bytes:
    """The response to a review; errors become part of it."""
    return await asyncio.to_thread(_respond, body) if len(body) > LARGE else _respond(body)


def _respond(body: bytes) -> bytes:
    uid = ""
    try:
        request = _read(body)
        uid = request.uid
        objects = [_converted(each, request.desired_api_version) for each in _elements(request.objects)]
    except ApiError as error:
        return _review(uid, (), {"status": "Failure", "message": " ".join(str(error).split())})
    except Exception:
        log.exception("conversion failed")
        message = "internal error of the webhook, see the manager's log"
        return _review(uid, (), {"status": "Failure", "message": message})
    return _review(uid, objects, {"status": "Success"})


def _read(body: bytes) -> ConversionRequest:
    review = decode(body, _Review)
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        got = f"{review.api_version or 'nothing'}, Kind={review.kind or 'nothing'}"
        raise DecodeError(f"expected {API_VERSION}, Kind={KIND}, got {got}: set conversionReviewVersions to v1")
    if review.request is None or not review.request.uid:
        raise DecodeError("the review has no request with a uid")
    return review.request


def _elements(array: msgspec.Raw) -> Iterator[Json]:
    """The elements of a JSON array, decoded lazily; raises DecodeError, also for too many."""
    try:
        text = bytes(array).decode()
        if not text.startswith("["):
            raise DecodeError("objects is not an array")
        yield from _scan(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not valid JSON: {error}") from None


def _scan(text: str) -> Iterator[Json]:
    position, count = _after_space(text, 1), 0
    while text[position] != "]":
        count += 1
        if count > MAX_OBJECTS:
            raise DecodeError(f"more than {MAX_OBJECTS} objects in one review: list with a limit")
        value, position = _DECODER.raw_decode(text, position)
        yield value
        position = _after_space(text, position)
        if text[position] == ",":
            position = _after_space(text, position + 1)


def _after_space(text: str, position: int) -> int:
    while text[position] in _SPACE:
        position += 1
    return position


_SPACE = frozenset(" \t\r\n")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _converted(value: Json, api_version: str) -> msgspec.Raw:
    if not isinstance(value, dict):
        raise DecodeError(f"not an object but {type(value).__name__}")
    try:
        return msgspec.Raw(encode(convert(_trim_metadata(value), api_version)))
    except (ValueError, OverflowError, RecursionError) as error:
        # Strings and numbers that are valid JSON and invalid in objects.
        raise DecodeError(f"cannot convert the object: {error}") from None


def _trim_metadata(value: dict[str, Json]) -> dict[str, Json]:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return value
    return {**value, "metadata": {name: metadata[name] for name in _RESPONSE_METADATA if name in metadata}}


def _review(uid: str, objects: Sequence[msgspec.Raw], result: Json) -> bytes:
    response: dict[str, Json] = {"uid": uid, "result": result}
    if objects:
        response["convertedObjects"] = objects
    return encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})
