"""The pod garbage collector: removes pods of deleted nodes, unassigned terminating pods and surplus finished pods.

A node must be missing for a while, and a live read must confirm it, before its pods are deleted.
"""

from typing import NamedTuple

from kohort.api.codec import Json
from kohort.api.conditions import is_true
from kohort.api.core.nodes import Node
from kohort.api.meta import ObjectKey
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.disruptions import amend_status, delete, disruption_target
from kohort.embedded.controllers.views import ControllerPod, pods_by_node, pods_on
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.informer import SharedInformerFactory

QUARANTINE = 40.0
"""Seconds for which a node must be missing before its pods are deleted."""
PERIOD = 20.0
"""Seconds for which finished pods are collected before the surplus is removed."""
MAX_FINISHED = 12_500
"""Finished pods that are kept."""
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class _OnePod(NamedTuple):
    """A pod that may have to be deleted."""

    key: ObjectKey


class _OneNode(NamedTuple):
    """A node that may have been deleted."""

    name: str


class _Ended(NamedTuple):
    """All finished pods."""


_Task = _OnePod | _OneNode | _Ended


class PodCleanup(BuiltinController[_Task]):
    """Removes leftover pods."""

    NAME = "pod-garbage-collector-controller"
    WORKERS = 4

    def __init__(self, client: Client, informers: SharedInformerFactory, max_finished: int = MAX_FINISHED) -> None:
        super().__init__(client)
        self._objects = client.of(ControllerPod)
        self._max_finished = max_finished
        self._ended: dict[ObjectKey, None] = {}
        self._nodes = informers.of(Node)
        self._pods = pods_by_node(informers)
        self._nodes.subscribe(self._on_node)
        self._pods.subscribe(self._on_pod)

    def _on_node(self, old: Node | None, new: Node | None) -> None:
        if new is None and old is not None:
            self._queue.add_after(_OneNode(old.metadata.name), QUARANTINE)
        elif new is not None and _is_out_of_service(new):
            for pod in pods_on(self._pods.cache, new.metadata.name):
                self._queue.add(_OnePod(pod.key))

    def _on_pod(self, old: ControllerPod | None, new: ControllerPod | None) -> None:
        pod = new or old
        if pod is None:
            return
        if new is None or not new.is_finished:
            self._ended.pop(pod.key, None)
        else:
            self._ended[pod.key] = None
            if len(self._ended) > self._max_finished:
                self._queue.add_after(_Ended(), PERIOD)
        if new is None:
            return
        if new.is_terminating:
            self._queue.add(_OnePod(new.key))
        if new.spec.node_name and (old is None or not old.spec.node_name) and not self._has_node(new.spec.node_name):
            self._queue.add_after(_OneNode(new.spec.node_name), QUARANTINE)

    def _has_node(self, node: str) -> bool:
        return self._nodes.cache.get(("", node)) is not None

    async def reconcile(self, task: _Task) -> None:
        """Dispatches by kind of task."""
        match task:
            case _OnePod(key):
                await self._delete_terminating(key)
            case _OneNode(name):
                await self._delete_orphans(name)
            case _Ended():
                await self._delete_surplus()

    async def _delete_terminating(self, key: ObjectKey) -> None:
        """Deletes a terminating pod that no node agent can stop."""
        pod = self._pods.cache.get(key)
        if pod is None or not pod.is_terminating:
            return
        node = self._nodes.cache.get(("", pod.spec.node_name)) if pod.spec.node_name else None
        if not pod.spec.node_name or (node is not None and _is_out_of_service(node)):
            await self._delete_pod(pod)

    async def _delete_orphans(self, name: str) -> None:
        """Deletes the pods of a deleted node."""
        pods = pods_on(self._pods.cache, name)
        if not pods or self._has_node(name) or await self._is_served(name):
            return
        for pod in pods:
            now = self._clock.wall()
            await self._delete_pod(pod, disruption_target(pod, "DeletionByPodGC", "PodGC: node no longer exists", now))

    async def _is_served(self, name: str) -> bool:
        """Whether a live read finds the node."""
        try:
            await self._nodes.objects.get(("", name))
        except StatusError as error:
            if error.is_not_found:
                return False
            raise
        return True

    async def _delete_surplus(self) -> None:
        """Deletes finished pods above the limit: evicted ones first, then the oldest."""
        found = [pod for key in self._ended if (pod := self._pods.cache.get(key)) is not None]
        surplus = len(found) - self._max_finished
        for pod in sorted(found, key=_age)[: max(0, surplus)]:
            await self._delete_pod(pod)

    async def _delete_pod(self, pod: ControllerPod, condition: dict[str, Json] | None = None) -> None:
        """Marks the pod Failed before deleting it, since no node agent will."""
        if not pod.is_finished:
            conditions = [condition] if condition is not None else []
            await amend_status(self._objects, pod, {"phase": "Failed", "conditions": conditions})
        await delete(self._objects, pod, grace=0)


def _is_out_of_service(node: Node) -> bool:
    """Whether the node has the out-of-service taint and is not ready."""
    tainted = any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
    return tainted and not is_true(node.status.conditions, "Ready")


def _age(pod: ControllerPod) -> tuple[bool, float, str]:
    created = pod.metadata.creation_timestamp
    return (pod.status.reason != "Evicted", created.timestamp() if created else 0.0, pod.metadata.name)
