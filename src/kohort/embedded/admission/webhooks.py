"""Admission webhooks: matching, AdmissionReview calls, and the effect of the responses."""

import asyncio
import uuid
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from kohort.api.codec import Json, JsonObject
from kohort.api.selectors import SelectorError
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin
from kohort.embedded.admission.evaluation_context import AdmissionContext
from kohort.embedded.admission.webhook_client import WebhookCallError, WebhookClient
from kohort.embedded.cel import CelError
from kohort.embedded.matching import admission_request, is_exempt, is_selected, matched_version, meets_conditions
from kohort.embedded.patches import PatchKind, apply_patch
from kohort.embedded.resources import ServedResource
from kohort.embedded.storage import Store
from kohort.kube.errors import StatusError, forbidden, internal

_GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = f"mutatingwebhookconfigurations.{_GROUP}", f"validatingwebhookconfigurations.{_GROUP}"
_DEFAULT_SECONDS = 10
_Default = Callable[[ServedResource, JsonObject], JsonObject]
"""Returns an object with the defaults of its kind."""


class _MatchedWebhook(NamedTuple):
    """A matching webhook, and the version it requires."""

    hook: Mapping[str, Any]
    resource: ServedResource

    @property
    def name(self) -> str:
        return str(self.hook.get("name"))

    @property
    def is_ignorable(self) -> bool:
        return self.hook.get("failurePolicy") == "Ignore"


class WebhookDispatcher:
    """Matches and calls the webhooks of one kind of configuration."""

    def __init__(self, store: Store, configurations: str, client: WebhookClient, context: AdmissionContext) -> None:
        self._store = store
        self._configurations = configurations
        self._client = client
        self._context = context

    def matched(self, attributes: AdmissionAttributes) -> Iterator[_MatchedWebhook]:
        """The webhooks that match a write, in the order of their configurations' names."""
        entries = self._store.list(self._configurations).entries
        if not entries or is_exempt(attributes):
            return
        for entry in entries:
            for hook in entry.object.get("webhooks") or ():
                found = self._match(hook, attributes)
                if found is not None:
                    yield found

    def _match(self, hook: Mapping[str, Any], attributes: AdmissionAttributes) -> _MatchedWebhook | None:
        here = self._context
        policy = str(hook.get("matchPolicy") or "Equivalent")
        resource = matched_version(hook.get("rules") or (), policy, attributes, here.versions(attributes.resource))
        try:
            if resource is None or not is_selected(hook, attributes, here.namespace_labels):
                return None
            conditions = hook.get("matchConditions") or ()
            request = admission_request(attributes, resource) if conditions else {}
            if conditions and not meets_conditions(
                conditions, attributes, request, here.authorizer_for(attributes.user)
            ):
                return None
        except (SelectorError, CelError) as error:
            if hook.get("failurePolicy") == "Ignore":
                return None
            raise forbidden(attributes.about, f'webhook "{hook.get("name")}": {error}') from None
        return _MatchedWebhook(hook, resource)

    async def call(self, matched: _MatchedWebhook, attributes: AdmissionAttributes) -> Mapping[str, Json] | None:
        """The webhook's response; None if the call failed and failurePolicy is Ignore. Dry runs are sent too."""
        hook = matched.hook
        review = await self._review(matched, attributes)
        seconds = float(hook.get("timeoutSeconds") or _DEFAULT_SECONDS)
        try:
            answer = await self._client.post(hook.get("clientConfig") or {}, review, seconds)
            return _response(answer, review["request"]["uid"])
        except WebhookCallError as error:
            if matched.is_ignorable:
                return None
            raise internal(f'failed calling webhook "{matched.name}": failed to call webhook: {error}') from None

    async def _review(self, matched: _MatchedWebhook, attributes: AdmissionAttributes) -> dict[str, Any]:
        request = admission_request(attributes, matched.resource)
        shown = {
            "object": await self._in_version(attributes.object, attributes, matched.resource),
            "oldObject": await self._in_version(attributes.old, attributes, matched.resource),
        }
        return {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": {"uid": str(uuid.uuid4()), **request, **shown},
        }

    async def _in_version(
        self, found: JsonObject | None, attributes: AdmissionAttributes, resource: ServedResource
    ) -> JsonObject | None:
        if found is None or resource.version == attributes.resource.version:
            return found
        return await self._context.convert(found, resource)

    async def from_webhook(
        self, found: JsonObject, attributes: AdmissionAttributes, matched: _MatchedWebhook
    ) -> JsonObject:
        """Converts an object from the webhook's version to the write's."""
        if matched.resource.version == attributes.resource.version:
            return found
        return await self._context.convert(found, attributes.resource)

    async def to_webhook(self, matched: _MatchedWebhook, attributes: AdmissionAttributes) -> JsonObject:
        """The object as sent to the webhook."""
        return await self._in_version(attributes.object, attributes, matched.resource) or {}


