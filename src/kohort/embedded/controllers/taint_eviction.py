"""The taint eviction controller: deletes pods from nodes with NoExecute taints when their tolerations expire.

The toleration period starts when the taint is observed and is reset when it is removed.
"""

from collections.abc import Iterable, Sequence

from kohort.api.conditions import find
from kohort.api.core.nodes import Node
from kohort.api.meta import ObjectKey, Taint, Toleration
from kohort.api.taints import tolerates
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.disruptions import amend_status, delete, disruption_target
from kohort.embedded.controllers.views import ControllerPod, pods_by_node, pods_on, reference_to
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.events import EventToRecord
from kohort.kube.informer import SharedInformerFactory

FOREVER = float("inf")


def no_execute_taints(taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """The NoExecute taints."""
    return tuple(taint for taint in taints if taint.effect == "NoExecute")


def tolerated_seconds(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> float:
    """Seconds a pod tolerates the taints: 0 if one is not tolerated, otherwise the minimum tolerationSeconds."""
    limits = [FOREVER]
    for taint in taints:
        covering = [each for each in tolerations if tolerates(each, taint)]
        if not covering:
            return 0.0
        seconds = covering[0].toleration_seconds
        limits.append(FOREVER if seconds is None else float(max(0, seconds)))
    return min(limits)


class TaintEviction(BuiltinController[ObjectKey]):
    """Evicts pods from tainted nodes."""

    NAME = "taint-eviction-controller"
    WORKERS = 4

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._objects = client.of(ControllerPod)
        self._since: dict[ObjectKey, float] = {}
        self._nodes = informers.of(Node)
        self._pods = pods_by_node(informers)
        self._nodes.subscribe(self._on_node)
        self._pods.subscribe(self._on_pod)

    def _on_node(self, old: Node | None, new: Node | None) -> None:
        before = no_execute_taints(old.spec.taints) if old else ()
        after = no_execute_taints(new.spec.taints) if new else ()
        node = new or old
        if before != after and node is not None:
            for pod in pods_on(self._pods.cache, node.metadata.name):
                self._queue.add(pod.key)

    def _on_pod(self, old: ControllerPod | None, new: ControllerPod | None) -> None:
        if new is None:
            if old is not None:
                self._since.pop(old.key, None)
            return
        if self._taints(new) and (old is None or old.spec != new.spec):
            self._queue.add(new.key)

    def _taints(self, pod: ControllerPod) -> tuple[Taint, ...]:
        node = self._nodes.cache.get(("", pod.spec.node_name)) if pod.spec.node_name else None
        return no_execute_taints(node.spec.taints) if node is not None else ()

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Deletes a pod whose toleration expired, or requeues it until then."""
        pod = self._pods.cache.get(key)
        if pod is None or pod.is_terminating:
            self._since.pop(key, None)
            return None
        taints = self._taints(pod)
        given = tolerated_seconds(taints, pod.spec.tolerations) if taints else FOREVER
        if given == FOREVER:
            self._spare(pod)
            return None
        now = self._clock.now()
        left = self._since.setdefault(key, now) + given - now
        if left > 0:
            return RequeueAfter(left)
        await self._evict(pod)
        return None

    def _spare(self, pod: ControllerPod) -> None:
        if self._since.pop(pod.key, None) is not None:
            self._record_event(pod, f"Cancelling deletion of Pod {pod.key}")

    async def _evict(self, pod: ControllerPod) -> None:
        self._record_event(pod, f"Marking for deletion Pod {pod.key}")
        present = find(pod.status.conditions, "DisruptionTarget")
        if present is None or present.status != "True":
            why = "Taint manager: deleting due to NoExecute taint"
            condition = disruption_target(pod, "DeletionByTaintManager", why, self._clock.wall())
            await amend_status(self._objects, pod, {"conditions": [condition]})
        await delete(self._objects, pod)
        self._since.pop(pod.key, None)

    def _record_event(self, pod: ControllerPod, message: str) -> None:
        self._recorder.record(reference_to(pod), EventToRecord("Normal", "TaintManagerEviction", message))
