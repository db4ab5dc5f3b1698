"""ConversionReview: objects from one version of the group to another, one at a time (API-72, API-73).

A review may hold a page of a list: each object is decoded, converted and encoded by itself, and a large review in a
thread, so that neither memory nor the event loop is held by the whole list.
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
_ANSWERED = ("name", "namespace", "uid", "labels", "annotations")
"""What API servers read of the metadata in an answer: the rest, managed fields above all, they keep as it was."""


class ConversionRequest(View):
    """Objects, and the version in which they are wanted."""

    uid: str = ""
    desired_api_version: str = msgspec.field(default="", name="desiredAPIVersion")
    objects: msgspec.Raw = msgspec.Raw(b"[]")
    """A JSON array, not read yet."""


class _Review(View):
    api_version: str = ""
    kind: str = ""
    request: ConversionRequest | None = None


async def converted(body: bytes) -> bytes:
    """The answer to a review, whatever is wrong with it."""
    return await asyncio.to_thread(_answer, body) if len(body) > LARGE else _answer(body)


def _answer(body: bytes) -> bytes:
    uid = ""
    try:
        request = _read(body)
        uid = request.uid
        objects = [_converted(each, request.desired_api_version) for each in _elements(request.objects)]
    except ApiError as error:
        return _review(uid, (), {"status": "Failure", "message": " ".join(str(error).split())})
    except Exception:
        log.exception("conversion failed")
        message = "the webhook failed: the manager's log has the reason"
        return _review(uid, (), {"status": "Failure", "message": message})
    return _review(uid, objects, {"status": "Success"})


def _read(body: bytes) -> ConversionRequest:
    review = decode(body, _Review)
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        said = f"{review.api_version or 'nothing'}, Kind={review.kind or 'nothing'}"
        raise DecodeError(f"expected {API_VERSION}, Kind={KIND}, got {said}: set conversionReviewVersions to v1")
    if review.request is None or not review.request.uid:
        raise DecodeError("the review has no request with a uid")
    return review.request


def _elements(array: msgspec.Raw) -> Iterator[Json]:
    """The elements of a JSON array, each decoded when its turn comes; raises DecodeError, also for too many."""
    try:
        text = bytes(array).decode()
        if not text.startswith("["):
            raise DecodeError("objects is no array")
        yield from _scanned(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"not valid JSON: {error}") from None


def _scanned(text: str) -> Iterator[Json]:
    place, count = _after_space(text, 1), 0
    while text[place] != "]":
        count += 1
        if count > MAX_OBJECTS:
            raise DecodeError(f"more than {MAX_OBJECTS} objects in one review: list with a limit")
        value, place = _DECODER.raw_decode(text, place)
        yield value
        place = _after_space(text, place)
        if text[place] == ",":
            place = _after_space(text, place + 1)


def _after_space(text: str, place: int) -> int:
    while text[place] in _SPACE:
        place += 1
    return place


_SPACE = frozenset(" \t\r\n")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _converted(value: Json, api_version: str) -> msgspec.Raw:
    if not isinstance(value, dict):
        raise DecodeError(f"not an object but {type(value).__name__}")
    try:
        return msgspec.Raw(encode(convert(_lean(value), api_version)))
    except (ValueError, OverflowError, RecursionError) as error:
        # Texts and numbers that JSON can have and an object of an API server can't.
        raise DecodeError(f"can't be converted: {error}") from None


def _lean(value: dict[str, Json]) -> dict[str, Json]:
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return value
    return {**value, "metadata": {name: metadata[name] for name in _ANSWERED if name in metadata}}


def _review(uid: str, objects: Sequence[msgspec.Raw], result: Json) -> bytes:
    response: dict[str, Json] = {"uid": uid, "result": result}
    if objects:
        response["convertedObjects"] = objects
    return encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})
