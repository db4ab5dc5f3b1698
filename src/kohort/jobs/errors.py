"""What can go wrong with a job, told apart by what is to be done about it (JOB-219).

JobError
├── RetryError        transient: the pass is tried again, with growing pauses
├── UnretryableError  nothing to be done before something changes: wait for the next event
└── PermanentError    the job can't be started like this: its Workload is finished with FailedToStart
"""

from collections.abc import Sequence

from kohort.api.errors import ApiError
from kohort.jobs.effects import Effect


class JobError(ApiError):
    """A pass over a job that did not come to its end; what is to be done before it ends goes along."""

    def __init__(self, message: str, effects: Sequence[Effect] = ()) -> None:
        super().__init__(message)
        self.effects = tuple(effects)


class RetryError(JobError):
    """Something is missing that may come by itself."""


class UnretryableError(JobError):
    """Only an event can change this."""


class PermanentError(JobError):
    """No later try can succeed."""
