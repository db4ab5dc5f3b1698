"""The pods of one replicated job of a TrainJob."""

from dataclasses import dataclass
from typing import Any

from kohort.api.codec import JsonObject


@dataclass(frozen=True, slots=True)
class ReplicatedPods:
    """The pods of one replicated job."""

    name: str
    replicas: int
    """Number of Jobs."""
    pods_per_replica: int
    template: JsonObject

    @property
    def count(self) -> int:
        """The number of all pods."""
        return self.replicas * self.pods_per_replica


def number(value: Any) -> int:
    """A count that is 1 if it is absent."""
    return 1 if value is None else int(value)
