"""The node lifecycle controller: marks unreachable nodes Unknown and maintains condition taints.

A lease renewal costs one timestamp; each node is checked when its grace period ends. If no node at all is ready, the
fault is more likely on this side, so pods are not evicted.
"""

from datetime import datetime

from kohort.api.conditions import find, is_true
from kohort.api.core.leases import Lease
from kohort.api.core.nodes import Node
from kohort.api.times import format_time
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.disruptions import amend_status
from kohort.embedded.controllers.node_health import (
    has_no_execute_taint,
    no_execute_taint,
    no_schedule_taints,
    ready_status,
    taints_body,
    unknown_conditions,
    with_taints,
)
from kohort.embedded.controllers.views import pods_by_node, pods_on, reference_to
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.events import EventToRecord
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import ListScope
from kohort.kube.patches import MergePatch, StrategicPatch
from kohort.kube.rate_limiter import TokenBucket

LEASES = ListScope("kube-node-lease")
GRACE = 50.0
"""Seconds without a heartbeat after which a node is unreachable."""
STARTUP_GRACE = 60.0
"""The same for a node that has not reported yet."""
LEASE_STRETCH = 1.25
"""Grace period as a multiple of the lease duration; a kubelet's 40 s result in the usual 50."""
EVICTIONS_PER_SECOND = 0.1
"""Nodes per second that get a NoExecute taint, which bounds evictions in an outage."""
RECHECK_SECONDS = 5.0


class NodeLifecycle(BuiltinController[str]):
    """Reconciles all nodes."""

    NAME = "node-controller"
    WORKERS = 8

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._heartbeats: dict[str, float] = {}
        self._ready: set[str] = set()
        self._evictions = TokenBucket(client.clock, EVICTIONS_PER_SECOND, 1)
        self._nodes = informers.of(Node)
        self._leases = informers.of(Lease, LEASES)
        self._pods = pods_by_node(informers)
        self._nodes.subscribe(self._on_node)
        self._leases.subscribe(self._on_lease)

    # Heartbeats

    def _on_lease(self, old: Lease | None, new: Lease | None) -> None:
        if new is None or (old is not None and old.spec.renew_time == new.spec.renew_time):
            return
        if new.metadata.name in self._heartbeats:
            self._heartbeats[new.metadata.name] = self._clock.now()

    def _on_node(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            if old is not None:
                self._forget(old)
            return
        name = new.metadata.name
        if old is None:
            self._record_event(new, "RegisteredNode", f"Registered Node {name} in Controller")
        if old is None or _is_heartbeat(old, new):
            self._heartbeats[name] = self._clock.now()
        self._note_readiness(name, ready_status(new))
        if old is None or old.spec != new.spec or _states(old) != _states(new):
            self._queue.add(name)

    def _forget(self, node: Node) -> None:
        self._heartbeats.pop(node.metadata.name, None)
        self._note_readiness(node.metadata.name, "")
        self._record_event(node, "RemovingNode", f"Removing Node {node.metadata.name} from Controller")

    def _note_readiness(self, name: str, status: str) -> None:
        """Enqueues all nodes when the last ready one is lost or the first is ready again."""
        was_outage = not self._ready
        if status == "True":
            self._ready.add(name)
        else:
            self._ready.discard(name)
        if was_outage != (not self._ready):
            for key in self._nodes.cache.all_keys():
                self._queue.add(key.name)

    # Reconciliation

    async def reconcile(self, name: str) -> RequeueAfter | None:
        """Marks an unreachable node or updates its taints and pods."""
        node = self._nodes.cache.get(("", name))
        if node is None:
            return None
        left = self._heartbeats.setdefault(name, self._clock.now()) + self._grace(node) - self._clock.now()
        if left <= 0 and await self._mark_unreachable(node):
            return None  # the write itself enqueues the node again
        if ready_status(node) == "Unknown":
            await self._mark_pods(node)
        is_settled = await self._taint(node)
        if left > 0:
            return RequeueAfter(left if is_settled else min(left, RECHECK_SECONDS))
        return None if is_settled and ready_status(node) == "Unknown" else RequeueAfter(RECHECK_SECONDS)

    def _grace(self, node: Node) -> float:
        if not ready_status(node):
            return STARTUP_GRACE
        lease = self._leases.cache.get((LEASES.namespace, node.metadata.name))
        asked = (lease.spec.lease_duration_seconds or 0) if lease is not None else 0
        return max(GRACE, LEASE_STRETCH * asked)

    async def _mark_unreachable(self, node: Node) -> bool:
        """Sets the conditions of an unreachable node to Unknown, unless the server itself is unreachable."""
        changes = unknown_conditions(node, self._clock.wall())
        if not changes or not (self._leases.synced and self._nodes.synced):
            return False
        body = {"metadata": {"resourceVersion": node.metadata.resource_version}, "status": {"conditions": changes}}
        await self._nodes.objects.patch(("", node.metadata.name), StrategicPatch(body), subresource="status")
        if ready_status(node) == "True":
            message = f"Node {node.metadata.name} status is now: NodeNotReady"
            self._recorder.record(reference_to(node), EventToRecord("Normal", "NodeNotReady", message))
        return True

    async def _mark_pods(self, node: Node) -> None:
        """Marks the pods of an unreachable node not ready."""
        for pod in pods_on(self._pods.cache, node.metadata.name):
            if is_true(pod.status.conditions, "Ready"):
                moment = format_time(self._clock.wall())
                condition = {"type": "Ready", "status": "False", "lastTransitionTime": moment}
                await amend_status(self._pods.objects, pod, {"conditions": [condition]})
                self._recorder.record(reference_to(pod), EventToRecord("Warning", "NodeNotReady", "Node is not ready"))

    async def _taint(self, node: Node) -> bool:
        """Updates the node's taints; False if NoExecute is delayed by the rate limit."""
        driven = no_execute_taint(node) if self._ready else set()
        waits = bool(driven) and not has_no_execute_taint(node) and not self._evictions.try_take()
        wanted = no_schedule_taints(node) | (set() if waits else driven)
        taints = with_taints(node, wanted, self._clock.wall())
        if taints != node.spec.taints:
            state = {"resourceVersion": node.metadata.resource_version}
            patch = MergePatch({"metadata": state, "spec": {"taints": taints_body(taints) or None}})
            await self._nodes.objects.patch(("", node.metadata.name), patch)
        return not waits

    def _record_event(self, node: Node, reason: str, message: str) -> None:
        note = EventToRecord("Normal", reason, f"Node {node.metadata.name} event: {message}")
        self._recorder.record(reference_to(node), note)


def _is_heartbeat(old: Node, new: Node) -> bool:
    """Whether the update is a heartbeat: only the node agent updates heartbeats and readiness."""
    is_back = ready_status(old) == "Unknown" != ready_status(new)
    return is_back or _heartbeat(old) != _heartbeat(new)


def _heartbeat(node: Node) -> datetime | None:
    ready = find(node.status.conditions, "Ready")
    return ready.last_heartbeat_time if ready is not None else None


def _states(node: Node) -> list[tuple[str, str]]:
    return [(each.type, each.status) for each in node.status.conditions]
