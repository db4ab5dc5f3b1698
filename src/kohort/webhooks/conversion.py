"""ConversionReview: objects from one version of the group to another, one at a time (API-72, API-73).

A list may hold many thousand objects: each is decoded, converted and encoded by itself, and others get their turn
meanwhile, so that neither memory nor the event loop is held by the whole list.
"""

import asyncio
from collections.abc import Sequence

import msgspec

from kohort.api.codec import Json, decode, decode_json, encode
from kohort.api.errors import ApiError, DecodeError
from kohort.api.kueue.conversion import convert
from kohort.api.struct import View

API_VERSION = "apiextensions.k8s.io/v1"
KIND = "ConversionReview"
_TURN = 64
"""Objects that are converted before others may go on."""
_ANSWERED = ("name", "namespace", "uid", "labels", "annotations")
"""What API servers read of the metadata in an answer: the rest, managed fields above all, they keep as it was."""


class ConversionRequest(View):
    """Objects, and the version in which they are wanted."""

    uid: str = ""
    desired_api_version: str = msgspec.field(default="", name="desiredAPIVersion")
    objects: tuple[msgspec.Raw, ...] = ()


class _Review(View):
    api_version: str = ""
    kind: str = ""
    request: ConversionRequest | None = None


async def converted(body: bytes) -> bytes:
    """The answer to a review, whatever is wrong with it."""
    uid = ""
    try:
        request = _read(body)
        uid = request.uid
        objects = await _all_converted(request)
    except ApiError as error:
        return _review(uid, (), {"status": "Failure", "message": " ".join(str(error).split())})
    return _review(uid, objects, {"status": "Success"})


def _read(body: bytes) -> ConversionRequest:
    review = decode(body, _Review)
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        said = f"{review.api_version or 'nothing'}, Kind={review.kind or 'nothing'}"
        raise DecodeError(f"expected {API_VERSION}, Kind={KIND}, got {said}: set conversionReviewVersions to v1")
    if review.request is None or not review.request.uid:
        raise DecodeError("the review has no request with a uid")
    return review.request


async def _all_converted(request: ConversionRequest) -> list[msgspec.Raw]:
    found: list[msgspec.Raw] = []
    for index, each in enumerate(request.objects):
        if index and index % _TURN == 0:
            await asyncio.sleep(0)
        found.append(_converted(each, request.desired_api_version))
    return found


def _converted(data: msgspec.Raw, api_version: str) -> msgspec.Raw:
    value = decode_json(data)
    if not isinstance(value, dict):
        raise DecodeError(f"not an object but {type(value).__name__}")
    return msgspec.Raw(encode(convert(_lean(value), api_version)))


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
