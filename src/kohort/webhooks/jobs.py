"""The webhooks of job frameworks: the rules of `jobs`, with the facts of the moment round each job (API-96)."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from kohort.api.codec import decode_json
from kohort.api.errors import DecodeError
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.facts import JobFacts
from kohort.jobs.effects import Object
from kohort.jobs.registry import Registry
from kohort.jobs.validation import validate_job
from kohort.webhooks.patching import json_patch
from kohort.webhooks.registrations import ON_CREATE, ON_WRITE, Act, Registration, job_registrations
from kohort.webhooks.reviews import ALLOWED, AdmissionRequest, Allowed, Answer, Denied, Judge, judged


class Gatherer(Protocol):
    """What knows the surroundings of a job."""

    async def gather(self, obj: Object, *, is_new: bool) -> JobFacts:
        """The facts of one request; raises ApiError or KubeError."""


Gatherers = Callable[[], Gatherer | None]
"""The one of the moment; None while the caches are not filled."""

STARTING = Denied("the manager is starting and can't judge jobs yet: try again in a moment", code=503)


def framework_registrations(frameworks: Iterable[Framework]) -> tuple[Registration, ...]:
    """The webhooks of these frameworks (JOB-66)."""
    return tuple(
        each
        for framework in frameworks
        for each in job_registrations(
            framework.name, framework.resource, ON_WRITE if framework.defaults_on_update else ON_CREATE
        )
    )


def job_judges(registry: Registry, gatherers: Gatherers) -> dict[str, Judge]:
    """What answers at the paths of all frameworks; those that are not enabled let everything pass (JOB-75)."""
    return {
        registration.path: _judge(framework, registration.act, gatherers) if name in registry.enabled else _pass
        for name, framework in registry.frameworks.items()
        for registration in framework_registrations([framework])
    }


def _pass(_request: AdmissionRequest) -> Answer:
    return ALLOWED


def _judge(framework: Framework, act: Act, gatherers: Gatherers) -> Judge:
    decide = _defaulted if act is Act.MUTATE else _validated

    async def judge(request: AdmissionRequest) -> Answer:
        gatherer = gatherers()
        return STARTING if gatherer is None else await decide(framework, request, gatherer)

    return judge


async def _defaulted(framework: Framework, request: AdmissionRequest, gatherer: Gatherer) -> Answer:
    job = _object(request.object, request)
    facts = await gatherer.gather(job, is_new=request.old is None)
    defaulted, warnings = default_job(framework, job, facts)
    return Allowed(json_patch(job, defaulted), warnings)


async def _validated(framework: Framework, request: AdmissionRequest, gatherer: Gatherer) -> Answer:
    job, old = _object(request.object, request), request.old
    facts = await gatherer.gather(job, is_new=old is None)
    former = None if old is None else _object(old, request)
    return judged(*validate_job(framework, job, former, facts))


def _object(data: Any, request: AdmissionRequest) -> Object:
    """The job, which knows its namespace even where it was not written down."""
    found = decode_json(data)
    metadata = found.get("metadata") if isinstance(found, dict) else None
    if not isinstance(metadata, dict):
        raise DecodeError("expected an object with metadata")
    metadata.setdefault("namespace", request.namespace)
    return dict(found)
