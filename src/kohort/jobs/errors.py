"""Errors of reconcile passes, by how they are handled (JOB-219).

JobError
├── RetryError        transient: the pass is retried with backoff
├── UnretryableError  a retry does not help: wait for the next event
└── PermanentError    the job cannot be started: its Workload is finished with FailedToStart

DecodeError
└── InvalidFieldError  a field of the job means no pods: an event is recorded, and only a change of the job helps
"""

from collections.abc import Sequence

from kohort.api.codec import JsonObject
from kohort.api.conditions import truncate_note
from kohort.api.errors import ApiError, DecodeError
from kohort.api.fields import FieldError
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


class InvalidFieldError(DecodeError):
    """The pods of a job cannot be determined because of one of its fields."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def not_composable(obj: JsonObject, message: str) -> UnretryableError:
    """No Workload can be built of a job as it is; a Warning event has the reason (§14)."""
    return UnretryableError(message, (record_event(obj, "ErrWorkloadCompose", truncate_note(message), "Warning"),))
