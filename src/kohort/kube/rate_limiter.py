"""A token bucket rate limiter: a burst, then a constant rate.

Tokens are reserved in order of arrival, so that a waiter wakes only when its token is available.
"""

from kohort.kube.clock import Clock


class TokenBucket:
    """Limits calls to `rate` per second, after an initial `burst`."""

    def __init__(self, clock: Clock, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a rate limit needs rate > 0 and burst >= 1, got {rate} and {burst}")
        self._clock = clock
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled = clock.now()

    def reserve(self) -> float:
        """Reserve a token; returns the seconds until it is available."""
        self._fill()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    def try_take(self) -> bool:
        """Take a token if one is available."""
        self._fill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    async def take(self) -> None:
        """Wait for a token."""
        wait = self.reserve()
        if wait:
            await self._clock.sleep(wait)

    def _fill(self) -> None:
        now = self._clock.now()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now
