"""Conversion of custom resources between versions: none, or by webhook.

The webhook is called through a function, so that this module has no network access. Converted objects must keep their
identity.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from kohort.api.codec import Json, JsonMapping, encode
from kohort.api.fields import ROOT
from kohort.api.names import annotation_errors, label_errors

REVIEW_GROUP = "apiextensions.k8s.io"
REVIEW_VERSIONS = ("v1", "v1beta1")
_BATCH_BYTES = 2 * 2**20
_BATCH_OBJECTS = 500
"""Objects per review: a page of client-go's lists, at some 4 KiB each."""

_ReviewCall = Callable[[dict[str, Json]], Awaitable[Json]]
"""Sends a ConversionReview to the definition's webhook and returns its response."""


class WebhookConversionError(Exception):
    """The webhook failed, or its response is invalid."""


async def convert(
    crd: Mapping[str, Any], objects: Sequence[JsonMapping], api_version: str, call: _ReviewCall, uid: str
) -> list[JsonMapping]:
    """The objects in the requested version, in order; objects in that version are unchanged."""
    conversion = crd["spec"].get("conversion") or {}
    foreign = [each for each in objects if each["apiVersion"] != api_version]
    if not foreign:
        return list(objects)
    if conversion.get("strategy") != "Webhook":
        return [{**each, "apiVersion": api_version} for each in objects]
    answered: list[JsonMapping] = []
    for batch in _batches(foreign):
        review = conversion_review(conversion.get("webhook") or {}, batch, api_version, uid)
        try:
            answered += _converted(review, await call(review), batch)
        except WebhookConversionError as error:
            raise WebhookConversionError(f"conversion webhook for {_kind(batch[0])} failed: {error}") from None
    converted = iter(answered)
    return [each if each["apiVersion"] == api_version else next(converted) for each in objects]


def _batches(objects: Sequence[JsonMapping]) -> Iterator[list[JsonMapping]]:
    """Objects in batches of one review each."""
    batch: list[JsonMapping] = []
    size = 0
    for each in objects:
        size += len(encode(each))
        if batch and (size > _BATCH_BYTES or len(batch) == _BATCH_OBJECTS):
            yield batch
            batch, size = [], len(encode(each))
        batch.append(each)
    yield batch


def conversion_review(
    webhook: JsonMapping, objects: Sequence[JsonMapping], api_version: str, uid: str
) -> dict[str, Json]:
    """The ConversionReview, in the first version that both sides support."""
    known = [each for each in webhook.get("conversionReviewVersions") or () if each in REVIEW_VERSIONS]
    if not known:
        raise WebhookConversionError("no supported conversion review versions")
    request = {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)}
    return {"apiVersion": f"{REVIEW_GROUP}/{known[0]}", "kind": "ConversionReview", "request": request}


def _kind(obj: JsonMapping) -> str:
    return f"{obj['apiVersion']}, Kind={obj['kind']}"


def _converted(review: JsonMapping, answer: Json, originals: Sequence[JsonMapping]) -> list[JsonMapping]:
    """The checked objects of a response; raises `WebhookConversionError`."""
    response = _response(review, answer)
    found = response.get("convertedObjects")
    objects = found if isinstance(found, list) else []
    if len(objects) != len(originals):
        raise WebhookConversionError(f"returned {len(objects)} objects, expected {len(originals)}")
    version = review["request"]["desiredAPIVersion"]
    return [
        _checked(index, original, each, version)
        for index, (original, each) in enumerate(zip(originals, objects, strict=True))
    ]


def _response(review: JsonMapping, answer: Json) -> JsonMapping:
    if not isinstance(answer, dict) or answer.get("kind") != "ConversionReview":
        raise WebhookConversionError("the answer is no ConversionReview")
    if answer.get("apiVersion") != review["apiVersion"]:
        wanted = f"{review['apiVersion']}, Kind=ConversionReview"
        raise WebhookConversionError(f"expected webhook response of {wanted}, got {answer.get('apiVersion')}")
    response = answer.get("response")
    if not isinstance(response, dict):
        raise WebhookConversionError("no response provided")
    uid = review["request"]["uid"]
    if response.get("uid") != uid:
        raise WebhookConversionError(f'expected response.uid="{uid}", got "{response.get("uid", "")}"')
    result = response.get("result")
    result = result if isinstance(result, dict) else {}
    if result.get("status") != "Success":
        text = f"response.result.status was '{result.get('status', '')}', not 'Success'"
        raise WebhookConversionError(str(result.get("message") or text))
    return response


_IDENTITY = ("name", "namespace", "uid")
_CHANGEABLE = ("labels", "annotations")


def _checked(index: int, original: JsonMapping, converted: Json, version: str) -> JsonMapping:
    problem = _problem(original, converted, version)
    if problem:
        raise WebhookConversionError(f"returned invalid converted object at index {index}: {problem}")
    kept = {name: value for name, value in original["metadata"].items() if name not in _CHANGEABLE}
    changed = {name: converted["metadata"][name] for name in _CHANGEABLE if converted["metadata"].get(name)}
    return {**converted, "metadata": {**kept, **changed}}


def _problem(original: JsonMapping, converted: Json, version: str) -> str:
    """The error of a converted object that changed its identity."""
    if not isinstance(converted, dict):
        return "invalid type"
    if converted.get("apiVersion") != version:
        return f"invalid groupVersion (expected {version}, received {converted.get('apiVersion', '')})"
    if converted.get("kind") != original["kind"]:
        return f"invalid kind (expected {original['kind']}, received {converted.get('kind', '')})"
    metadata = converted.get("metadata")
    if not isinstance(metadata, dict):
        return "must have metadata"
    for name in _IDENTITY:
        if metadata.get(name, "") != original["metadata"].get(name, ""):
            return f"must have the same {name}: {metadata.get(name, '')} != {original['metadata'].get(name, '')}"
    return _metadata_problem(metadata)


def _metadata_problem(metadata: JsonMapping) -> str:
    for name in _CHANGEABLE:
        texts = metadata.get(name) or {}
        if not isinstance(texts, dict) or not all(isinstance(each, str) for each in texts.values()):
            return f"metadata.{name}: must be texts by key"
    path = ROOT / "metadata"
    errors = label_errors(metadata.get("labels") or {}, path / "labels")
    errors += annotation_errors(metadata.get("annotations") or {}, path / "annotations")
    return str(errors[0]) if errors else ""
