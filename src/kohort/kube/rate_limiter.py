"""A token bucket: so many at once, then so many per second.

Tokens are reserved, not raced for: who asks first goes first, and nobody is woken in vain.
"""

from kohort.kube.clock import Clock


class TokenBucket:
    """Holds back whoever asks more often than `rate` per second, after a first `burst`."""

    def __init__(self, clock: Clock, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a rate limit needs a rate above 0 and a burst of at least 1, not {rate} and {burst}")
        self._clock = clock
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled = clock.now()

    def reserve(self) -> float:
        """Take a token, of the future if need be; the seconds until it is there."""
        self._fill()
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    def try_take(self) -> bool:
        """Take a token if there is one now."""
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
