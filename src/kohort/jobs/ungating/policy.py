"""The interface of a gate policy: which pods of a Workload lose a gate, and with which changes."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.jobs.effects import PatchObject, RecordEvent


class GatePolicy(ABC):
    """Decides on one scheduling gate; pure."""

    gate: ClassVar[str]
    """The scheduling gate."""
    feature: ClassVar[Gate]
    """The feature gate without which nothing is ungated."""
    controller: ClassVar[str]
    """Name of the controller in metrics and logs."""
    manager: ClassVar[str]
    """Field manager, and source of events."""

    @abstractmethod
    def applies(self, workload: Workload) -> bool:
        """Whether pods of the Workload may have the gate."""

    @abstractmethod
    def ungate(self, workload: Workload, pods: Sequence[JsonObject]) -> list[PatchObject | RecordEvent]:
        """Patches of the pods to ungate, and events about pods that cannot be; `pods` are all of the Workload's."""
