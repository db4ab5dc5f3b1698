"""Forcefully deletes terminating pods on unreachable nodes, if annotated as safe (JOB-97).

Disabled by default: all pods and nodes are watched only if the feature gate is on.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.core.nodes import Node
from kohort.api.core.pods import Pod
from kohort.api.gates import Gate
from kohort.api.meta import ObjectKey
from kohort.api.times import format_duration, format_time, from_timedelta, parse_time
from kohort.controllers.context import RETRY_LIMITS, ControllerContext
from kohort.jobs.assume_cache import CachedObject, CachedResource, ObjectAssumeCache
from kohort.jobs.effects import key_of, reference
from kohort.jobs.objects import annotations, metadata, uid
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.events import EventToRecord
from kohort.kube.informer import Informer
from kohort.kube.options import DeletionOptions, WriteOptions
from kohort.kube.patches import MergePatch
from kohort.kube.workqueue import WorkQueue

ANNOTATION: Final = "kueue.x-k8s.io/safe-to-forcefully-delete"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
CONDITION: Final = "KueueFailureRecovery"
REASON: Final = "KueueForcefullyDeleted"
CONTROLLER: Final = "kueue-pod-termination-controller"
TERMINATION_TIMEOUT: Final = timedelta(seconds=60)
"""How long a pod may take to terminate beyond its grace period."""
NOT_SYNCED_DELAY: Final = 1.0
WORKERS: Final = 4
ENDING: Final = "ending on node"


def is_eligible(pod: JsonObject) -> bool:
    """Whether a terminating pod may be forcefully deleted."""
    return annotations(pod).get(ANNOTATION) == "true" and bool(metadata(pod).get("deletionTimestamp"))


def ending_on(pod: JsonObject) -> Iterable[str]:
    """The node of a pod that may be forcefully deleted."""
    return (_node_of(pod),) if is_eligible(pod) else ()


def due_at(pod: JsonObject) -> datetime:
    """When an eligible pod may be forcefully deleted; deletionTimestamp is the end of its grace period."""
    return parse_time(metadata(pod)["deletionTimestamp"]) + TERMINATION_TIMEOUT


def message(pod: JsonObject) -> str:
    """The message for a pod that is forcefully deleted."""
    grace = timedelta(seconds=metadata(pod).get("deletionGracePeriodSeconds") or 0) + TERMINATION_TIMEOUT
    why = f"due to unreachable node `{_node_of(pod)}` (triggered by `{ANNOTATION}` annotation)"
    return f"Pod forcefully terminated after {format_duration(from_timedelta(grace))} grace period {why}"


def failed_status(pod: JsonObject, now: datetime) -> dict[str, Any] | None:
    """The status patch of a pod that is forcefully deleted; None if it is already written."""
    status = pod.get("status") or {}
    conditions = status.get("conditions") or []
    if any(each.get("type") == CONDITION for each in conditions):
        return None
    written = {"type": CONDITION, "status": "True", "reason": REASON, "message": message(pod)}
    written["lastTransitionTime"] = format_time(now)
    phase = status.get("phase")
    return {"phase": phase if phase in ("Succeeded", "Failed") else "Failed", "conditions": [*conditions, written]}


class FailureRecovery:
    """Forcefully deletes pods on unreachable nodes."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._recorder = context.recorder(CONTROLLER)
        self._pods = ObjectAssumeCache(context.informers, CachedResource(Pod.resource))
        self._pods.index(ENDING, ending_on)
        self._nodes: Informer[Node] = context.informers.of(Node)
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "failure-recovery", RETRY_LIMITS)
        self._controller = Controller("failure-recovery", self._queue, self._reconcile, context.clock)

    def start(self) -> None:
        """Start reconciling."""
        self._pods.informer.subscribe(self._pod_changed)
        self._nodes.subscribe(self._node_changed)
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        await self._controller.stop()

    def _pod_changed(self, _old: CachedObject | None, new: CachedObject | None) -> None:
        """Search the bytes for the annotation first: most pods do not have it."""
        if new is not None and ANNOTATION.encode() in new.raw and is_eligible(new.json()):
            self._queue.add(new.identity.key)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is not None and _is_unreachable(new) and not (old is not None and _is_unreachable(old)):
            for key in self._pods.keys(ENDING, new.metadata.name):
                self._queue.add(key)

    async def _reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        if not self._context.leads():
            return None
        if not (self._pods.informer.synced and self._nodes.synced):
            return RequeueAfter(NOT_SYNCED_DELAY)
        pod = self._pods.get(key)
        if pod is None or not is_eligible(pod):
            return None
        left = (due_at(pod) - self._context.now()).total_seconds()
        if left > 0:
            return RequeueAfter(left)
        node = self._nodes.cache.get(("", _node_of(pod)))
        if node is not None and _is_unreachable(node):
            await self._end(pod)
        return None

    async def _end(self, pod: JsonObject) -> None:
        """Fail the pod, so that its job counts it, and delete it; a crash in between is repaired later."""
        key, pods = key_of(pod), self._context.client.of(Pod.resource)
        changed = failed_status(pod, self._context.now())
        try:
            if changed is not None:
                version = {"resourceVersion": metadata(pod).get("resourceVersion", "")}
                patch = MergePatch({"metadata": version, "status": changed})
                self._pods.assume(await pods.patch(key, patch, WriteOptions(CONTROLLER), "status"))
                self._recorder.record(
                    reference(pod), EventToRecord("Warning", REASON, message(pod), "ForcefulTermination")
                )
            await pods.delete(key, DeletionOptions(grace_seconds=0, uid=uid(pod)))
        except StatusError as error:
            if not error.is_not_found:
                raise


def _node_of(pod: JsonObject) -> str:
    return (pod.get("spec") or {}).get("nodeName") or ""


def _is_unreachable(node: Node) -> bool:
    return any(taint.key == UNREACHABLE for taint in node.spec.taints)


@asynccontextmanager
async def running_failure_recovery(context: ControllerContext) -> AsyncIterator[None]:
    """Runs failure recovery until the context exits, if its feature gate is on."""
    if not context.settings.gates.enabled(Gate.FailureRecoveryPolicy):
        yield
        return
    recovery = FailureRecovery(context)
    recovery.start()
    try:
        yield
    finally:
        await recovery.stop()
