"""Validation of jobs in the validating webhook, for all frameworks (JOB-71 to JOB-73, JOB-147).

Common rules come first, then those of the framework; all errors are returned together.
"""

from collections.abc import Iterator

from kohort.api.codec import JsonObject
from kohort.api.fields import FieldError, forbidden
from kohort.api.gates import Gate
from kohort.api.objects import METADATA
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting.job_context import JobContext, should_manage
from kohort.jobs.objects import requests_slices
from kohort.jobs.ownership import FORGED_CONTROLLER
from kohort.jobs.validation import changes, labels
from kohort.jobs.validation.preemptible_queues import preemption_findings
from kohort.jobs.validation.templates import template_errors
from kohort.jobs.validation.warnings import (
    managed_pod_warnings,
    own_warnings,
    suspension_warnings,
    unsupported_warnings,
)


def validate_job(
    framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext
) -> tuple[list[FieldError], list[str]]:
    """Errors of a new job, or of an update if there is an old one, and warnings for the client."""
    if framework.is_foreign(new):
        return [], []
    errors = [
        *_controller_errors(context),
        *_common_errors(framework, new, old, context),
        *_own_errors(framework, new, old, context),
    ]
    warnings = (managed_pod_warnings, suspension_warnings, unsupported_warnings, own_warnings)
    refused, cautions = preemption_findings(framework, new, old, context)
    return [*errors, *refused], [
        *cautions,
        *(text for each in warnings for text in each(framework, new, old, context)),
    ]


def _controller_errors(context: JobContext) -> Iterator[FieldError]:
    """Rejects a forged controller; the mutating webhook has removed it from new objects (DEV-9)."""
    if context.has_forged_controller:
        yield forbidden(METADATA / "ownerReferences", FORGED_CONTROLLER, "DEV-9")


def _own_errors(framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext) -> list[FieldError]:
    if framework.queues_pods and not should_manage(new, context):
        return []
    if old is None:
        return framework.validate_create(new, context.reads)
    return framework.validate_update(old, new, context.reads)


def _common_errors(
    framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext
) -> Iterator[FieldError]:
    if not framework.is_reconciled or not framework.claims(new):
        yield from _serving_errors(framework, new, old, context)
        return
    yield from labels.label_errors(new, old, labels.OF_JOBS, context.gates)
    yield from labels.elastic_errors(framework, new, context.gates)
    if old is None or framework.is_suspended(new) or requests_slices(old, context.gates):
        yield from labels.prebuilt_errors(framework, new, context.gates)
    if old is not None:
        yield from changes.job_change_errors(framework, new, old, context)
    # Pods are validated regardless of the gate, as in Kueue.
    if framework.is_top_level or context.gates.enabled(Gate.TopologyAwareScheduling):
        yield from _new_template_errors(framework, new, old, context)


def _serving_errors(
    framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext
) -> Iterator[FieldError]:
    """Errors of kinds without Workloads of their own: of the labels that their pods get (JOB-73)."""
    yield from labels.label_errors(new, old, labels.OF_SERVING, context.gates)
    yield from labels.elastic_errors(framework, new, context.gates)
    if framework.queues_pods and should_manage(new, context):
        yield from _new_template_errors(framework, new, old, context)
    if old is not None and framework.queues_pods:
        yield from changes.serving_change_errors(framework, new, old, context)


def _new_template_errors(
    framework: Framework, new: JsonObject, old: JsonObject | None, context: JobContext
) -> Iterator[FieldError]:
    """Errors of templates; those that were there before do not block other changes."""
    present = list(template_errors(framework, old, context.reads)) if old is not None else []
    yield from (error for error in template_errors(framework, new, context.reads) if error not in present)
