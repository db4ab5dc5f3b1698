"""The controller of node failures: lists failed nodes in the status of Workloads, or evicts (TAS-100 to TAS-106).

Keys are hosts: the names of nodes in assignments. Decisions are made by `node_failures` and `unhealthy_nodes`.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final, NamedTuple

from kohort.api.core.nodes import Node
from kohort.api.gates import Gate
from kohort.api.kueue.keys import SLICE_NAME_ANNOTATION
from kohort.api.kueue.v1beta2 import ResourceFlavor, Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import RETRY_LIMITS, ControllerContext
from kohort.controllers.topology.feed import TopologyInformers
from kohort.controllers.topology.host_index import HostIndex
from kohort.controllers.topology.node_failures import (
    FailurePolicy,
    NodeVerdict,
    WorkloadOnNode,
    fails_at,
    judge,
    rejects_pods,
    taint_effect,
)
from kohort.controllers.topology.nodes import HostMap, host_of, is_ready
from kohort.controllers.topology.pod_failures import fail_pod
from kohort.controllers.topology.pods import (
    NODE,
    SELECTED_HOST,
    PodRecord,
    node_of_topology_pod,
    selected_host,
)
from kohort.controllers.topology.unhealthy_nodes import with_failed_node, with_healthy_node
from kohort.controllers.workload_events import record_workload_events
from kohort.controllers.workloads.assume_cache import key_of
from kohort.engine.lifecycle.conditions import is_evicted, is_finished
from kohort.engine.lifecycle.events import WorkloadChange
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

CONTROLLER: Final = "tas-node-controller"
"""Source of events."""
STATUS_MANAGER: Final = "kueue-admission"
"""Field manager of status writes (docs/spec/api.md, section 6)."""
BATCH_SECONDS: Final = 0.1
"""Seconds within which events of pods of one host are handled together (TAS-101)."""
NOT_SYNCED_DELAY: Final = 1.0
WORKERS: Final = 8


class _Host(NamedTuple):
    """A host with its pods of topology-aware Workloads."""

    name: str
    node: Node | None
    bound: list[PodRecord]
    """Pods that are bound to it."""
    stuck: list[PodRecord]
    """Pods that select it and wait to be scheduled."""


class NodeFailureController:
    """Reconciles hosts when their node, their pods or their Workloads change."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._policy = FailurePolicy.of(context.settings.gates)
        self._recorder = context.recorder(CONTROLLER)
        self._index = HostIndex()
        self._queue: WorkQueue[str] = WorkQueue(context.clock, "node-failures", RETRY_LIMITS)
        self._controller = Controller("node-failures", self._queue, self._reconcile, context.clock)

    def start(self) -> None:
        """Start reconciling once nodes and pods are watched."""
        self._context.topology_feed.when_started(self._start)

    def _start(self, informers: TopologyInformers) -> None:
        self._pods = informers.pods
        self._hosts = HostMap(informers.nodes)
        self._pods.index(NODE, node_of_topology_pod)
        self._pods.index(SELECTED_HOST, selected_host)
        informers.nodes.subscribe(self._node_changed)
        informers.pods.subscribe(self._pod_changed)
        self._context.workload_cache.follow(self._workload_changed)
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        await self._controller.stop()

    # Events of TAS-101

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if old is None or new is None or self._is_other(old, new):
            for host in {host_of(node) for node in (old, new) if node is not None}:
                self._queue.add(host)

    def _is_other(self, old: Node, new: Node) -> bool:
        if is_ready(old) != is_ready(new) or host_of(old) != host_of(new):
            return True
        return self._policy.considers_taints and old.spec.taints != new.spec.taints

    def _pod_changed(self, old: PodRecord | None, new: PodRecord | None) -> None:
        """A pod that waits for a host, or one that leaves its host."""
        found = new or old
        if found is None or found.topology is None:
            return
        if not found.node:
            host = found.topology.host
        else:
            host = "" if new is not None and found.topology.is_progressing else self._hosts.host_of(found.node)
        if host:
            self._queue.add_after(host, BATCH_SECONDS)

    def _workload_changed(self, key: ObjectKey, workload: Workload | None) -> None:
        """A node of a new assignment may have failed since; pods may still wait for one of the former assignment."""
        for host in self._index.put(key, workload):
            self._queue.add_after(host, BATCH_SECONDS)

    # Reconciling

    async def _reconcile(self, name: str) -> RequeueAfter | None:
        await asyncio.sleep(0)  # A reconcile without a write awaits nothing; 10,000 nodes must not block other tasks.
        if not self._context.leads():
            return None
        if not self._context.feed.is_synced:
            return RequeueAfter(NOT_SYNCED_DELAY)
        host, now = self._host(name), self._context.now()
        failures: list[KubeError] = []
        for key in self._concerned(host):
            try:
                await self._reconcile_workload(key, host, now)
            except KubeError as error:  # The other Workloads must not wait for this one; the host is retried.
                if not _is_not_found(error):
                    failures.append(error)
        if failures:
            raise failures[0]
        return self._requeue(host, now)

    def _host(self, name: str) -> _Host:
        bound = (pod for node in sorted(self._hosts.node_names(name)) for pod in self._pods.cache.find(NODE, node))
        stuck = (pod for pod in self._pods.cache.find(SELECTED_HOST, name) if pod.topology and pod.topology.is_stuck)
        return _Host(name, self._hosts.node_of(name), list(bound), list(stuck))

    def _concerned(self, host: _Host) -> Iterable[ObjectKey]:
        """Workloads with an assignment to the host, and those with pods that only select it (TAS-102)."""
        strays = (ObjectKey(pod.identity.key.namespace, pod.topology.workload) for pod in host.stuck if pod.topology)
        return dict.fromkeys((*self._index.on(host.name), *strays))

    async def _reconcile_workload(self, key: ObjectKey, host: _Host, now: datetime) -> None:
        workload = self._context.workload_cache.get(key)
        if workload is None or is_finished(workload) or is_evicted(workload):
            return
        if not self._index.has(host.name, key):
            await self._write(workload, WorkloadChange(with_healthy_node(workload, host.name)))
            await self._fail_stuck(key, host, now)
            return
        effect = taint_effect(host.node, workload, host.name, self._flavor)
        state = WorkloadOnNode(effect, _has_progressing(workload, host.bound))
        verdict = judge(host.node, state, self._policy, now)
        written = await self._write(workload, _change(workload, host.name, verdict, now))
        is_rejecting = verdict is not NodeVerdict.WAITING and rejects_pods(host.node, effect, self._policy)
        if is_rejecting and not is_evicted(written):
            await self._fail_stuck(key, host, now)

    async def _write(self, before: Workload, change: WorkloadChange) -> Workload:
        if change.workload is before:
            return before
        written = await self._context.workload_cache.write_status(before, change.workload, STATUS_MANAGER)
        record_workload_events(self._recorder, written, change.events)
        listed = ", ".join(node.name for node in written.status.unhealthy_nodes)
        log.info("workload %s: unhealthy nodes: %s", key_of(written), listed or "none")
        return written

    async def _fail_stuck(self, key: ObjectKey, host: _Host, now: datetime) -> None:
        for pod in host.stuck:
            if pod.topology is not None and (pod.identity.key.namespace, pod.topology.workload) == key:
                await fail_pod(self._context.client, self._recorder, pod, now)

    def _flavor(self, name: str) -> ResourceFlavor | None:
        return self._context.flavors.cache.get(("", name))

    def _requeue(self, host: _Host, now: datetime) -> RequeueAfter | None:
        """Requeue for the time when a node that is not ready fails."""
        failing = fails_at(host.node, self._policy) if host.node is not None else None
        return RequeueAfter((failing - now).total_seconds()) if failing is not None and failing > now else None


