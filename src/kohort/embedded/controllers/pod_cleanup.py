"""Removes pods that nobody else would: of nodes that are gone, leaving ones without a node, too many that have ended.

A node must be away for a while, and the server itself must say so, before its pods are given up.
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
"""Seconds that a node must be away before its pods are given up."""
PERIOD = 20.0
"""Seconds in which ended pods are gathered before the surplus is removed."""
MOST_ENDED = 12_500
"""Ended pods that are kept for people to look at."""
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class _OnePod(NamedTuple):
    """A pod that may have to go."""

    key: ObjectKey


class _OneNode(NamedTuple):
    """A node that may be gone."""

    name: str


class _Ended(NamedTuple):
    """All pods that have ended."""


_Task = _OnePod | _OneNode | _Ended


class PodCleanup(BuiltinController[_Task]):
    """Watches for pods that are left behind."""

    NAME = "pod-garbage-collector-controller"
    WORKERS = 4

    def __init__(self, client: Client, informers: SharedInformerFactory, most_ended: int = MOST_ENDED) -> None:
        super().__init__(client)
        self._objects = client.of(ControllerPod)
        self._most_ended = most_ended
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
            if len(self._ended) > self._most_ended:
                self._queue.add_after(_Ended(), PERIOD)
        if new is None:
            return
        if new.is_leaving:
            self._queue.add(_OnePod(new.key))
        if new.spec.node_name and (old is None or not old.spec.node_name) and not self._knows(new.spec.node_name):
            self._queue.add_after(_OneNode(new.spec.node_name), QUARANTINE)

    def _knows(self, node: str) -> bool:
        return self._nodes.cache.get(("", node)) is not None

    async def reconcile(self, task: _Task) -> None:
        """Do one of the three."""
        match task:
            case _OnePod(key):
                await self._end_leaving(key)
            case _OneNode(name):
                await self._end_orphans(name)
            case _Ended():
                await self._end_surplus()

    async def _end_leaving(self, key: ObjectKey) -> None:
        """A pod on its way out that no node can see off."""
        pod = self._pods.cache.get(key)
        if pod is None or not pod.is_leaving:
            return
        node = self._nodes.cache.get(("", pod.spec.node_name)) if pod.spec.node_name else None
        if not pod.spec.node_name or (node is not None and _is_out_of_service(node)):
            await self._end(pod)

    async def _end_orphans(self, name: str) -> None:
        """The pods of a node that is gone for good."""
        pods = pods_on(self._pods.cache, name)
        if not pods or self._knows(name) or await self._is_served(name):
            return
        for pod in pods:
            now = self._clock.wall()
            await self._end(pod, disruption_target(pod, "DeletionByPodGC", "PodGC: node no longer exists", now))

    async def _is_served(self, name: str) -> bool:
        """Whether the server has the node, whatever the cache says."""
        try:
            await self._nodes.objects.get(("", name))
        except StatusError as error:
            if error.is_not_found:
                return False
            raise
        return True

    async def _end_surplus(self) -> None:
        """Ended pods above the bound: evicted ones first, then the oldest."""
        found = [pod for key in self._ended if (pod := self._pods.cache.get(key)) is not None]
        surplus = len(found) - self._most_ended
        for pod in sorted(found, key=_age)[: max(0, surplus)]:
            await self._end(pod)

    async def _end(self, pod: ControllerPod, condition: dict[str, Json] | None = None) -> None:
        """Nobody else will ever say that it failed, so that is said first."""
        if not pod.is_finished:
            conditions = [condition] if condition is not None else []
            await amend_status(self._objects, pod, {"phase": "Failed", "conditions": conditions})
        await delete(self._objects, pod, grace=0)


def _is_out_of_service(node: Node) -> bool:
    """Whether somebody has said that the node is off, and it does not say otherwise."""
    tainted = any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
    return tainted and not is_true(node.status.conditions, "Ready")


def _age(pod: ControllerPod) -> tuple[bool, float, str]:
    created = pod.metadata.creation_timestamp
    return (pod.status.reason != "Evicted", created.timestamp() if created else 0.0, pod.metadata.name)
