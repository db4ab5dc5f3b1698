"""Plans the next steps of a CronJob: a pure function of it, its Jobs and the time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import format_datetime
from zoneinfo import ZoneInfo

import msgspec

from kohort.api.conditions import is_true
from kohort.embedded.controllers.cronjobs.schedule import MANY, Schedule, ScheduleError, missed, parse_schedule
from kohort.embedded.controllers.cronjobs.views import CronJobStatusView, CronJobView
from kohort.embedded.controllers.jobs.views import COMPLETE, FAILED, JobView
from kohort.kube.events import EventToRecord

LEEWAY = 0.1
"""Seconds added to a scheduled time to allow for clock differences."""


@dataclass(frozen=True, slots=True)
class CronPlan:
    """The next steps for a CronJob, in execution order."""

    notes: tuple[EventToRecord, ...] = ()
    """Events to record first."""
    outdated: tuple[JobView, ...] = ()
    """Finished Jobs beyond the history limits."""
    replaced: tuple[str, ...] = ()
    """Names of running Jobs that the next one replaces."""
    start: datetime | None = None
    """The scheduled time for which to create a Job."""
    status: CronJobStatusView = field(default_factory=CronJobStatusView)
    """The status before the new Job is created."""
    again: float | None = None
    """Seconds after which to reconcile again."""


def plan(found: CronJobView, jobs: Sequence[JobView], gone: frozenset[str], now: datetime) -> CronPlan:
    """Plans the next steps; `gone` are UIDs of active Jobs that no longer exist."""
    outdated = tuple(_outdated(found, jobs))
    status, notes = _seen(found, jobs, gone)
    idle = CronPlan(tuple(notes), outdated, status=status)
    if found.metadata.deletion_timestamp is not None:
        return idle
    try:
        zone = _zone(found.spec.time_zone)
    except ScheduleError as error:
        return _noted(idle, EventToRecord("Warning", "UnknownTimeZone", str(error)))
    if found.spec.suspend:
        return idle
    try:
        schedule = parse_schedule(found.spec.schedule, zone)
    except ScheduleError as error:
        message = f'unparseable schedule: "{found.spec.schedule}" : {error}'
        return _noted(idle, EventToRecord("Warning", "UnparseableSchedule", message))
    return _timed(found, idle, schedule, now)


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name) if name else UTC
    except (KeyError, ValueError, OSError):
        raise ScheduleError(f'invalid timeZone: "{name}": unknown time zone {name}') from None


def _noted(planned: CronPlan, note: EventToRecord) -> CronPlan:
    return replace(planned, notes=(*planned.notes, note))


# Jobs


def _ended(job: JobView) -> str:
    """The condition type with which a Job finished; empty if it has not."""
    return next((type_ for type_ in (COMPLETE, FAILED) if is_true(job.status.conditions, type_)), "")


def _outdated(found: CronJobView, jobs: Sequence[JobView]) -> Iterable[JobView]:
    limits = {COMPLETE: found.spec.successful_jobs_history_limit, FAILED: found.spec.failed_jobs_history_limit}
    for end, limit in limits.items():
        ended = sorted((job for job in jobs if _ended(job) == end), key=_started)
        if limit is not None:
            yield from ended[: max(0, len(ended) - limit)]


def _started(job: JobView) -> tuple[bool, float, str]:
    start = job.status.start_time
    return start is None, start.timestamp() if start else 0.0, job.metadata.name


def _seen(
    found: CronJobView, jobs: Sequence[JobView], gone: frozenset[str]
) -> tuple[CronJobStatusView, list[EventToRecord]]:
    """The status without Jobs that finished or disappeared."""
    listed = {each.uid for each in found.status.active}
    notes, over = list[EventToRecord](), set(gone)
    latest = found.status.last_successful_time
    for job in sorted(jobs, key=lambda job: job.metadata.name):
        uid, name, end = job.metadata.uid, job.metadata.name, _ended(job)
        if end and uid in listed:
            over.add(uid)
            notes.append(EventToRecord("Normal", "SawCompletedJob", f"Saw completed job: {name}, condition: {end}"))
        elif not end and uid not in listed:
            message = f"Saw a job that the controller did not create or forgot: {name}"
            notes.append(EventToRecord("Warning", "UnexpectedJob", message))
        finished = job.status.completion_time if end == COMPLETE else None
        latest = max(filter(None, (latest, finished)), default=None)
    missing = (each.name for each in found.status.active if each.uid in gone)
    notes += (EventToRecord("Normal", "MissingJob", f"Active job went missing: {name}") for name in missing)
    active = tuple(each for each in found.status.active if each.uid not in over)
    return msgspec.structs.replace(found.status, active=active, last_successful_time=latest), notes


# Scheduling


def _timed(found: CronJobView, idle: CronPlan, schedule: Schedule, now: datetime) -> CronPlan:
    spec = found.spec
    anchor = found.status.last_schedule_time or found.metadata.creation_timestamp or now
    since = anchor
    if spec.starting_deadline_seconds is not None:
        since = max(anchor, now - timedelta(seconds=spec.starting_deadline_seconds))
    waiting = replace(idle, again=_wait(schedule, anchor, now))
    due = schedule.latest(since, now)
    if due is None:
        return waiting if waiting.again is not None else _noted(idle, _never(spec.schedule))
    if missed(schedule, since, now) > MANY:
        waiting = _noted(waiting, _TOO_MANY)
    if spec.starting_deadline_seconds is not None and due + timedelta(seconds=spec.starting_deadline_seconds) < now:
        return _noted(waiting, EventToRecord("Warning", "MissSchedule", f"{_MISSED}: {format_datetime(due)}"))
    running = idle.status.active
    if due == found.status.last_schedule_time or job_name(found, due) in {each.name for each in running}:
        return waiting
    if spec.concurrency_policy == "Forbid" and running:
        return _noted(waiting, _ALREADY_ACTIVE)
    replaced = tuple(each.name for each in running) if spec.concurrency_policy == "Replace" else ()
    return replace(waiting, start=due, replaced=replaced)


_MISSED = "Missed scheduled time to start a job"
_TOO_MANY = EventToRecord(
    "Warning",
    "TooManyMissedTimes",
    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew",
)
_ALREADY_ACTIVE = EventToRecord(
    "Normal",
    "JobAlreadyActive",
    "Not starting job because prior execution is running and concurrency policy is Forbid",
)


def _never(schedule: str) -> EventToRecord:
    why = "time difference between two schedules is less than 1 second"
    return EventToRecord("Warning", "InvalidSchedule", f"invalid schedule: {schedule} : {why}")


def _wait(schedule: Schedule, anchor: datetime, now: datetime) -> float | None:
    """Seconds until the next start."""
    following = schedule.after(schedule.latest(anchor, now) or anchor)
    return None if following is None else (following - now).total_seconds() + LEEWAY


def job_name(found: CronJobView, due: datetime) -> str:
    """The deterministic name of the Job for a scheduled time, so that it is created once."""
    return f"{found.metadata.name}-{int(due.timestamp()) // 60}"
