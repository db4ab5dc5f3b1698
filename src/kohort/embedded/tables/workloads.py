"""Rows of workloads: Jobs, CronJobs, Deployments and other kinds that create pods."""

from datetime import datetime

from kohort.api.codec import JsonMapping
from kohort.api.conditions import is_true_in_json
from kohort.api.times import TimeError, parse_time
from kohort.embedded.tables.cells import (
    NONE,
    Cells,
    TableLayout,
    age,
    bool_text,
    containers,
    dig,
    is_deleted,
    layout,
    name_of,
    number,
    selector_text,
)
from kohort.embedded.tables.durations import time_since
from kohort.terminal.ages import duration

_UNKNOWN = "<unknown>"


def _job(job: JsonMapping, now: datetime) -> Cells:
    template = dig(job, "spec", "template")
    selector = selector_text(dig(job, "spec", "selector"))
    return (
        name_of(job),
        _job_status(job),
        _completions(job),
        _job_duration(job, now),
        age(job, now),
        *containers(template),
        selector,
    )


def _job_status(job: JsonMapping) -> str:
    for condition, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if is_true_in_json(job, condition):
            return word
    if is_deleted(job):
        return "Terminating"
    return next(
        (one for one in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if is_true_in_json(job, one)), "Running"
    )


def _completions(job: JsonMapping) -> str:
    done, wanted = number(job, "status", "succeeded"), dig(job, "spec", "completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = number(job, "spec", "parallelism")
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(job: JsonMapping, now: datetime) -> str:
    start, end = dig(job, "status", "startTime"), dig(job, "status", "completionTime")
    if not start or not end:
        return time_since(start, now) if start else ""
    try:
        return duration(parse_time(end) - parse_time(start))
    except TimeError:
        return _UNKNOWN


def _cron_job(cron: JsonMapping, now: datetime) -> Cells:
    spec, last = cron.get("spec") or {}, dig(cron, "status", "lastScheduleTime")
    return (
        name_of(cron),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        bool_text(spec.get("suspend")),
        len(dig(cron, "status", "active") or ()),
        time_since(last, now) if last else NONE,
        age(cron, now),
        *containers(dig(spec, "jobTemplate", "spec", "template")),
        selector_text(dig(spec, "jobTemplate", "spec", "selector")),
    )


def _deployment(obj: JsonMapping, now: datetime) -> Cells:
    return (
        name_of(obj),
        f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}",
        number(obj, "status", "updatedReplicas"),
        number(obj, "status", "availableReplicas"),
        age(obj, now),
        *containers(dig(obj, "spec", "template")),
        selector_text(dig(obj, "spec", "selector")),
    )


def _replicas(obj: JsonMapping) -> Cells:
    status = (number(obj, "status", "replicas"), number(obj, "status", "readyReplicas"))
    return (name_of(obj), number(obj, "spec", "replicas"), *status)


def _replica_set(obj: JsonMapping, now: datetime) -> Cells:
    shown = containers(dig(obj, "spec", "template"))
    return (*_replicas(obj), age(obj, now), *shown, selector_text(dig(obj, "spec", "selector")))


def _stateful_set(obj: JsonMapping, now: datetime) -> Cells:
    ready = f"{number(obj, 'status', 'readyReplicas')}/{number(obj, 'spec', 'replicas')}"
    return (name_of(obj), ready, age(obj, now), *containers(dig(obj, "spec", "template")))


def _disruption_budget(obj: JsonMapping, now: datetime) -> Cells:
    bounds = (dig(obj, "spec", name) for name in ("minAvailable", "maxUnavailable"))
    texts = ("N/A" if bound is None else str(bound) for bound in bounds)
    return (name_of(obj), *texts, number(obj, "status", "disruptionsAllowed"), age(obj, now))


_TEMPLATE = "Containers+|Images+|Selector+"
_COUNTS = "Name|Desired:integer|Current:integer|Ready:integer"

WORKLOADS: dict[str, TableLayout] = {
    "cronjobs.batch": layout(
        f"Name|Schedule|Timezone|Suspend:boolean|Active:integer|Last Schedule|Age|{_TEMPLATE}", _cron_job
    ),
    "deployments.apps": layout(f"Name|Ready|Up-to-date|Available|Age|{_TEMPLATE}", _deployment),
    "jobs.batch": layout(f"Name|Status|Completions|Duration|Age|{_TEMPLATE}", _job),
    "poddisruptionbudgets.policy": layout(
        "Name|Min Available|Max Unavailable|Allowed Disruptions:integer|Age", _disruption_budget
    ),
    "replicasets.apps": layout(f"{_COUNTS}|Age|{_TEMPLATE}", _replica_set),
    "statefulsets.apps": layout("Name|Ready|Age|Containers+|Images+", _stateful_set),
}
