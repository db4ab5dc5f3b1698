"""Ends pods for reasons of their own: says why in their status, then deletes them.

Both writes name the uid, so that a new pod of the same name is never hit; a pod that is gone already is no error.
"""

from datetime import datetime

from kohort.api.codec import Json
from kohort.api.times import format_time
from kohort.embedded.controllers.views import ControllerPod
from kohort.kube.errors import StatusError
from kohort.kube.options import DeletionOptions
from kohort.kube.patches import StrategicPatch
from kohort.kube.resource_client import ResourceClient


def disruption_target(pod: ControllerPod, reason: str, message: str, now: datetime) -> dict[str, Json]:
    """The condition that says that a pod ends through no fault of its own."""
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": format_time(now),
        "observedGeneration": pod.metadata.generation,
    }


async def amend_status(pods: ResourceClient[ControllerPod], pod: ControllerPod, status: dict[str, Json]) -> None:
    """Change a part of the status of this very pod."""
    patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid}, "status": status})
    try:
        await pods.patch(pod.key, patch, subresource="status")
    except StatusError as error:
        if not error.is_not_found:
            raise


async def delete(pods: ResourceClient[ControllerPod], pod: ControllerPod, grace: int | None = None) -> None:
    """Delete this very pod; without `grace` it takes the time it asked for."""
    try:
        await pods.delete(pod.key, DeletionOptions(grace_seconds=grace, uid=pod.metadata.uid))
    except StatusError as error:
        if not error.is_not_found:
            raise
