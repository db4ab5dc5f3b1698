"""Takes back that a pod is about to be disrupted, where nothing came of it.

Who wants a pod gone says so in its status and then deletes it. Between the two he may have died.
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

PATIENCE = timedelta(minutes=2)
_BY_KUBELET = "TerminationByKubelet"
"""The node ends the pod itself, and may take its time."""


class StaleDisruptions(BuiltinController[ObjectKey]):
    """Watches for pods that were said to go, and stay."""

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
        """Until what is said of a pod is stale; None where it is not said, or true."""
        told = find(pod.status.conditions, "DisruptionTarget")
        if told is None or told.status != "True" or told.reason == _BY_KUBELET or not pod.is_active:
            return None
        since = told.last_transition_time or self._clock.wall()
        return max(0.0, (since + PATIENCE - self._clock.wall()).total_seconds())

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Take it back, when its time is up."""
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
