"""Resets DisruptionTarget conditions of pods that were not deleted.

A component sets the condition before it deletes the pod and may stop in between.
"""

from datetime import timedelta

from kohort.api.conditions import find
from kohort.api.meta import ObjectKey
from kohort.api.times import format_time
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.disruptions import amend_status
from kohort.embedded.controllers.views import ControllerPod
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.informer import SharedInformerFactory

STALE_AFTER = timedelta(minutes=2)
_BY_KUBELET = "TerminationByKubelet"
"""The kubelet terminates the pod itself and may take longer."""


class StaleDisruptions(BuiltinController[ObjectKey]):
    """Resets stale DisruptionTarget conditions."""

    NAME = "stale-disruption-controller"
    WORKERS = 2

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._pods = informers.of(ControllerPod)
        self._pods.subscribe(self._on_pod)

    def _on_pod(self, _: ControllerPod | None, new: ControllerPod | None) -> None:
        left = None if new is None else self._seconds_left(new)
        if new is not None and left is not None:
            self._queue.add_after(new.key, left)

    def _seconds_left(self, pod: ControllerPod) -> float | None:
        """Seconds until the condition is stale; None if it is not set or the pod is terminating."""
        reported = find(pod.status.conditions, "DisruptionTarget")
        if reported is None or reported.status != "True" or reported.reason == _BY_KUBELET or not pod.is_active:
            return None
        since = reported.last_transition_time or self._clock.wall()
        return max(0.0, (since + STALE_AFTER - self._clock.wall()).total_seconds())

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Resets the condition once it is stale."""
        pod = self._pods.cache.get(key)
        left = self._seconds_left(pod) if pod is not None else None
        if pod is None or left is None:
            return None
        if left > 0:
            return RequeueAfter(left)
        moment = format_time(self._clock.wall())
        taken_back = {"type": "DisruptionTarget", "status": "False", "lastTransitionTime": moment}
        change = {**taken_back, "reason": None, "message": None, "observedGeneration": pod.metadata.generation}
        await amend_status(self._pods.objects, pod, {"conditions": [change]})
        return None
