"""What the scheduler writes: conditions of pods that found no node, and the end of those that make room."""

from typing import Final

from kohort.api.codec import Json, to_json
from kohort.api.core.objects import ObjectReference
from kohort.api.core.pods import Pod
from kohort.api.meta import ObjectKey
from kohort.api.times import format_time
from kohort.embedded.scheduler.cache import PodInfo
from kohort.embedded.scheduler.deferred_writes import DeferredWrites
from kohort.embedded.scheduler.views import SchedulerPod, SeenCondition
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
LONGEST_NOTE: Final = 1024
_CUT: Final = " ..."


class PodStatusWriter:
    """Tells pods what became of them; writes only what is not there already."""

    def __init__(self, client: Client, recorder: EventRecorder, seen: Indexer[SchedulerPod]) -> None:
        self._seen = seen
        self._clock = client.clock
        self._pods: ResourceClient[dict[str, Json]] = client.of(Pod.resource)
        self._recorder = recorder
        self._errands = DeferredWrites("scheduler-writes", client.clock, client.metrics)

    def start(self) -> None:
        """Begin to write."""
        self._errands.start()

    async def stop(self) -> None:
        """Finish what has begun."""
        await self._errands.stop()

    def placed(self, pod: PodInfo) -> None:
        """A pod has found its node: why it had none is no longer of interest."""
        self._errands.cancel(f"status/{pod.uid}")

    def scheduled(self, pod: PodInfo, node: str) -> None:
        """Tell that a pod has its node."""
        message = f"Successfully assigned {pod.key} to {node}"
        self._recorder.record(reference(pod), EventToRecord("Normal", "Scheduled", message, "Binding"))

    def failed(self, pod: PodInfo, condition: SeenCondition, nominated: str) -> None:
        """Tell why a pod has no node, and which one it waits for."""
        note = EventToRecord("Warning", "FailedScheduling", _cut(condition.message), "Scheduling")
        self._recorder.record(reference(pod), note)
        self._show(pod.key, pod.uid, condition, nominated)

    def gated(self, pod: SchedulerPod) -> None:
        """Tell that a pod is not to be placed yet, where the API server has not said so."""
        condition = SeenCondition(type=SCHEDULED, status="False", reason=GATED, message=GATED_MESSAGE)
        self._show(pod.key, pod.metadata.uid, condition, pod.status.nominated_node_name)

    def evict(self, victim: PodInfo, preemptor: PodInfo, node: str) -> None:
        """End a pod that makes room for another."""

        async def errand() -> None:
            patch = {"metadata": {"uid": victim.uid}, "status": {"conditions": [self._disrupted(victim.key)]}}
            try:
                await self._pods.patch(victim.key, StrategicPatch(patch), subresource="status")
                await self._pods.delete(victim.key, DeletionOptions(uid=victim.uid))
            except StatusError as error:
                if error.is_conflict or error.is_invalid:
                    return  # another pod has the name by now, whose uid is not to be changed
                raise
            message = f"Preempted by pod {preemptor.uid} on node {node}"
            self._recorder.record(reference(victim), EventToRecord("Normal", "Preempted", message, "Preempting"))

        self._errands.send(f"evict/{victim.uid}", errand)

    def _show(self, key: ObjectKey, uid: str, condition: SeenCondition, nominated: str) -> None:
        """Have a condition written, unless it is there, or the pod gets its node before."""
        if self._change(key, uid, condition, nominated) is None:
            return

        async def errand() -> None:
            patch = self._change(key, uid, condition, nominated)
            if patch is not None:
                await self._pods.patch(key, StrategicPatch(patch), subresource="status")

        self._errands.send(f"status/{uid}", errand)

    def _change(self, key: ObjectKey, uid: str, condition: SeenCondition, nominated: str) -> dict[str, Json] | None:
        """What has to be written to the pod as it is now; a pod that changes meanwhile is looked at again."""
        pod = self._seen.get(key)
        if pod is None or pod.metadata.uid != uid or pod.spec.node_name:
            return None
        present = next((each for each in pod.status.conditions if each.type == condition.type), None)
        if present == condition and pod.status.nominated_node_name == nominated:
            return None
        shown: dict[str, Json] = to_json(condition)
        if present is None or present.status != condition.status:
            shown["lastTransitionTime"] = format_time(self._clock.wall())
        status: dict[str, Json] = {"conditions": [shown]}
        if pod.status.nominated_node_name != nominated:
            status["nominatedNodeName"] = nominated or None
        return {"metadata": {"uid": uid, "resourceVersion": pod.metadata.resource_version}, "status": status}

    def _disrupted(self, key: ObjectKey) -> dict[str, Json]:
        seen = self._seen.get(key)
        condition: dict[str, Json] = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": PREEMPTING,
            "lastTransitionTime": format_time(self._clock.wall()),
        }
        if seen is not None and seen.metadata.generation:
            condition["observedGeneration"] = seen.metadata.generation
        return condition


def reference(pod: PodInfo) -> ObjectReference:
    """A pod as events name it."""
    namespace, name = pod.key
    return ObjectReference(api_version="v1", kind="Pod", namespace=namespace, name=name, uid=pod.uid)


def _cut(message: str) -> str:
    return message if len(message) <= LONGEST_NOTE else message[: LONGEST_NOTE - len(_CUT)] + _CUT
