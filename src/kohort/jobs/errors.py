"""Errors of reconcile passes, by how they are handled (JOB-219).

JobError
├── RetryError        transient: the pass is retried with backoff
├── UnretryableError  a retry does not help: wait for the next event
└── PermanentError    the job cannot be started: its Workload is finished with FailedToStart
"""

from collections.abc import Sequence

from kohort.api.codec import JsonObject
from kohort.api.conditions import truncate_note
from kohort.api.errors import ApiError
from kohort.jobs.effects import Effect, record_event


class JobError(ApiError):
    """A pass failed; `effects` are executed nevertheless."""

    def __init__(self, message: str, effects: Sequence[Effect] = ()) -> None:
        super().__init__(message)
        self.effects = tuple(effects)


class RetryError(JobError):
    """Something is missing that may appear later."""


class UnretryableError(JobError):
    """Only another event can change the result."""


class PermanentError(JobError):
    """No retry can succeed."""


def not_composable(obj: JsonObject, message: str) -> UnretryableError:
    """No Workload can be built of a job as it is; a Warning event has the reason (§14)."""
    return UnretryableError(message, (record_event(obj, "ErrWorkloadCompose", truncate_note(message), "Warning"),))
