"""Waits between tries to make a container whose needs are not met: two seconds, doubling to ten."""

from dataclasses import dataclass, field

FIRST = 2.0
LONGEST = 10.0


@dataclass(slots=True)
class Retries:
    """The waits of each container of a pod."""

    _waits: dict[str, float] = field(default_factory=dict)

    def next(self, name: str) -> float:
        """The seconds before the next try."""
        wait = min(self._waits.get(name, FIRST / 2) * 2, LONGEST)
        self._waits[name] = wait
        return wait

    def forget(self, name: str) -> None:
        """It could be made."""
        self._waits.pop(name, None)
