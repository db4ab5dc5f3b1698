"""Custom objects from one version to another."""

from collections.abc import Callable
from typing import Any

import pytest

from embedded.crds.definitions import crd
from kohort.embedded.crds import WebhookConversionError, convert

Json = Any
HOOK = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v9", "v1"], "clientConfig": {"url": "u"}}}
V1, V2 = "stable.example.com/v1", "stable.example.com/v2"


def shirt(api_version: str = V1, **more: Json) -> Json:
    return {"apiVersion": api_version, "kind": "Shirt", "metadata": {"name": "a", "uid": "1"}, **more}


class ConversionWebhook:
    """A webhook that returns the result of `change` for each object."""

    def __init__(self, change: Callable[[Json], Json], **response: Json) -> None:
        self.change, self.response, self.asked = change, response, []

    asked: list[Json]

    async def __call__(self, review: Json) -> Json:
        self.asked.append(review)
        converted = [self.change(each) for each in review["request"]["objects"]]
        uid, success = review["request"]["uid"], {"status": "Success"}
        response = {"uid": uid, "result": success, "convertedObjects": converted, **self.response}
        return {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}


def to_v2(obj: Json) -> Json:
    return {**obj, "apiVersion": V2, "converted": True}


async def converted(hook: ConversionWebhook, *objects: Json) -> list[Any]:
    return await convert(crd(conversion=HOOK), objects, V2, hook, "uid-1")


async def test_without_a_webhook_only_the_version_changes() -> None:
    (made,) = await convert(crd(), [shirt(spec={"a": 1})], V2, ConversionWebhook(to_v2), "u")
    assert made == shirt(V2, spec={"a": 1})


async def test_a_webhook_gets_a_review_with_the_objects_of_other_versions_only() -> None:
    hook = ConversionWebhook(to_v2)
    made = await converted(hook, shirt(V2), shirt(V1), shirt(V2))
    assert ["converted" in each for each in made] == [False, True, False]
    (review,) = hook.asked
    assert review["apiVersion"] == "apiextensions.k8s.io/v1"
    assert review["request"] == {"uid": "uid-1", "desiredAPIVersion": V2, "objects": [shirt(V1)]}


async def test_objects_that_have_the_version_are_not_sent() -> None:
    hook = ConversionWebhook(to_v2)
    assert await converted(hook, shirt(V2)) == [shirt(V2)]
    assert hook.asked == []


async def test_a_webhook_may_change_labels_and_annotations_and_nothing_else_of_metadata() -> None:
    def change(obj: Json) -> Json:
        metadata = {**obj["metadata"], "labels": {"a": "b"}, "finalizers": ["x"], "generation": 9}
        return {**to_v2(obj), "metadata": metadata}

    (made,) = await converted(ConversionWebhook(change), shirt())
    assert made["metadata"] == {"name": "a", "uid": "1", "labels": {"a": "b"}}


@pytest.mark.parametrize(
    ("hook", "problem"),
    [
        (ConversionWebhook(lambda obj: obj), "invalid groupVersion"),
        (
            ConversionWebhook(lambda obj: {**to_v2(obj), "kind": "Blouse"}),
            r"invalid kind \(expected Shirt, received Blouse\)",
        ),
        (
            ConversionWebhook(lambda obj: {**to_v2(obj), "metadata": {"name": "b", "uid": "1"}}),
            "must have the same name: b != a",
        ),
        (ConversionWebhook(lambda obj: {**to_v2(obj), "metadata": {"name": "a"}}), "must have the same uid"),
        (
            ConversionWebhook(lambda obj: {**to_v2(obj), "metadata": {**obj["metadata"], "labels": {"a b": ""}}}),
            "metadata.labels",
        ),
        (ConversionWebhook(lambda _obj: "text"), "invalid type"),
        (ConversionWebhook(to_v2, uid="other"), 'expected response.uid="uid-1", got "other"'),
        (ConversionWebhook(to_v2, convertedObjects=[]), "returned 0 objects, expected 1"),
        (ConversionWebhook(to_v2, result={"status": "Failure", "message": "no way"}), "failed: no way"),
        (ConversionWebhook(to_v2, result=None), "response.result.status was '', not 'Success'"),
    ],
)
async def test_a_response_that_is_no_conversion_is_rejected(hook: ConversionWebhook, problem: str) -> None:
    with pytest.raises(WebhookConversionError, match=problem) as caught:
        await converted(hook, shirt())
    assert str(caught.value).startswith(f"conversion webhook for {V1}, Kind=Shirt failed: ")
