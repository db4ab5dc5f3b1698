"""Kinds that webhooks see and no reconciler does: they have no Workload, so there is nothing to start, stop or count.

Either their pods are queued one by one, or what they make is queued, and they only hand labels down.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from kohort.jobs.contract import ClusterReader, Finish, Framework
from kohort.jobs.keys import MAX_EXEC_TIME_LABEL
from kohort.jobs.objects import labels
from kohort.jobs.podsets import JobPodSet, PodSetInfo

HANDED_DOWN = (QUEUE_NAME_LABEL, PRIORITY_CLASS_LABEL, MAX_EXEC_TIME_LABEL)


class WebhookOnly(Framework):
    """A kind without Workloads of its own."""

    is_reconciled: ClassVar[bool] = False

    def is_foreign(self, obj: JsonObject) -> bool:
        """Whether another framework has charge of the object, so that this one leaves it alone."""
        return False

    def is_suspended(self, obj: JsonObject) -> bool:
        """Nothing of it waits: its pods or jobs do."""
        return False

    def suspend(self, obj: JsonObject) -> None:
        """There is no switch."""

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """None that are counted here."""
        return []

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """There is no switch."""

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Nothing was ever added."""
        return False

    def finished(self, obj: JsonObject) -> Finish | None:
        """It has no end that anybody waits for."""
        return None

    def is_active(self, obj: JsonObject) -> bool:
        """It holds no quota itself."""
        return False

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Nobody waits for its pods as a whole."""
        return True


class Propagator(WebhookOnly):
    """A kind whose labels are handed to what it makes; three facts make one (JOB-190, JOB-233)."""

    is_propagator: ClassVar[bool] = True
    target: ClassVar[tuple[str, ...]]
    """Path of the object whose `metadata.labels` the children get."""

    def default(self, obj: JsonObject, reads: ClusterReader) -> None:
        """Hand the labels down, without overwriting what stands there."""
        handed = {name: value for name in HANDED_DOWN if (value := labels(obj).get(name))}
        if not handed:
            return
        place = obj
        for step in (*self.target, "metadata"):
            place[step] = deepcopy(place.get(step)) or {}
            place = place[step]
        place["labels"] = {**handed, **(place.get("labels") or {})}
