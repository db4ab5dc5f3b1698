"""Kinds with webhooks and without a reconciler: they have no Workload, so there is nothing to start, stop or count.

Either their pods are queued individually, or they only propagate labels to objects that are queued.
"""

from collections.abc import Sequence
from typing import ClassVar

from kohort.api.codec import JsonObject
from kohort.api.errors import DecodeError
from kohort.api.kueue.keys import PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL
from kohort.api.permissions import READ, Permission
from kohort.jobs.contract import ClusterReader, Finish, Framework, UserRoles
from kohort.jobs.keys import MAX_EXEC_TIME_LABEL
from kohort.jobs.objects import labels
from kohort.jobs.podsets import JobPodSet, PodSetInfo

HANDED_DOWN = (QUEUE_NAME_LABEL, PRIORITY_CLASS_LABEL, MAX_EXEC_TIME_LABEL)


def handed_down_labels(obj: JsonObject) -> dict[str, str]:
    """The labels that dependents of an object get (JOB-190)."""
    return {name: value for name in HANDED_DOWN if (value := labels(obj).get(name))}


class WebhookOnly(Framework):
    """A kind without Workloads of its own."""

    is_reconciled: ClassVar[bool] = False
    user_roles: ClassVar[UserRoles | None] = None
    dispatches: ClassVar[bool] = False

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """To find owners, and to write events."""
        return (Permission(self.resource.group, (self.resource.plural,), (*READ, "patch")),)

    def is_suspended(self, obj: JsonObject) -> bool:
        """Never: its pods or jobs are suspended instead."""
        return False

    def suspend(self, obj: JsonObject) -> None:
        """Does nothing: the kind has no suspend field."""

    def pod_sets(self, obj: JsonObject, reads: ClusterReader) -> list[JobPodSet]:
        """None: its pods are counted elsewhere."""
        return []

    def start(self, obj: JsonObject, infos: Sequence[PodSetInfo]) -> None:
        """Does nothing: the kind has no suspend field."""

    def restore(self, obj: JsonObject, originals: Sequence[PodSetInfo]) -> bool:
        """Never: nothing was added."""
        return False

    def finished(self, obj: JsonObject) -> Finish | None:
        """Never."""
        return None

    def is_active(self, obj: JsonObject) -> bool:
        """Never: it has no quota itself."""
        return False

    def pods_ready(self, obj: JsonObject, reads: ClusterReader) -> bool:
        """Always: its pods are not awaited as a whole."""
        return True


class Propagator(WebhookOnly):
    """A kind that propagates its labels to the objects it creates (JOB-190, JOB-233)."""

    is_propagator: ClassVar[bool] = True
    labels_path: ClassVar[tuple[str, ...]]
    """Path of the labels that the created objects get."""

    def default(self, obj: JsonObject, reads: ClusterReader) -> None:
        """Propagate the labels, without overwriting existing ones."""
        handed = handed_down_labels(obj)
        if not handed:
            return
        place = obj
        for step in self.labels_path:
            present = place.get(step) or {}
            if not isinstance(present, dict):
                raise DecodeError(f"{'.'.join(self.labels_path)} must be a map of labels")
            place[step] = dict(present)
            place = place[step]
        for name, value in handed.items():
            place.setdefault(name, value)
