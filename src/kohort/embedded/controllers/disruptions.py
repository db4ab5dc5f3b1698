"""Sets the DisruptionTarget condition of pods and deletes them.

Both writes carry the UID, so that a re-created pod is never affected; a missing pod is no error.
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
    """The DisruptionTarget condition."""
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": format_time(now),
        "observedGeneration": pod.metadata.generation,
    }


async def amend_status(pods: ResourceClient[ControllerPod], pod: ControllerPod, status: dict[str, Json]) -> None:
    """Patches the status of the pod with this UID."""
    patch = StrategicPatch({"metadata": {"uid": pod.metadata.uid}, "status": status})
    try:
        await pods.patch(pod.key, patch, subresource="status")
    except StatusError as error:
        if not error.is_not_found:
            raise


async def delete(pods: ResourceClient[ControllerPod], pod: ControllerPod, grace: int | None = None) -> None:
    """Deletes the pod with this UID; without `grace` its own grace period applies."""
    try:
        await pods.delete(pod.key, DeletionOptions(grace_seconds=grace, uid=pod.metadata.uid))
    except StatusError as error:
        if not error.is_not_found:
            raise
