"""The node agent for any number of nodes: one pod informer, one work queue, no task per pod.

Every change of a pod or of its runtime state enqueues the pod's key; `reconcile` evaluates the pod and does what is
missing: admit, reject, start, report, stop, remove.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

from kohort.api.codec import Json
from kohort.api.core.objects import ObjectReference
from kohort.api.core.pods import Pod
from kohort.api.meta import ObjectKey
from kohort.embedded.nodes.addresses import PodIpAllocator
from kohort.embedded.nodes.admission import NodeUsage, rejected_status, rejection, requests_of
from kohort.embedded.nodes.bound_pods import BoundPod, BoundPodResource
from kohort.embedded.nodes.manifests import AgentDefaults
from kohort.embedded.nodes.pod_worker import PodWorker, WorkerCallbacks, has_run_out
from kohort.embedded.nodes.registration import NodeRegistration, Registrar, only
from kohort.embedded.nodes.runtime import PodEvent, PodFailure, Runtime
from kohort.embedded.nodes.status import PodStatusContext, patch_between, rejected
from kohort.embedded.nodes.timers import Timers
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube import events
from kohort.kube.client import Client
from kohort.kube.controller import Controller
from kohort.kube.errors import StatusError, bad_request
from kohort.kube.informer import Informer
from kohort.kube.options import DeletionOptions, ListScope
from kohort.kube.patches import StrategicPatch
from kohort.kube.workqueue import WorkQueue

log = logging.getLogger(__name__)

NAME = "kubelet"
_WORKERS = 16
_STOP_TIMEOUT = 5.0
"""Seconds after the grace period when containers that never ran count as stopped."""
_DEADLINE = PodFailure("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class NodeAgent:
    """Runs the pods bound to its nodes."""

    def __init__(
        self, client: Client, registration: NodeRegistration, runtime: Runtime, addresses: PodIpAllocator | None = None
    ) -> None:
        self._client = client
        self._clock = client.clock
        self._runtime = runtime
        self._addresses = addresses or PodIpAllocator()
        names = tuple(node.name for node in registration.nodes)
        self._names = frozenset(names)
        self.registrar = Registrar(client, registration, self._addresses)
        bound = only(names, "spec.nodeName") if len(names) == 1 else ListScope(fields="spec.nodeName!=")
        self._informer = Informer(client.of(BoundPodResource(ours=self._names)), bound)
        self._pods = client.of(Pod.resource)
        self._recorder = events.EventRecorder(client, NAME, names[0] if len(names) == 1 else "kohort")
        self._queue = WorkQueue[ObjectKey](self._clock, NAME, metrics=client.metrics)
        self._controller = Controller(NAME, self._queue, self.reconcile, self._clock, client.metrics)
        self._timers = Timers(self._clock)
        self._site = AgentDefaults()
        self._usage = NodeUsage()
        self._workers: dict[ObjectKey, PodWorker] = {}
        self._callbacks = WorkerCallbacks(self._queue.add, self._record_event)
        self._tasks: list[asyncio.Task[None]] = []

    # Lifecycle

    async def start(self, site: AgentDefaults) -> None:
        """Registers the nodes and adopts their pods; returns when the nodes exist and the pod informer has synced."""
        self._site = site
        await self._runtime.start()
        self._timers.start()
        self._tasks = [asyncio.create_task(self._recorder.run())]
        await self.registrar.start(site)
        self._informer.subscribe(self._on_change)
        self._tasks.append(asyncio.create_task(self._informer.run()))
        await self._informer.wait_for_sync()
        self._controller.start(_WORKERS)

    async def stop(self) -> None:
        """Stops the agent; the runtime decides about running pods, the registration about nodes."""
        await self._controller.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._timers.stop()
        await self._runtime.stop()
        await self._recorder.flush()
        await self.registrar.stop()

    def __len__(self) -> int:
        """Number of pods of the agent."""
        return len(self._workers)

    @property
    def is_up_to_date(self) -> bool:
        """Whether the status of every pod found at start-up has been reported."""
        is_idle = not len(self._queue) and not self._queue.in_flight
        return is_idle and not any(worker.awaits_first_report for worker in self._workers.values())

    # Event handlers

    def _on_change(self, old: BoundPod | None, new: BoundPod | None) -> None:
        pod = new or old
        if pod is None or pod.node not in self._names:
            return
        worker = self._workers.get(pod.key)
        if new is None or worker is None or worker.uid != new.uid:
            # Running pods are counted before new ones are admitted.
            self._queue.add(pod.key, priority=int(pod.phase == "Running"))
            return
        new.drop_raw()
        if new.version == worker.version:
            worker.is_echoed = True
        if self._is_foreign_change(old, new, worker):
            self._queue.add(new.key)

    def _is_foreign_change(self, old: BoundPod | None, new: BoundPod, worker: PodWorker) -> bool:
        """Whether the pod changed in more than the agent's own writes."""
        if old is None or (worker.is_echoed and new.version != worker.version):
            return True
        return (old.deletion_grace, old.open_gates, old.generation) != (
            new.deletion_grace,
            new.open_gates,
            new.generation,
        )

    # Reconciliation

    async def reconcile(self, key: ObjectKey) -> None:
        """Does what is missing for one pod."""
        seen, worker = self._informer.cache.get(key), self._workers.get(key)
        if worker is not None and (seen is None or seen.uid != worker.uid):
            await self._forget(worker)
            worker = None
        if seen is None or seen.shape is None:
            return
        if worker is None:
            worker = await self._adopt(seen)
        if worker is not None:
            await self._advance(worker, seen)

    async def _adopt(self, seen: BoundPod) -> PodWorker | None:
        """Adopts a pod that is new to this agent, unless it has finished or belongs to another node."""
        if seen.deletion_grace is not None and (seen.has_ended or seen.started is None):
            await self._fail_unstarted(seen)
            return None
        if not seen.raw:
            return None  # already evaluated at this version; a change brings a new one
        if seen.has_ended:
            return self._adopt_finished(seen)
        if seen.is_gated and seen.phase != "Running":
            seen.drop_raw()
            return None
        body, pod = seen.whole()
        requests = self._usage.shared(requests_of(body))
        why = None if seen.phase == "Running" else self._rejection(seen, pod, requests)
        if why is not None:
            await self._reject(seen, body, why)
            return None
        return self._start(seen, body, requests)

    def _rejection(self, seen: BoundPod, pod: Pod, requests: Mapping[str, int]) -> PodFailure | None:
        node = self.registrar.get(seen.node)
        if node is None:
            return None
        return rejection(pod, requests, node, self._usage.used(seen.node))

    def _start(self, seen: BoundPod, body: dict[str, Json], requests: Mapping[str, int]) -> PodWorker:
        worker = self._start_in_runtime(seen, body, self._addresses.allocate(seen.node, _held(body)))
        worker.requests, worker.is_released = requests, False
        self._usage.take(seen.node, requests)
        self._watch_deadline(worker, seen)
        return worker

    def _adopt_finished(self, seen: BoundPod) -> PodWorker | None:
        """Keeps a pod that finished under a previous agent, so that its runtime can serve its logs."""
        body, _ = seen.whole()
        if not has_run_out(body):
            seen.drop_raw()
            return None
        worker = self._start_in_runtime(seen, body, _held(body))
        worker.is_past = True
        return worker

    def _start_in_runtime(self, seen: BoundPod, body: dict[str, Json], address: str) -> PodWorker:
        """Starts a pod in the runtime."""
        assert seen.shape is not None  # noqa: S101 - the caller has looked
        status: Mapping[str, Any] = body.get("status") or {}
        worker = PodWorker(seen, seen.shape, status, self._callbacks)
        worker.started = seen.started or self._clock.wall()
        worker.pod_ip = address
        worker.running = self._runtime.run(body, worker)
        seen.drop_raw()
        self._workers[seen.key] = worker
        return worker

    def _watch_deadline(self, worker: PodWorker, seen: BoundPod) -> None:
        shape, now = seen.shape, self._clock.wall()
        if shape is None or shape.deadline is None:
            return
        left = (worker.started or now) + timedelta(seconds=shape.deadline) - now

        def expire() -> None:
            if not worker.is_over:
                worker.failure = worker.failure or _DEADLINE
                self._record_event(worker, PodEvent("Normal", _DEADLINE.reason, _DEADLINE.message))
                self._stop_pod(worker, shape.grace)

        worker.timer = self._timers.after(left.total_seconds(), expire)

    def _stop_pod(self, worker: PodWorker, grace: float) -> None:
        """Stops a pod and reconciles it again after the grace period."""
        if worker.given is not None and worker.given <= grace:
            return
        worker.stop(grace)

        def enough() -> None:
            worker.waited = True
            self._queue.add(worker.key)

        if worker.timer is not None:
            worker.timer.cancel()
        worker.timer = self._timers.after(grace + _STOP_TIMEOUT, enough)
        self._queue.add(worker.key)

    async def _advance(self, worker: PodWorker, seen: BoundPod) -> None:
        if worker.is_past:
            await self._remove_once(worker, seen)
            return
        if seen.deletion_grace is not None:
            self._stop_pod(worker, seen.deletion_grace)
        elif seen.has_ended and not worker.is_over and worker.is_echoed:
            self._stop_pod(worker, seen.shape.grace if seen.shape else 0)
        await self._report_status(worker, seen)
        if not worker.is_over:
            return
        self._release(worker)
        await self._remove_once(worker, seen)

    async def _remove_once(self, worker: PodWorker, seen: BoundPod) -> None:
        if seen.deletion_grace is not None and not worker.is_removed:
            await self._remove(seen)
            worker.is_removed = True

    async def _report_status(self, worker: PodWorker, seen: BoundPod) -> None:
        if worker.awaits_first_report:
            return
        if worker.is_echoed and seen.version != worker.version:
            await self._check(worker, seen)
        now = self._clock.wall()
        report = worker.status(seen, self._site.address, now)
        patch = worker.patch(report, now)
        if not patch:
            worker.record_report(report, "")
            return
        written = await self._write(seen.key, seen.uid, patch)
        if written is not None:
            worker.record_report(report, written)
            shown = self._informer.cache.get(seen.key)
            worker.is_echoed = shown is not None and shown.version == written

    async def _check(self, worker: PodWorker, seen: BoundPod) -> None:
        """After a write by another client: resets the reported status if it affected the agent's fields."""
        expected = worker.expected()
        if expected is not None and (seen.ready, seen.phase) != expected:
            live = await self._pods.get(seen.key)
            worker.reset_report(live.get("status") or {})

    async def _write(self, key: ObjectKey, uid: str, patch: Mapping[str, Json]) -> str | None:
        """The resourceVersion after the write; None if the pod is gone or was re-created."""
        body = StrategicPatch({"metadata": {"uid": uid}, "status": dict(patch)})
        try:
            written = await self._pods.patch(key, body, subresource="status")
        except StatusError as error:
            if _is_gone(error):
                log.debug("pod %s is gone: %s", key, error)
                return None
            raise
        return self._pods.kind.identity(written).version

    async def _reject(self, seen: BoundPod, body: Mapping[str, Json], why: PodFailure) -> None:
        self._record_event(seen, PodEvent("Warning", why.reason, why.message))
        now = self._clock.wall()
        result = rejected(rejected_status(why), PodStatusContext(seen.uid, now, generation=seen.generation))
        await self._write(seen.key, seen.uid, patch_between(body.get("status") or {}, result, now))
        seen.drop_raw()

    async def _fail_unstarted(self, seen: BoundPod) -> None:
        """Marks a pod that never ran as Failed, so that its owner sees how it ended."""
        if not seen.has_ended:
            now = self._clock.wall()
            result = rejected(PodFailure(""), PodStatusContext(seen.uid, now, generation=seen.generation))
            await self._write(seen.key, seen.uid, {"phase": "Failed", "conditions": result["conditions"]})
        await self._remove(seen)

    async def _remove(self, seen: BoundPod) -> None:
        try:
            await self._pods.delete(seen.key, DeletionOptions(grace_seconds=0, uid=seen.uid))
        except StatusError as error:
            if not _is_gone(error):
                raise

    async def _forget(self, worker: PodWorker) -> None:
        """Drops a pod that was deleted from the API."""
        del self._workers[worker.key]
        self._release(worker)
        if worker.running is not None:
            worker.running.stop(0)
            await worker.running.close()

    def _release(self, worker: PodWorker) -> None:
        if worker.timer is not None:
            worker.timer.cancel()
            worker.timer = None
        if not worker.is_released:
            worker.is_released = True
            self._usage.give_back(worker.node, worker.requests)
            self._addresses.free(worker.node, worker.pod_ip)

    def _record_event(self, pod: BoundPod | PodWorker, note: PodEvent) -> None:
        about = ObjectReference(
            api_version="v1", kind="Pod", namespace=pod.key.namespace, name=pod.key.name, uid=pod.uid
        )
        self._recorder.record(about, events.EventToRecord(note.type, note.reason, note.message))

    # Logs

    def serves(self, node: str) -> bool:
        """Whether a node belongs to the agent."""
        return node in self._names

    def node_of(self, namespace: str, name: str) -> str | None:
        """The node of one of the agent's pods."""
        worker = self._workers.get(ObjectKey(namespace, name))
        return worker.node if worker is not None else None

    def logs(self, namespace: str, name: str, options: PodLogOptions) -> AsyncIterator[bytes]:
        """The logs of a container; raises StatusError if there are none."""
        worker = self._workers.get(ObjectKey(namespace, name))
        if worker is None or worker.running is None:
            raise bad_request(f'container "{options.container}" in pod "{name}" is not available')
        started = worker.has_started(options.container)
        if started is None:
            raise StatusError(404, "NotFound", f'container "{options.container}" not found in pod "{name}"')
        if not started:
            why = worker.why_waiting(options.container)
            raise bad_request(f'container "{options.container}" in pod "{name}" is waiting to start: {why}')
        return worker.running.logs(options)


def _held(body: Mapping[str, Any]) -> str:
    """The pod IP that a pod already has."""
    return str((body.get("status") or {}).get("podIP") or "")


def _is_gone(error: StatusError) -> bool:
    """Whether a write found no such pod or one with another UID; servers report the latter differently."""
    causes = error.details.get("causes") or ()
    return error.is_not_found or error.is_conflict or any(each.get("field") == "metadata.uid" for each in causes)
