"""The webhooks of job frameworks: the rules of `jobs` with the current context of each job (API-96)."""

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from kohort.api.codec import JsonObject, decode_json, without_nulls
from kohort.api.core.reviews import UserInfo
from kohort.api.errors import ApiError, DecodeError
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.objects import controller_owner
from kohort.jobs.registry import FrameworkRegistry
from kohort.jobs.shapes import check_shape
from kohort.jobs.validation import validate_job
from kohort.kube.errors import KubeError
from kohort.webhooks.patching import json_patch
from kohort.webhooks.registrations import ON_CREATE, ON_WRITE, WebhookRegistration, WebhookType, job_registrations
from kohort.webhooks.reviews import (
    ALLOWED,
    AdmissionHandler,
    AdmissionRequest,
    AdmissionResponse,
    Allowed,
    Denied,
    validation_response,
)


class JobContextProvider(Protocol):
    """Builds the context of a job."""

    async def build(self, obj: JsonObject, *, is_new: bool, author: UserInfo | None) -> JobContext:
        """The context of one request; raises ApiError or KubeError."""


JobContexts = Callable[[], JobContextProvider | None]
"""Returns the current builder, or None before caches sync."""

_UNSET_TIME = b'"creationTimestamp":null'
"""Set by API servers in every new object and its templates; ignored by all rules."""
NOT_SYNCED = Denied("the manager's caches are not synced yet, retry later", code=503)


def framework_registrations(frameworks: Iterable[Framework]) -> tuple[WebhookRegistration, ...]:
    """The webhooks of these frameworks (JOB-66)."""
    return tuple(
        each
        for framework in frameworks
        if framework.has_webhooks
        for each in job_registrations(
            framework.name, framework.resource, ON_WRITE if framework.defaults_on_update else ON_CREATE
        )
    )


def job_handlers(registry: FrameworkRegistry, contexts: JobContexts) -> dict[str, AdmissionHandler]:
    """The handlers of all frameworks by path; those of disabled frameworks allow everything (JOB-75)."""
    return {
        registration.path: _handler(framework, registration.act, contexts) if name in registry.enabled else _allow
        for name, framework in registry.frameworks.items()
        for registration in framework_registrations([framework])
    }


class JobHandlers:
    """The handlers of all frameworks, also of those that are added later (JOB-236)."""

    def __init__(self, registry: FrameworkRegistry, contexts: JobContexts) -> None:
        self._registry = registry
        self._contexts = contexts
        self.table: dict[str, AdmissionHandler] = {}
        """By path; those of removed frameworks allow everything until they are registered no more."""
        self._update()
        registry.subscribe(self._update)

    def _update(self) -> None:
        current = job_handlers(self._registry, self._contexts)
        self.table.update(dict.fromkeys(self.table, _allow) | current)


def _allow(_request: AdmissionRequest) -> AdmissionResponse:
    return ALLOWED


def _handler(framework: Framework, act: WebhookType, contexts: JobContexts) -> AdmissionHandler:
    decide = _defaulted if act is WebhookType.MUTATE else _validated

    async def handler(request: AdmissionRequest) -> AdmissionResponse:
        builder = contexts()
        if builder is None:
            return NOT_SYNCED
        try:
            return await decide(framework, request, builder)
        except (ApiError, KubeError):
            raise
        except Exception:
            for each in (request.object, request.old):
                if each is not None:
                    check_shape(framework, each)
            raise

    return handler


async def _defaulted(framework: Framework, request: AdmissionRequest, builder: JobContextProvider) -> AdmissionResponse:
    job = _object(request.object, request)
    old = None if request.old is None else _object(request.old, request)
    context = await builder.build(job, is_new=old is None, author=_author(job, old, request))
    defaulted, warnings = default_job(framework, job, context)
    return Allowed(json_patch(job, defaulted), warnings)


async def _validated(framework: Framework, request: AdmissionRequest, builder: JobContextProvider) -> AdmissionResponse:
    job = _object(request.object, request)
    old = None if request.old is None else _object(request.old, request)
    context = await builder.build(job, is_new=old is None, author=_author(job, old, request))
    return validation_response(*validate_job(framework, job, old, context))


def _author(job: JsonObject, old: JsonObject | None, request: AdmissionRequest) -> UserInfo | None:
    """The user that sets the controller of the job; None if the request leaves it unchanged."""
    controller = controller_owner(job)
    if controller is None or (old is not None and controller_owner(old) == controller):
        return None
    return request.user_info


def _object(data: msgspec.Raw, request: AdmissionRequest) -> JsonObject:
    """The job with its namespace and without null values."""
    found = decode_json(data)
    if bytes(data).count(b"null") > bytes(data).count(_UNSET_TIME):
        found = without_nulls(found)
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(metadata, dict):
        raise DecodeError("expected an object with metadata")
    metadata.setdefault("namespace", request.namespace)
    return dict(found)
