"""Backoff of container creation while something is missing: two seconds, doubling to ten."""

from dataclasses import dataclass, field

FIRST = 2.0
MAX_SECONDS = 10.0


@dataclass(slots=True)
class Retries:
    """The backoff of each container of a pod."""

    _waits: dict[str, float] = field(default_factory=dict)

    def next(self, name: str) -> float:
        """Seconds before the next attempt."""
        wait = min(self._waits.get(name, FIRST / 2) * 2, MAX_SECONDS)
        self._waits[name] = wait
        return wait

    def forget(self, name: str) -> None:
        """Resets the backoff of a container."""
        self._waits.pop(name, None)
