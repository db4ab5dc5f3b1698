"""Fails pods that select a node on which they can't be scheduled, so that their job replaces them (TAS-106)."""

from datetime import datetime
from typing import Final

from kohort.api.core.objects import ObjectReference
from kohort.api.core.pods import Pod
from kohort.api.times import format_time
from kohort.controllers.topology.pods import PodRecord
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.events import EventRecorder, EventToRecord
from kohort.kube.options import WriteOptions
from kohort.kube.patches import StrategicPatch

CONDITION: Final = "TerminatedByKueue"
REASON: Final = "UnschedulableOnAssignedNode"
MESSAGE: Final = "Pod terminated by Kueue NodeController due to node taint"
EVENT: Final = EventToRecord("Normal", "PodTerminatedByKueue", MESSAGE, "PodTerminated")
MANAGER: Final = "kueue-tas-node-controller"


async def fail_pod(client: Client, recorder: EventRecorder, pod: PodRecord, now: datetime) -> None:
    """Set the phase to Failed; raises a conflict if the pod has changed, since it may have been scheduled."""
    condition = {"type": CONDITION, "status": "True", "reason": REASON, "message": MESSAGE}
    status = {"phase": "Failed", "conditions": [{**condition, "lastTransitionTime": format_time(now)}]}
    key, uid, version = pod.identity
    patch = StrategicPatch({"metadata": {"uid": uid, "resourceVersion": version}, "status": status})
    try:
        await client.of(Pod.resource).patch(key, patch, WriteOptions(MANAGER), "status")
    except StatusError as error:
        if error.is_not_found:
            return
        raise
    about = ObjectReference(api_version="v1", kind="Pod", namespace=key.namespace, name=key.name, uid=uid)
    recorder.record(about, EVENT)