def _is_not_found(error: KubeError) -> bool:
    """Whether the Workload was deleted meanwhile."""
    return isinstance(error, StatusError) and error.is_not_found


def _has_progressing(workload: Workload, bound: Iterable[PodRecord]) -> bool:
    """TAS-104; pods of an elastic job belong to its slice, not to the Workload that started them."""
    metadata = workload.metadata
    name = metadata.annotations.get(SLICE_NAME_ANNOTATION) or metadata.name
    return any(
        pod.topology is not None
        and pod.topology.is_progressing
        and (pod.identity.key.namespace, pod.topology.slice) == (metadata.namespace, name)
        for pod in bound
    )


def _change(workload: Workload, host: str, verdict: NodeVerdict, now: datetime) -> WorkloadChange:
    match verdict:
        case NodeVerdict.FAILED:
            return with_failed_node(workload, host, now)
        case NodeVerdict.HEALTHY:
            return WorkloadChange(with_healthy_node(workload, host))
        case NodeVerdict.WAITING:
            return WorkloadChange(workload)


@asynccontextmanager
async def running_node_failure_controller(context: ControllerContext) -> AsyncIterator[None]:
    """Runs the controller until the context exits, if failed nodes are to be replaced."""
    gates = context.settings.gates
    if not (gates.enabled(Gate.TopologyAwareScheduling) and gates.enabled(Gate.TASFailedNodeReplacement)):
        yield
        return
    controller = NodeFailureController(context)
    controller.start()
    try:
        yield
    finally:
        await controller.stop()
