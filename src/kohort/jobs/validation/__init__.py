"""What the validating webhook refuses in a job of any framework (JOB-71 to JOB-73, JOB-147).

Rules that hold for all kinds come first, then what the framework adds; all problems are told at once.
"""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.fields import FieldError, forbidden
from kohort.api.gates import Gate
from kohort.api.objects import METADATA
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting.job_context import JobContext, should_manage
from kohort.jobs.defaulting.webhook_only import Propagator, WebhookOnly
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.frameworks.pods.parents import PodParent
from kohort.jobs.objects import asks_for_slices
from kohort.jobs.ownership import FORGED_CONTROLLER
from kohort.jobs.validation import changes, labels
from kohort.jobs.validation.batch_jobs import batch_job_errors
from kohort.jobs.validation.templates import template_errors
from kohort.jobs.validation.warnings import managed_pod_warnings, suspension_warnings, unsupported_warnings


def validate_job(
    framework: Framework, new: JsonObject, old: JsonObject | None, facts: JobContext
) -> tuple[list[FieldError], list[str]]:
    """Problems of a new job, or of a change where there is an old one; and warnings for whoever sent it."""
    if isinstance(framework, WebhookOnly) and framework.is_foreign(new):
        return [], []
    errors = [
        *_controller_errors(facts),
        *_common_errors(framework, new, old, facts),
        *(batch_job_errors(new, old, facts.gates) if isinstance(framework, BatchJobFramework) else ()),
        *_own_errors(framework, new, old, facts),
    ]
    warnings = (managed_pod_warnings, suspension_warnings, unsupported_warnings)
    return errors, [text for each in warnings for text in each(framework, new, old, facts)]


def _controller_errors(facts: JobContext) -> Iterator[FieldError]:
    """A controller that the sender may not name; the mutating webhook has taken it from a new object (DEV-9)."""
    if facts.has_forged_controller:
        yield forbidden(METADATA / "ownerReferences", FORGED_CONTROLLER, "DEV-9")


def _own_errors(framework: Framework, new: JsonObject, old: JsonObject | None, facts: JobContext) -> list[FieldError]:
    if isinstance(framework, PodParent) and not should_manage(new, facts):
        return []
    if old is None:
        return framework.validate_create(new, facts.reads)
    return framework.validate_update(old, new, facts.reads)


def _common_errors(
    framework: Framework, new: JsonObject, old: JsonObject | None, facts: JobContext
) -> Iterator[FieldError]:
    if isinstance(framework, PodParent | Propagator):
        yield from _serving_errors(framework, new, old, facts)
        return
    yield from labels.label_errors(new, old, labels.OF_JOBS, facts.gates)
    yield from labels.elastic_errors(framework, new, facts.gates)
    if old is None or framework.is_suspended(new) or asks_for_slices(old, facts.gates):
        yield from labels.prebuilt_errors(framework, new, facts.gates)
    if old is not None:
        yield from changes.job_change_errors(framework, new, old, facts)
    # Pods are checked whatever the gate says, as Kueue does.
    if framework.is_top_level or facts.gates.enabled(Gate.TopologyAwareScheduling):
        yield from template_errors(framework, new, facts.reads)


def _serving_errors(
    framework: Framework, new: JsonObject, old: JsonObject | None, facts: JobContext
) -> Iterator[FieldError]:
    """JOB-73: what has no Workload of its own is checked for what it hands to its pods."""
    yield from labels.label_errors(new, old, labels.OF_SERVING, facts.gates)
    yield from labels.elastic_errors(framework, new, facts.gates)
    if old is not None and isinstance(framework, PodParent):
        yield from changes.serving_change_errors(framework, new, old, facts)
