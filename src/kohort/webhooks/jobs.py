"""The webhooks of job frameworks: the rules of `jobs`, with the facts of the moment round each job (API-96)."""

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
from kohort.jobs.validation import validate_job
from kohort.kube.errors import KubeError
from kohort.webhooks.patching import json_patch
from kohort.webhooks.registrations import ON_CREATE, ON_WRITE, WebhookRegistration, WebhookType, job_registrations
from kohort.webhooks.reviews import ALLOWED, AdmissionRequest, Allowed, Answer, Denied, Judge, validation_response
from kohort.webhooks.shapes import check_shape


class JobContextProvider(Protocol):
    """What knows the surroundings of a job."""

    async def gather(self, obj: JsonObject, *, is_new: bool, author: UserInfo | None) -> JobContext:
        """The facts of one request; raises ApiError or KubeError."""


Gatherers = Callable[[], JobContextProvider | None]
"""The one of the moment; None while the caches are not filled."""

_UNSET_TIME = b'"creationTimestamp":null'
"""What API servers write into every new object and its templates; no rule looks at it."""
STARTING = Denied("the manager is starting and can't judge jobs yet: try again in a moment", code=503)


def framework_registrations(frameworks: Iterable[Framework]) -> tuple[WebhookRegistration, ...]:
    """The webhooks of these frameworks (JOB-66)."""
    return tuple(
        each
        for framework in frameworks
        for each in job_registrations(
            framework.name, framework.resource, ON_WRITE if framework.defaults_on_update else ON_CREATE
        )
    )


def job_handlers(registry: FrameworkRegistry, gatherers: Gatherers) -> dict[str, Judge]:
    """What answers at the paths of all frameworks; those that are not enabled let everything pass (JOB-75)."""
    return {
        registration.path: _judge(framework, registration.act, gatherers) if name in registry.enabled else _pass
        for name, framework in registry.frameworks.items()
        for registration in framework_registrations([framework])
    }


def _pass(_request: AdmissionRequest) -> Answer:
    return ALLOWED


def _judge(framework: Framework, act: WebhookType, gatherers: Gatherers) -> Judge:
    decide = _defaulted if act is WebhookType.MUTATE else _validated

    async def judge(request: AdmissionRequest) -> Answer:
        gatherer = gatherers()
        if gatherer is None:
            return STARTING
        try:
            return await decide(framework, request, gatherer)
        except (ApiError, KubeError):
            raise
        except Exception:
            check_shape(request, framework.resource)
            raise

    return judge


async def _defaulted(framework: Framework, request: AdmissionRequest, gatherer: JobContextProvider) -> Answer:
    job = _object(request.object, request)
    old = None if request.old is None else _object(request.old, request)
    facts = await gatherer.gather(job, is_new=old is None, author=_author(job, old, request))
    defaulted, warnings = default_job(framework, job, facts)
    return Allowed(json_patch(job, defaulted), warnings)


async def _validated(framework: Framework, request: AdmissionRequest, gatherer: JobContextProvider) -> Answer:
    job = _object(request.object, request)
    old = None if request.old is None else _object(request.old, request)
    facts = await gatherer.gather(job, is_new=old is None, author=_author(job, old, request))
    return validation_response(*validate_job(framework, job, old, facts))


def _author(job: JsonObject, old: JsonObject | None, request: AdmissionRequest) -> UserInfo | None:
    """The user who sets the controller of the job; None where the request leaves it as it was."""
    controller = controller_owner(job)
    if controller is None or (old is not None and controller_owner(old) == controller):
        return None
    return request.user_info


def _object(data: msgspec.Raw, request: AdmissionRequest) -> JsonObject:
    """The job, which knows its namespace even where it was not written down; a null counts as absent."""
    found = decode_json(data)
    if bytes(data).count(b"null") > bytes(data).count(_UNSET_TIME):
        found = without_nulls(found)
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(metadata, dict):
        raise DecodeError("expected an object with metadata")
    metadata.setdefault("namespace", request.namespace)
    return dict(found)
