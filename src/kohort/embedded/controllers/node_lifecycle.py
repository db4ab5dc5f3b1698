"""Watches over nodes: one that is silent becomes Unknown, and the taints of each follow its conditions.

A renewed lease costs a note of the time and nothing else; each node is looked at when its time would be up. Where no
node at all is ready the fault is more likely ours, so nobody is driven out.
"""

from datetime import datetime

from kohort.api.conditions import find
from kohort.api.core.leases import Lease
from kohort.api.core.nodes import Node
from kohort.api.times import format_time
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.disruptions import amend_status
from kohort.embedded.controllers.node_health import (
    is_driving_out,
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
"""Seconds of silence after which a node counts as lost."""
STARTUP_GRACE = 60.0
"""The same for a node that has not said anything yet."""
LEASE_STRETCH = 1.25
"""A node that asked for a longer lease is given so many times its length; a kubelet's 40 s make the usual 50."""
EXPELLED_PER_SECOND = 0.1
"""Nodes from which pods are driven out per second: an outage must not become a stampede."""
LOOK_AGAIN = 5.0


class NodeLifecycle(BuiltinController[str]):
    """Watches over all nodes."""

    NAME = "node-controller"
    WORKERS = 8

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._heard: dict[str, float] = {}
        self._ready: set[str] = set()
        self._expulsions = TokenBucket(client.clock, EXPELLED_PER_SECOND, 1)
        self._nodes = informers.of(Node)
        self._leases = informers.of(Lease, LEASES)
        self._pods = pods_by_node(informers)
        self._nodes.subscribe(self._on_node)
        self._leases.subscribe(self._on_lease)

    # What is heard

    def _on_lease(self, old: Lease | None, new: Lease | None) -> None:
        if new is None or (old is not None and old.spec.renew_time == new.spec.renew_time):
            return
        if new.metadata.name in self._heard:
            self._heard[new.metadata.name] = self._clock.now()

    def _on_node(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            if old is not None:
                self._forget(old)
            return
        name = new.metadata.name
        if old is None:
            self._tell_about(new, "RegisteredNode", f"Registered Node {name} in Controller")
        if old is None or _is_sign_of_life(old, new):
            self._heard[name] = self._clock.now()
        self._note_readiness(name, ready_status(new))
        if old is None or old.spec != new.spec or _states(old) != _states(new):
            self._queue.add(name)

    def _forget(self, node: Node) -> None:
        self._heard.pop(node.metadata.name, None)
        self._note_readiness(node.metadata.name, "")
        self._tell_about(node, "RemovingNode", f"Removing Node {node.metadata.name} from Controller")

    def _note_readiness(self, name: str, status: str) -> None:
        """Where the last node is lost, or the first one is back, all of them are to be looked at."""
        was_outage = not self._ready
        if status == "True":
            self._ready.add(name)
        else:
            self._ready.discard(name)
        if was_outage != (not self._ready):
            for key in self._nodes.cache.all_keys():
                self._queue.add(key.name)

    # One node

    async def reconcile(self, name: str) -> RequeueAfter | None:
        """Say that a node is lost, or make its taints and pods fit what is known of it."""
        node = self._nodes.cache.get(("", name))
        if node is None:
            return None
        left = self._heard.setdefault(name, self._clock.now()) + self._grace(node) - self._clock.now()
        if left <= 0 and await self._lose(node):
            return None  # the change itself brings the node back here
        if ready_status(node) == "Unknown":
            await self._mark_pods(node)
        is_settled = await self._taint(node)
        if left > 0:
            return RequeueAfter(left if is_settled else min(left, LOOK_AGAIN))
        return None if is_settled and ready_status(node) == "Unknown" else RequeueAfter(LOOK_AGAIN)

    def _grace(self, node: Node) -> float:
        if not ready_status(node):
            return STARTUP_GRACE
        lease = self._leases.cache.get((LEASES.namespace, node.metadata.name))
        asked = (lease.spec.lease_duration_seconds or 0) if lease is not None else 0
        return max(GRACE, LEASE_STRETCH * asked)

    async def _lose(self, node: Node) -> bool:
        """Say in its status that a node is silent; not while we are the ones who can't hear."""
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
        """Nobody knows whether the pods of a lost node still serve."""
        for pod in pods_on(self._pods.cache, node.metadata.name):
            ready = find(pod.status.conditions, "Ready")
            if ready is not None and ready.status == "True":
                moment = format_time(self._clock.wall())
                condition = {"type": "Ready", "status": "False", "lastTransitionTime": moment}
                await amend_status(self._pods.objects, pod, {"conditions": [condition]})
                self._recorder.record(reference_to(pod), EventToRecord("Warning", "NodeNotReady", "Node is not ready"))

    async def _taint(self, node: Node) -> bool:
        """Give the node the taints it should have; False when pods may be driven out only later."""
        driven = no_execute_taint(node) if self._ready else set()
        waits = bool(driven) and not is_driving_out(node) and not self._expulsions.try_take()
        wanted = no_schedule_taints(node) | (set() if waits else driven)
        taints = with_taints(node, wanted, self._clock.wall())
        if taints != node.spec.taints:
            state = {"resourceVersion": node.metadata.resource_version}
            patch = MergePatch({"metadata": state, "spec": {"taints": taints_body(taints) or None}})
            await self._nodes.objects.patch(("", node.metadata.name), patch)
        return not waits

    def _tell_about(self, node: Node, reason: str, message: str) -> None:
        note = EventToRecord("Normal", reason, f"Node {node.metadata.name} event: {message}")
        self._recorder.record(reference_to(node), note)


def _is_sign_of_life(old: Node, new: Node) -> bool:
    """Whether a node has spoken: nobody else posts heartbeats, nor takes back that it is lost."""
    is_back = ready_status(old) == "Unknown" != ready_status(new)
    return is_back or _heartbeat(old) != _heartbeat(new)


def _heartbeat(node: Node) -> datetime | None:
    ready = find(node.status.conditions, "Ready")
    return ready.last_heartbeat_time if ready is not None else None


def _states(node: Node) -> list[tuple[str, str]]:
    return [(each.type, each.status) for each in node.status.conditions]
