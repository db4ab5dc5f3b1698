"""Decides which failed requests are retried, and when.

Only if that is safe: the server sent Retry-After, the request was never sent, or it is idempotent.
"""

from dataclasses import dataclass, field
from random import Random

from kohort.kube.backoff import Backoff
from kohort.kube.errors import KubeError, StatusError, TransportError, UnreachableError

IDEMPOTENT_METHODS = frozenset({"GET", "HEAD", "PUT", "DELETE"})
PASSING = frozenset({429, 502, 503, 504})
"""Statuses of transient errors."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds on retries."""

    attempts: int = 5
    longest_wait: float = 30.0
    """A longer Retry-After is not waited for; the error is raised."""
    backoff: Backoff = field(default=Backoff(base=0.1, cap=5.0))

    def wait(self, error: KubeError, failures: int, random: Random, *, idempotent: bool) -> float | None:
        """Seconds until the retry, or None if the error is final."""
        if failures >= self.attempts or not _may_repeat(error, idempotent=idempotent):
            return None
        asked = error.retry_after if isinstance(error, StatusError) else None
        wait = max(asked or 0.0, self.backoff.delay(failures, random))
        return wait if wait <= self.longest_wait else None


DEFAULT_RETRIES = RetryPolicy()


def _may_repeat(error: KubeError, *, idempotent: bool) -> bool:
    if isinstance(error, StatusError):
        return (error.code in PASSING and idempotent) or (
            error.retry_after is not None and (error.code == 429 or error.code >= 500)
        )
    return isinstance(error, UnreachableError) or (isinstance(error, TransportError) and idempotent)
