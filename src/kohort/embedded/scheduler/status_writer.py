"""Writes of the scheduler: conditions and events of pods, evictions of preemption victims."""

from typing import Final

from kohort.api.codec import Json, to_json
from kohort.api.core.objects import ObjectReference
from kohort.api.core.pods import Pod
from kohort.api.meta import ObjectKey
from kohort.api.times import format_time
from kohort.embedded.scheduler.cache import PodInfo
from kohort.embedded.scheduler.deferred_writes import DeferredWrites
from kohort.embedded.scheduler.views import SchedulerCondition, SchedulerPod
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.events import EventRecorder, EventToRecord
from kohort.kube.indexer import Indexer
from kohort.kube.options import DeletionOptions
from kohort.kube.patches import StrategicPatch
from kohort.kube.resource_client import ResourceClient

NAME: Final = "default-scheduler"
SCHEDULED: Final = "PodScheduled"
GATED: Final = "SchedulingGated"
GATED_MESSAGE: Final = "Scheduling is blocked due to non-empty scheduling gates"
PREEMPTING: Final = f"{NAME}: preempting to accommodate a higher priority pod"
MAX_NOTE_LENGTH: Final = 1024
_CUT: Final = " ..."


class PodStatusWriter:
    """Writes pod conditions and events; skips writes that would change nothing."""

    def __init__(self, client: Client, recorder: EventRecorder, pods_cache: Indexer[SchedulerPod]) -> None:
        self._pods_cache = pods_cache
        self._clock = client.clock
        self._pods: ResourceClient[dict[str, Json]] = client.of(Pod.resource)
        self._recorder = recorder
        self._deferred = DeferredWrites("scheduler-writes", client.clock, client.metrics)

    def start(self) -> None:
        """Starts the writers."""
        self._deferred.start()

    async def stop(self) -> None:
        """Finishes the writes in flight."""
        await self._deferred.stop()

    def placed(self, pod: PodInfo) -> None:
        """Drops a pending condition of a pod that was assigned a node."""
        self._deferred.cancel(f"status/{pod.uid}")

    def scheduled(self, pod: PodInfo, node: str) -> None:
        """Records the Scheduled event."""
        message = f"Successfully assigned {pod.key} to {node}"
        self._recorder.record(reference(pod), EventToRecord("Normal", "Scheduled", message, "Binding"))

    def failed(self, pod: PodInfo, condition: SchedulerCondition, nominated: str) -> None:
        """Records the FailedScheduling event and writes condition and nominated node."""
        note = EventToRecord("Warning", "FailedScheduling", _cut(condition.message), "Scheduling")
        self._recorder.record(reference(pod), note)
        self._set_condition(pod.key, pod.uid, condition, nominated)

    def gated(self, pod: SchedulerPod) -> None:
        """Writes the SchedulingGated condition if the API server has not set it."""
        condition = SchedulerCondition(type=SCHEDULED, status="False", reason=GATED, message=GATED_MESSAGE)
        self._set_condition(pod.key, pod.metadata.uid, condition, pod.status.nominated_node_name)

    def evict(self, victim: PodInfo, preemptor: PodInfo, node: str) -> None:
        """Evicts a preemption victim."""

        async def write() -> None:
            patch = {"metadata": {"uid": victim.uid}, "status": {"conditions": [self._disrupted(victim.key)]}}
            try:
                await self._pods.patch(victim.key, StrategicPatch(patch), subresource="status")
                await self._pods.delete(victim.key, DeletionOptions(uid=victim.uid))
            except StatusError as error:
                if error.is_conflict or error.is_invalid:
                    return  # another pod has the name now
                raise
            message = f"Preempted by pod {preemptor.uid} on node {node}"
            self._recorder.record(reference(victim), EventToRecord("Normal", "Preempted", message, "Preempting"))

        self._deferred.send(f"evict/{victim.uid}", write)

    def _set_condition(self, key: ObjectKey, uid: str, condition: SchedulerCondition, nominated: str) -> None:
        """Queues writing a condition unless it is already set."""
        if self._patch_for(key, uid, condition, nominated) is None:
            return

        async def write() -> None:
            patch = self._patch_for(key, uid, condition, nominated)
            if patch is not None:
                await self._pods.patch(key, StrategicPatch(patch), subresource="status")

        self._deferred.send(f"status/{uid}", write)

    def _patch_for(
        self, key: ObjectKey, uid: str, condition: SchedulerCondition, nominated: str
    ) -> dict[str, Json] | None:
        """The patch for the pod's current state; None if nothing would change or the pod was assigned or replaced."""
        pod = self._pods_cache.get(key)
        if pod is None or pod.metadata.uid != uid or pod.spec.node_name:
            return None
        present = next((each for each in pod.status.conditions if each.type == condition.type), None)
        if present == condition and pod.status.nominated_node_name == nominated:
            return None
        written: dict[str, Json] = to_json(condition)
        if present is None or present.status != condition.status:
            written["lastTransitionTime"] = format_time(self._clock.wall())
        status: dict[str, Json] = {"conditions": [written]}
        if pod.status.nominated_node_name != nominated:
            status["nominatedNodeName"] = nominated or None
        return {"metadata": {"uid": uid, "resourceVersion": pod.metadata.resource_version}, "status": status}

    def _disrupted(self, key: ObjectKey) -> dict[str, Json]:
        pods_cache = self._pods_cache.get(key)
        condition: dict[str, Json] = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": PREEMPTING,
            "lastTransitionTime": format_time(self._clock.wall()),
        }
        if pods_cache is not None and pods_cache.metadata.generation:
            condition["observedGeneration"] = pods_cache.metadata.generation
        return condition


def reference(pod: PodInfo) -> ObjectReference:
    """The pod's reference for events."""
    namespace, name = pod.key
    return ObjectReference(api_version="v1", kind="Pod", namespace=namespace, name=name, uid=pod.uid)


def _cut(message: str) -> str:
    return message if len(message) <= MAX_NOTE_LENGTH else message[: MAX_NOTE_LENGTH - len(_CUT)] + _CUT
