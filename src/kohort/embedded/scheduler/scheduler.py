"""The scheduler loop: decides synchronously between two awaits, writes asynchronously.

A pod is assumed on its selected node at once and removed again if the binding fails.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from kohort.embedded.scheduler.binding import Binder
from kohort.embedded.scheduler.cache import SchedulerCache
from kohort.embedded.scheduler.cluster_events import ClusterEvents
from kohort.embedded.scheduler.diagnosis import FitError, UnschedulableCause
from kohort.embedded.scheduler.event_handlers import SchedulerEventHandlers, watched_pods
from kohort.embedded.scheduler.placement import Placer, SelectedNode
from kohort.embedded.scheduler.preemption import NodeCandidate, PreemptionEvaluator
from kohort.embedded.scheduler.scheduling_queue import QueuedPodInfo, SchedulingQueue
from kohort.embedded.scheduler.status_writer import NAME, SCHEDULED, PodStatusWriter
from kohort.embedded.scheduler.views import SchedulerCondition
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.events import EventLimits, EventRecorder
from kohort.kube.informer import SharedInformerFactory

log = logging.getLogger(__name__)

SLICE: Final = 16
"""Pods scheduled before control returns to the event loop."""
MAX_SLEEP: Final = 30.0
EVENTS: Final = EventLimits(buffer=32768, remembered=32768, writers=32)
"""Enough writers for events to keep pace with bindings when many pods are scheduled within seconds: with half as many,
half of the events are unwritten when the last pod is bound."""
_INSTANCE: Final = "kohort"


class PodScheduler:
    """Schedules the pods of one API server."""

    def __init__(self, client: Client) -> None:
        self._clock = client.clock
        self._informers = SharedInformerFactory(client)
        self._recorder = EventRecorder(client, NAME, _INSTANCE, EVENTS)
        self.cache = SchedulerCache()
        self.queue = SchedulingQueue()
        self._events = ClusterEvents(self.cache, self.queue)
        self._writes = PodStatusWriter(client, self._recorder, watched_pods(self._informers).cache)
        self._handlers = SchedulerEventHandlers(self._informers, self.cache, self.queue, self._events, self._writes)
        self._placer = Placer(self.cache, self._handlers.storage)
        self._preemptor = PreemptionEvaluator(self.cache, self._placer, self._handlers.budgets)
        self._binder = Binder(client, self._on_binding_done)
        self._wakeup = asyncio.Event()
        self._last_flush = self._clock.now()
        """When long-unschedulable pods were last flushed."""
        self._tasks: list[asyncio.Task[None]] = []

    # Lifecycle

    def start(self) -> None:
        """Starts the scheduler; pods are scheduled once the informers have synced."""
        self._informers.start()
        self._writes.start()
        self._binder.start()
        self._tasks = [asyncio.create_task(self._recorder.run())]
        self._tasks.append(asyncio.create_task(self._run()))

    async def stop(self) -> None:
        """Finishes the writes in flight and stops."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._binder.stop()
        await self._writes.stop()
        await self._informers.stop()
        await self._recorder.flush()

    async def _run(self) -> None:
        await self._informers.wait_for_sync()
        self._handlers.subscribe()
        for informer in self._informers:
            informer.subscribe(self._on_event)
        while True:
            self._wakeup.clear()
            self._run_cycle()
            if self._wakeup.is_set():
                await asyncio.sleep(0)
            else:
                await self._sleep()

    def _on_event(self, _old: object, _new: object) -> None:
        self._wakeup.set()

    async def _sleep(self) -> None:
        """Waits for an event or the end of the next backoff."""
        now = self._clock.now()
        due = self.queue.next_backoff_end()
        wait = MAX_SLEEP if due is None else min(MAX_SLEEP, due - now)
        alarm = asyncio.create_task(self._clock.sleep(wait))
        alarm.add_done_callback(self._on_alarm)
        try:
            await self._wakeup.wait()
        finally:
            alarm.cancel()

    def _on_alarm(self, alarm: asyncio.Task[None]) -> None:
        if not alarm.cancelled():
            self._wakeup.set()

    # Scheduling cycle

    def _run_cycle(self) -> None:
        """Schedules up to SLICE pods; sets `_wakeup` if more are ready."""
        now = self._clock.now()
        if now - self._last_flush >= MAX_SLEEP:
            self._last_flush = now
            self.queue.flush_unschedulable(now)
        self._events.reactivate(now)
        for _ in range(SLICE):
            if self._binder.is_busy:
                return
            queued = self.queue.pop(now)
            if queued is None:
                return
            self._try(queued)
        self._wakeup.set()

    def _try(self, queued: QueuedPodInfo) -> None:
        """Contains an unexpected error, so that one pod cannot block all others."""
        try:
            self._place(queued)
        except Exception as error:
            log.exception("scheduling pod %s failed", queued.pod.key)
            self.queue.add_failed(queued, self._clock.now())
            self._record_failure(queued, "SchedulerError", f"{type(error).__name__}: {error}")

    def _place(self, queued: QueuedPodInfo) -> None:
        result = self._placer.place(queued.pod)
        if isinstance(result, SelectedNode):
            self.cache.add_pod(queued.pod, result.node)
            self._writes.placed(queued.pod)
            self._binder.bind(queued, result.node)
            self._events.any_node(UnschedulableCause.PEERS)
            # Another pod with the same requirements may fit too.
            self.queue.reactivate(queued.pod.requirements, self._clock.now())
        else:
            self._handle_fit_error(queued, result)

    def _handle_fit_error(self, queued: QueuedPodInfo, fit_error: FitError) -> None:
        pod = queued.pod
        message = fit_error.message
        if self.cache.nodes:
            found = self._preemptor.search(pod, fit_error)
            if isinstance(found, NodeCandidate):
                self._preempt(queued, found)
            elif found.clears_nomination:
                self.cache.clear_nomination(pod.uid)
            message = f"{message} {found.message}"
        self.queue.add_unschedulable(queued, fit_error.cause, self._clock.now())
        self._record_failure(queued, "Unschedulable", message)

    def _preempt(self, queued: QueuedPodInfo, candidate: NodeCandidate) -> None:
        """Nominates the node to the pod and evicts the victims."""
        pod, node = queued.pod, candidate.node.name
        self.cache.nominate(pod, node)
        for victim in candidate.victims:
            if not victim.is_terminating:
                # Assumed to be terminating, so that the next cycle does not select more victims before the deletion
                # is observed.
                self._handlers.preempted.add(victim.uid)
                self.cache.add_pod(replace(victim, is_terminating=True), node)
                self._writes.evict(victim, pod, node)

    def _record_failure(self, queued: QueuedPodInfo, reason: str, message: str) -> None:
        condition = SchedulerCondition(type=SCHEDULED, status="False", reason=reason, message=message)
        self._writes.failed(queued.pod, condition, self.cache.nominated_to(queued.pod.uid))

    # Bindings

    def _on_binding_done(self, queued: QueuedPodInfo, node: str, failure: KubeError | None) -> None:
        self._wakeup.set()
        if failure is None:
            self._writes.scheduled(queued.pod, node)
            return
        pod = queued.pod
        observed = self._handlers.pods.cache.get(pod.key)
        if observed is not None and observed.spec.node_name:
            return  # already bound, perhaps by this very request
        if self.cache.remove_pod(pod.uid) is not None:
            self._events.node(node)
        if observed is None or observed.metadata.uid != pod.uid or observed.is_terminating:
            return
        if isinstance(failure, StatusError) and failure.is_not_found:
            return
        log.warning("binding pod %s to node %s failed, retrying: %s", pod.key, node, failure)
        queued.pod = self._handlers.record(observed)
        self.queue.add_failed(queued, self._clock.now())
        self._record_failure(queued, "SchedulerError", f"binding rejected: {failure}")


@contextlib.asynccontextmanager
async def running_pod_scheduler(client: Client) -> AsyncIterator[PodScheduler]:
    """Runs a pod scheduler until the context exits."""
    scheduler = PodScheduler(client)
    scheduler.start()
    try:
        yield scheduler
    finally:
        await scheduler.stop()
