"""The scheduler as a whole: decides between two awaits, so that nothing changes meanwhile; writes in the background.

A pod that has found its node is taken to be there at once. Should the binding fail, it is taken off again.
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
from kohort.embedded.scheduler.views import SeenCondition
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.events import EventLimits, EventRecorder
from kohort.kube.informer import SharedInformerFactory

log = logging.getLogger(__name__)

SLICE: Final = 16
"""Pods placed before everybody else gets a turn of the loop."""
LONGEST_SLEEP: Final = 30.0
EVENTS: Final = EventLimits(buffer=32768, remembered=32768, writers=32)
"""Many pods get their node within seconds, and each has an event to tell: with so many writers events keep pace with
bindings; with half of them, half of the events are unwritten when the last pod is bound."""
_INSTANCE: Final = "kohort"


class PodScheduler:
    """Places pods on one API server, whichever it is."""

    def __init__(self, client: Client) -> None:
        self._clock = client.clock
        self._informers = SharedInformerFactory(client)
        self._recorder = EventRecorder(client, NAME, _INSTANCE, EVENTS)
        self.cluster = SchedulerCache()
        self.queue = SchedulingQueue()
        self._signs = ClusterEvents(self.cluster, self.queue)
        self._writes = PodStatusWriter(client, self._recorder, watched_pods(self._informers).cache)
        self._watching = SchedulerEventHandlers(self._informers, self.cluster, self.queue, self._signs, self._writes)
        self._placer = Placer(self.cluster, self._watching.storage)
        self._preemptor = PreemptionEvaluator(self.cluster, self._placer, self._watching.budgets)
        self._binder = Binder(client, self._on_outcome)
        self._news = asyncio.Event()
        self._looked = self._clock.now()
        """When it was last seen to it that nobody rests for ever."""
        self._tasks: list[asyncio.Task[None]] = []

    # Its life

    def start(self) -> None:
        """Begin; pods are placed as soon as the caches are live."""
        self._informers.start()
        self._writes.start()
        self._binder.start()
        self._tasks = [asyncio.create_task(self._recorder.run())]
        self._tasks.append(asyncio.create_task(self._run()))

    async def stop(self) -> None:
        """Finish the writes that have begun, then let go of everything."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._binder.stop()
        await self._writes.stop()
        await self._informers.stop()
        await self._recorder.flush()

    async def _run(self) -> None:
        await self._informers.wait_live()
        self._watching.subscribe()
        for informer in self._informers:
            informer.subscribe(self._on_news)
        while True:
            self._news.clear()
            self._turn()
            if self._news.is_set():
                await asyncio.sleep(0)
            else:
                await self._sleep()

    def _on_news(self, _old: object, _new: object) -> None:
        self._news.set()

    async def _sleep(self) -> None:
        """Until something happens, or the next pause is over."""
        now = self._clock.now()
        due = self.queue.next_time()
        wait = LONGEST_SLEEP if due is None else min(LONGEST_SLEEP, due - now)
        alarm = asyncio.create_task(self._clock.sleep(wait))
        alarm.add_done_callback(self._ring)
        try:
            await self._news.wait()
        finally:
            alarm.cancel()

    def _ring(self, alarm: asyncio.Task[None]) -> None:
        if not alarm.cancelled():
            self._news.set()

    # One turn

    def _turn(self) -> None:
        """Place some pods; says by `_news` whether there is more to do at once."""
        now = self._clock.now()
        if now - self._looked >= LONGEST_SLEEP:
            self._looked = now
            self.queue.wake_impatient(now)
        self._signs.wake(now)
        for _ in range(SLICE):
            if self._binder.is_busy:
                return
            waiting = self.queue.pop(now)
            if waiting is None:
                return
            self._try(waiting)
        self._news.set()

    def _try(self, waiting: QueuedPodInfo) -> None:
        """One pod that nobody expected must not keep all others from their nodes."""
        try:
            self._place(waiting)
        except Exception as error:
            log.exception("pod %s could not be looked at", waiting.pod.key)
            self.queue.hold(waiting, self._clock.now())
            self._tell(waiting, "SchedulerError", f"{type(error).__name__}: {error}")

    def _place(self, waiting: QueuedPodInfo) -> None:
        answer = self._placer.place(waiting.pod)
        if isinstance(answer, SelectedNode):
            self.cluster.place(waiting.pod, answer.node)
            self._writes.placed(waiting.pod)
            self._binder.bind(waiting, answer.node)
            self._signs.everywhere(UnschedulableCause.PEERS)
            # There may be room for another of the same kind.
            self.queue.wake(waiting.pod.demand, self._clock.now())
        else:
            self._refuse(waiting, answer)

    def _refuse(self, waiting: QueuedPodInfo, nowhere: FitError) -> None:
        pod = waiting.pod
        message = nowhere.message
        if self.cluster.nodes:
            found = self._preemptor.search(pod, nowhere)
            if isinstance(found, NodeCandidate):
                self._clear(waiting, found)
            elif found.clears_nomination:
                self.cluster.withdraw(pod.uid)
            message = f"{message} {found.message}"
        self.queue.rest(waiting, nowhere.cause, self._clock.now())
        self._tell(waiting, "Unschedulable", message)

    def _clear(self, waiting: QueuedPodInfo, candidate: NodeCandidate) -> None:
        """Make room on a node, and keep it for the pod."""
        pod, node = waiting.pod, candidate.node.name
        self.cluster.nominate(pod, node)
        for victim in candidate.victims:
            if not victim.is_leaving:
                # Taken to leave from now on, lest another look finds more victims before the server has told.
                self._watching.doomed.add(victim.uid)
                self.cluster.place(replace(victim, is_leaving=True), node)
                self._writes.evict(victim, pod, node)

    def _tell(self, waiting: QueuedPodInfo, reason: str, message: str) -> None:
        condition = SeenCondition(type=SCHEDULED, status="False", reason=reason, message=message)
        self._writes.failed(waiting.pod, condition, self.cluster.nominated_to(waiting.pod.uid))

    # Bindings

    def _on_outcome(self, waiting: QueuedPodInfo, node: str, failure: KubeError | None) -> None:
        self._news.set()
        if failure is None:
            self._writes.scheduled(waiting.pod, node)
            return
        pod = waiting.pod
        seen = self._watching.pods.cache.get(pod.key)
        if seen is not None and seen.spec.node_name:
            return  # somebody bound it, perhaps this very request
        if self.cluster.remove(pod.uid) is not None:
            self._signs.node(node)
        if seen is None or seen.metadata.uid != pod.uid or seen.is_leaving:
            return
        if isinstance(failure, StatusError) and failure.is_not_found:
            return
        log.warning("pod %s could not be bound to node %s and is tried again: %s", pod.key, node, failure)
        waiting.pod = self._watching.record(seen)
        self.queue.hold(waiting, self._clock.now())
        self._tell(waiting, "SchedulerError", f"binding rejected: {failure}")


@contextlib.asynccontextmanager
async def running_pod_scheduler(client: Client) -> AsyncIterator[PodScheduler]:
    """A scheduler at work for as long as the block lasts."""
    scheduler = PodScheduler(client)
    scheduler.start()
    try:
        yield scheduler
    finally:
        await scheduler.stop()