def _response(answer: Json, uid: str) -> Mapping[str, Json]:
    response = answer.get("response") if isinstance(answer, dict) else None
    if not isinstance(response, dict):
        raise WebhookCallError("webhook response was absent")
    if response.get("uid") != uid:
        raise WebhookCallError(f'expected response.uid="{uid}", got "{response.get("uid")}"')
    return response


def _check_response(response: Mapping[str, Json], matched: _MatchedWebhook, attributes: AdmissionAttributes) -> None:
    """Adds the warnings of the response; raises its denial."""
    attributes.warnings.extend(str(each) for each in response.get("warnings") or ())
    if response.get("allowed") is True:
        return
    status = response.get("status") or {}
    message = status.get("message") or status.get("reason")
    head = f'admission webhook "{matched.name}" denied the request'
    text = f"{head}: {message}" if message else f"{head} without explanation"
    details, code = status.get("details"), status.get("code")
    if not isinstance(code, int) or code < 400:
        code = 403
    reason = str(status.get("reason") or ("Forbidden" if code == 403 else ""))
    raise StatusError(code, reason, text, details if isinstance(details, dict) else {})


class MutatingWebhooks(NoopPlugin):
    """Calls mutating webhooks in sequence; reinvokes those that require it after later changes."""

    def __init__(self, webhooks: WebhookDispatcher, default: _Default) -> None:
        self._webhooks = webhooks
        self._default = default

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """The object after all webhooks."""
        matched = list(self._webhooks.matched(attributes))
        if not matched:
            return None
        seen: dict[int, JsonObject | None] = {}
        for index, each in enumerate(matched):
            attributes = await self._called(each, attributes)
            seen[index] = attributes.object
        for index, each in enumerate(matched):
            if each.hook.get("reinvocationPolicy") == "IfNeeded" and seen[index] != attributes.object:
                attributes = await self._called(each, attributes)
        return attributes.object

    async def _called(self, matched: _MatchedWebhook, attributes: AdmissionAttributes) -> AdmissionAttributes:
        response = await self._webhooks.call(matched, attributes)
        if response is None:
            return attributes
        _check_response(response, matched, attributes)
        if not response.get("patch") or attributes.object is None:
            return attributes
        patched = _patched(await self._webhooks.to_webhook(matched, attributes), response, matched)
        changed = await self._webhooks.from_webhook(patched, attributes, matched)
        return attributes.changed(self._default(attributes.resource, changed))


def _patched(found: JsonObject, response: Mapping[str, Json], matched: _MatchedWebhook) -> JsonObject:
    if response.get("patchType") != "JSONPatch":
        raise internal(f'webhook "{matched.name}" answered with a patch that is no JSONPatch')
    try:
        patch = msgspec.json.decode(b64decode(str(response["patch"])))
        return apply_patch(PatchKind.JSON, found, patch, None)
    except (Base64Error, ValueError, msgspec.DecodeError, StatusError) as error:
        raise internal(f'webhook "{matched.name}" answered with a patch that can\'t be applied: {error}') from None


class ValidatingWebhooks(NoopPlugin):
    """Calls validating webhooks in parallel."""

    def __init__(self, webhooks: WebhookDispatcher) -> None:
        self._webhooks = webhooks

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Raises the first denial, in the order of the webhooks."""
        matched = list(self._webhooks.matched(attributes))
        if not matched:
            return
        calls = (self._webhooks.call(each, attributes) for each in matched)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        for each, answer in zip(matched, answers, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            if answer is not None:
                _check_response(answer, each, attributes)
