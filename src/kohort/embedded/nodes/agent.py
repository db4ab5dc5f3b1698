"""The agent of any number of nodes: one cache of pods, one queue, and no task per pod.

Every change, of a pod or of what its runtime says, only puts the pod's key into the queue; `reconcile` looks at the
whole and does what is missing: take, refuse, start, tell, stop, remove.
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
from kohort.embedded.nodes.admission import NodeUsage, refusal, rejected_status, requests_of
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
_PATIENCE = 5.0
"""Seconds beyond the grace after which containers that never ran count as stopped."""
_DEADLINE = PodFailure("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class NodeAgent:
    """Runs the pods that are bound to its nodes."""

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
        self._ledger = NodeUsage()
        self._works: dict[ObjectKey, PodWorker] = {}
        self._office = WorkerCallbacks(self._queue.add, self._tell)
        self._tasks: list[asyncio.Task[None]] = []

    # Life

    async def start(self, site: AgentDefaults) -> None:
        """Register the nodes and take up their pods; returns when the nodes are there and the pods are known."""
        self._site = site
        await self._runtime.start()
        self._timers.start()
        self._tasks = [asyncio.create_task(self._recorder.run())]
        await self.registrar.start(site)
        self._informer.subscribe(self._on_change)
        self._tasks.append(asyncio.create_task(self._informer.run()))
        await self._informer.wait_live()
        self._controller.start(_WORKERS)

    async def stop(self) -> None:
        """Let go of everything; what becomes of pods that run is the runtime's affair, of nodes the registration's."""
        await self._controller.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._timers.stop()
        await self._runtime.stop()
        await self._recorder.flush()
        await self.registrar.stop()

    def __len__(self) -> int:
        """How many pods the agent has in hand."""
        return len(self._works)

    @property
    def is_up_to_date(self) -> bool:
        """Whether the API knows how every pod fares that was found at the start."""
        is_idle = not len(self._queue) and not self._queue.in_flight
        return is_idle and not any(work.is_unheard for work in self._works.values())

    # What changes

    def _on_change(self, old: BoundPod | None, new: BoundPod | None) -> None:
        pod = new or old
        if pod is None or pod.node not in self._names:
            return
        work = self._works.get(pod.key)
        if new is None or work is None or work.uid != new.uid:
            # What runs already has its part of the node before anything new is looked at.
            self._queue.add(pod.key, priority=int(pod.phase == "Running"))
            return
        new.let_go()
        if new.version == work.version:
            work.is_echoed = True
        if self._is_news(old, new, work):
            self._queue.add(new.key)

    def _is_news(self, old: BoundPod | None, new: BoundPod, work: PodWorker) -> bool:
        """Whether a pod in hand has changed in more than what we wrote ourselves."""
        if old is None or (work.is_echoed and new.version != work.version):
            return True
        return (old.leaving, old.open_gates, old.generation) != (new.leaving, new.open_gates, new.generation)

    # What is done

    async def reconcile(self, key: ObjectKey) -> None:
        """Do for one pod what is missing."""
        seen, work = self._informer.cache.get(key), self._works.get(key)
        if work is not None and (seen is None or seen.uid != work.uid):
            await self._forget(work)
            work = None
        if seen is None or seen.shape is None:
            return
        if work is None:
            work = await self._take(seen)
        if work is not None:
            await self._advance(work, seen)

    async def _take(self, seen: BoundPod) -> PodWorker | None:
        """Take up a pod that is new to this agent, unless it has ended or does not belong here."""
        if seen.leaving is not None and (seen.has_ended or seen.started is None):
            await self._bury(seen)
            return None
        if not seen.raw:
            return None  # looked at before in this state; whatever comes of that shows as another one
        if seen.has_ended:
            return self._remember(seen)
        if seen.is_gated and seen.phase != "Running":
            seen.let_go()
            return None
        body, pod = seen.whole()
        requests = self._ledger.shared(requests_of(body))
        why = None if seen.phase == "Running" else self._refusal(seen, pod, requests)
        if why is not None:
            await self._reject(seen, body, why)
            return None
        return self._start(seen, body, requests)

    def _refusal(self, seen: BoundPod, pod: Pod, requests: Mapping[str, int]) -> PodFailure | None:
        node = self.registrar.get(seen.node)
        if node is None:
            return None
        return refusal(pod, requests, node, self._ledger.used(seen.node))

    def _start(self, seen: BoundPod, body: dict[str, Json], requests: Mapping[str, int]) -> PodWorker:
        work = self._hand_over(seen, body, self._addresses.give(seen.node, _held(body)))
        work.requests, work.is_released = requests, False
        self._ledger.take(seen.node, requests)
        self._watch_deadline(work, seen)
        return work

    def _remember(self, seen: BoundPod) -> PodWorker | None:
        """A pod that ended under a former agent: its runtime may still have its logs, and nothing else is done."""
        body, _ = seen.whole()
        if not has_run_out(body):
            seen.let_go()
            return None
        work = self._hand_over(seen, body, _held(body))
        work.is_past = True
        return work

    def _hand_over(self, seen: BoundPod, body: dict[str, Json], address: str) -> PodWorker:
        """Give a pod to the runtime."""
        assert seen.shape is not None  # noqa: S101 - the caller has looked
        status: Mapping[str, Any] = body.get("status") or {}
        work = PodWorker(seen, seen.shape, status, self._office)
        work.started = seen.started or self._clock.wall()
        work.pod_ip = address
        work.running = self._runtime.run(body, work)
        seen.let_go()
        self._works[seen.key] = work
        return work

    def _watch_deadline(self, work: PodWorker, seen: BoundPod) -> None:
        shape, now = seen.shape, self._clock.wall()
        if shape is None or shape.deadline is None:
            return
        left = (work.started or now) + timedelta(seconds=shape.deadline) - now

        def expire() -> None:
            if not work.is_over:
                work.failure = work.failure or _DEADLINE
                self._tell(work, PodEvent("Normal", _DEADLINE.reason, _DEADLINE.message))
                self._halt(work, shape.grace)

        work.alarm = self._timers.after(left.total_seconds(), expire)

    def _halt(self, work: PodWorker, grace: float) -> None:
        """Stop a pod, and look at it again when its time is up."""
        if work.given is not None and work.given <= grace:
            return
        work.stop(grace)

        def enough() -> None:
            work.waited = True
            self._queue.add(work.key)

        if work.alarm is not None:
            work.alarm.cancel()
        work.alarm = self._timers.after(grace + _PATIENCE, enough)
        self._queue.add(work.key)

    async def _advance(self, work: PodWorker, seen: BoundPod) -> None:
        if work.is_past:
            await self._remove_once(work, seen)
            return
        if seen.leaving is not None:
            self._halt(work, seen.leaving)
        elif seen.has_ended and not work.is_over and work.is_echoed:
            self._halt(work, seen.shape.grace if seen.shape else 0)
        await self._tell_api(work, seen)
        if not work.is_over:
            return
        self._release(work)
        await self._remove_once(work, seen)

    async def _remove_once(self, work: PodWorker, seen: BoundPod) -> None:
        if seen.leaving is not None and not work.is_removed:
            await self._remove(seen)
            work.is_removed = True

    async def _tell_api(self, work: PodWorker, seen: BoundPod) -> None:
        if work.is_unheard:
            return
        if work.is_echoed and seen.version != work.version:
            await self._check(work, seen)
        now = self._clock.wall()
        told = work.status(seen, self._site.address, now)
        patch = work.patch(told, now)
        if not patch:
            work.knows(told, "")
            return
        written = await self._write(seen.key, seen.uid, patch)
        if written is not None:
            work.knows(told, written)
            shown = self._informer.cache.get(seen.key)
            work.is_echoed = shown is not None and shown.version == written

    async def _check(self, work: PodWorker, seen: BoundPod) -> None:
        """Somebody wrote after us: where that touched what is ours to say, look at the pod as it is."""
        expected = work.expected()
        if expected is not None and (seen.ready, seen.phase) != expected:
            live = await self._pods.get(seen.key)
            work.doubt(live.get("status") or {})

    async def _write(self, key: ObjectKey, uid: str, patch: Mapping[str, Json]) -> str | None:
        """The version that the write made; None when the pod is no longer there or is another one."""
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
        self._tell(seen, PodEvent("Warning", why.reason, why.message))
        now = self._clock.wall()
        said = rejected(rejected_status(why), PodStatusContext(seen.uid, now, generation=seen.generation))
        await self._write(seen.key, seen.uid, patch_between(body.get("status") or {}, said, now))
        seen.let_go()

    async def _bury(self, seen: BoundPod) -> None:
        """A pod that never ran here goes as failed, so that its owner sees how it ended."""
        if not seen.has_ended:
            now = self._clock.wall()
            said = rejected(PodFailure(""), PodStatusContext(seen.uid, now, generation=seen.generation))
            await self._write(seen.key, seen.uid, {"phase": "Failed", "conditions": said["conditions"]})
        await self._remove(seen)

    async def _remove(self, seen: BoundPod) -> None:
        try:
            await self._pods.delete(seen.key, DeletionOptions(grace_seconds=0, uid=seen.uid))
        except StatusError as error:
            if not _is_gone(error):
                raise

    async def _forget(self, work: PodWorker) -> None:
        """The pod is gone from the API."""
        del self._works[work.key]
        self._release(work)
        if work.running is not None:
            work.running.stop(0)
            await work.running.close()

    def _release(self, work: PodWorker) -> None:
        if work.alarm is not None:
            work.alarm.cancel()
            work.alarm = None
        if not work.is_released:
            work.is_released = True
            self._ledger.give_back(work.node, work.requests)
            self._addresses.free(work.node, work.pod_ip)

    def _tell(self, pod: BoundPod | PodWorker, note: PodEvent) -> None:
        about = ObjectReference(
            api_version="v1", kind="Pod", namespace=pod.key.namespace, name=pod.key.name, uid=pod.uid
        )
        self._recorder.record(about, events.EventToRecord(note.type, note.reason, note.message))

    # Logs

    def serves(self, node: str) -> bool:
        """Whether a node is the agent's."""
        return node in self._names

    def node_of(self, namespace: str, name: str) -> str | None:
        """The node of a pod that the agent has in hand."""
        work = self._works.get(ObjectKey(namespace, name))
        return work.node if work is not None else None

    def logs(self, namespace: str, name: str, options: PodLogOptions) -> AsyncIterator[bytes]:
        """The output of a container; raises StatusError where there is none."""
        work = self._works.get(ObjectKey(namespace, name))
        if work is None or work.running is None:
            raise bad_request(f'container "{options.container}" in pod "{name}" is not available')
        started = work.has_started(options.container)
        if started is None:
            raise StatusError(404, "NotFound", f'container "{options.container}" not found in pod "{name}"')
        if not started:
            why = work.why_waiting(options.container)
            raise bad_request(f'container "{options.container}" in pod "{name}" is waiting to start: {why}')
        return work.running.logs(options)


def _held(body: Mapping[str, Any]) -> str:
    """The address that a pod has already."""
    return str((body.get("status") or {}).get("podIP") or "")


def _is_gone(error: StatusError) -> bool:
    """Whether a write found no pod of that name, or another one; servers differ in how they say the latter."""
    causes = error.details.get("causes") or ()
    return error.is_not_found or error.is_conflict or any(each.get("field") == "metadata.uid" for each in causes)
