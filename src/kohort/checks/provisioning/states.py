"""The state of a check by the conditions of its request; pure functions (MK-25 to MK-28)."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2.checks import ProvisioningRequestConfigSpec, ProvisioningRetryStrategy
from kohort.api.kueue.v1beta2.workload import PodSetUpdate
from kohort.checks.contract import CheckedWorkload, CheckResult, CheckState
from kohort.checks.provisioning.names import CLASS_ANNOTATION, CONSUME_ANNOTATION, attempt_of
from kohort.checks.provisioning.pod_sets import RequestedPodSet
from kohort.checks.provisioning.requests import name_of
from kohort.engine.lifecycle.conditions import is_admitted, is_finished

FAILED: Final = "Failed"
CAPACITY_REVOKED: Final = "CapacityRevoked"
BOOKING_EXPIRED: Final = "BookingExpired"
PROVISIONED: Final = "Provisioned"
_PREFIXES: Final = {FAILED: "Retrying after failure: ", BOOKING_EXPIRED: "Retrying after booking expired: "}
_MOST_DOUBLINGS: Final = 40
"""Enough to exceed every maximum of a delay."""


def next_attempt(subject: CheckedWorkload, current: JsonObject | None) -> int | None:
    """The number of the attempt to create now; None if the current request counts (MK-27)."""
    if subject.entry.state != CheckState.PENDING.value:
        return None
    if current is None:
        return subject.retries + 1
    attempt = attempt_of(current)
    has_ended = _failure(subject, current) is not None
    return attempt + 1 if has_ended and attempt <= subject.retries else None


def result_of(
    subject: CheckedWorkload,
    request: JsonObject,
    config: ProvisioningRequestConfigSpec,
    pod_sets: Sequence[RequestedPodSet],
) -> CheckResult | None:
    """The state by the first condition that decides; None leaves it as it is (MK-25)."""
    if (ended := _failure(subject, request)) == FAILED:
        return _after_failure(subject, request, config.retry_strategy, ended)
    is_running = subject.workload.spec.active and not is_finished(subject.workload)
    if _is_true(request, CAPACITY_REVOKED) and is_running:
        return CheckResult(CheckState.REJECTED, _message(request, CAPACITY_REVOKED))
    if ended is not None:
        return _after_failure(subject, request, config.retry_strategy, ended)
    if _is_true(request, BOOKING_EXPIRED):
        return None
    if _is_true(request, PROVISIONED):
        updates = tuple(_updates(request, config, pod_sets))
        return CheckResult(CheckState.READY, _message(request, PROVISIONED), updates)
    estimate = _message(request, PROVISIONED) if _is_true(request, "Accepted") else ""
    return CheckResult(CheckState.PENDING, estimate)


def _failure(subject: CheckedWorkload, request: JsonObject) -> str | None:
    """The condition with which an attempt has failed, if it has."""
    if _is_true(request, FAILED):
        return FAILED
    has_expired = _is_true(request, BOOKING_EXPIRED) and not is_admitted(subject.workload)
    return BOOKING_EXPIRED if has_expired else None


def _after_failure(
    subject: CheckedWorkload, request: JsonObject, strategy: ProvisioningRetryStrategy, condition: str
) -> CheckResult:
    """Retry while the limit permits it; a failure that was retried already stays as it is (MK-25, MK-26)."""
    attempt, why = attempt_of(request), _message(request, condition)
    if attempt > strategy.backoff_limit_count:
        return CheckResult(CheckState.REJECTED, why)
    message = _PREFIXES[condition] + why
    if attempt <= subject.retries:
        return CheckResult(CheckState(subject.entry.state), message)
    return CheckResult(CheckState.RETRY, message, requeue_after=retry_delay(strategy, subject.retries + 1))


def retry_delay(strategy: ProvisioningRetryStrategy, retry: int) -> timedelta:
    """The delay before the n-th retry (MK-26)."""
    doubled = max(strategy.backoff_base_seconds, 0) << min(max(retry - 1, 0), _MOST_DOUBLINGS)
    return timedelta(seconds=min(doubled, max(strategy.backoff_max_seconds, 0)))


def _updates(
    request: JsonObject, config: ProvisioningRequestConfigSpec, pod_sets: Sequence[RequestedPodSet]
) -> Iterator[PodSetUpdate]:
    """Additions for every pod set of the Workload that the request stands for (MK-28, MK-31)."""
    details = (request.get("status") or {}).get("provisioningClassDetails") or {}
    wanted = config.pod_set_updates.node_selector if config.pod_set_updates is not None else ()
    selector = {
        each.key: details[each.value_from_provisioning_class_detail]
        for each in wanted
        if each.value_from_provisioning_class_detail in details
    }
    annotations = {CONSUME_ANNOTATION: name_of(request), CLASS_ANNOTATION: config.provisioning_class_name}
    for pod_set in pod_sets:
        for name in pod_set.members:
            yield PodSetUpdate(name=name, annotations=annotations, node_selector=selector)


def _condition(request: JsonObject, type_: str) -> JsonObject:
    conditions = (request.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == type_), {})


def _is_true(request: JsonObject, type_: str) -> bool:
    return bool(_condition(request, type_).get("status") == "True")


def _message(request: JsonObject, type_: str) -> str:
    return str(_condition(request, type_).get("message") or "")
