"""The engine: events in by `apply`, decisions out by scheduling runs (docs/spec/scheduling.md).

It holds all state, changes it in place and reads no clock. A run repeats cycles, tree by tree, until nothing changes,
so that the depth of a queue does not delay admissions.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import ClassVar

from kohort.api.kueue.v1beta2.workload import PodSet
from kohort.api.kueue.v1beta2.workload import Workload as WorkloadObject
from kohort.api.meta import ObjectKey
from kohort.engine.cycle_context import EngineCycleContext
from kohort.engine.decisions import Decision
from kohort.engine.events import EngineEvent
from kohort.engine.explain import Explanation, explain, would_fit
from kohort.engine.hierarchy import HierarchyNode
from kohort.engine.read_model import EngineReadModel
from kohort.engine.scheduling_run import CycleRunner, MergedDecisions, SchedulingCycle
from kohort.engine.settings import EngineSettings
from kohort.engine.state.event_handler import EngineEventHandler
from kohort.engine.state.pending_tracking import PendingTracker
from kohort.engine.state.place_accounting import PlaceTracker
from kohort.engine.state.queues import QueueTracker
from kohort.engine.state.quota_accounting import QuotaTracker
from kohort.engine.state.store import EngineStore
from kohort.engine.state.topologies import TopologyTracker
from kohort.engine.state.unblocking import Unblocking
from kohort.engine.state.usage_accounting import UsageHistoryTracker
from kohort.engine.state.workloads import WorkloadTracker


class Engine:
    """Decides which workloads get quota."""

    CONTEXT: ClassVar[type[EngineCycleContext]] = EngineCycleContext

    def __init__(self, settings: EngineSettings | None = None) -> None:
        store = self.store = EngineStore.empty(settings or EngineSettings())
        self.read = EngineReadModel(store)
        unblocking = Unblocking(store)
        self._history = UsageHistoryTracker(store)
        pending = PendingTracker(store, unblocking, self._history)
        places = PlaceTracker(store, unblocking)
        quota = QuotaTracker(store, unblocking, pending, places)
        self.workload_tracker = WorkloadTracker(store, unblocking, self._history, pending, quota, places)
        queues = QueueTracker(store, unblocking, self._history, pending, quota)
        topologies = TopologyTracker(store, unblocking, places)
        self._events = EngineEventHandler(store, self.workload_tracker, queues, topologies)
        self.context = self.CONTEXT(store, quota, places)
        self._runner = CycleRunner(store, unblocking, self._history, pending, self.context)

    @property
    def settings(self) -> EngineSettings:
        """Everything that decisions depend on besides the objects."""
        return self.store.settings

    def apply(self, event: EngineEvent, now: datetime) -> None:
        """Apply an event."""
        self._events.apply(event, now)

    def cycles(self, clock: Callable[[], datetime]) -> Iterator[SchedulingCycle]:
        """A scheduling run: cycles of all dirty trees until no further cycle would change anything (SCH-301, SCH-302).

        Events may be applied between two cycles; they count from the next one on. A run that is not iterated to its
        end leaves its trees dirty.
        """
        return self._runner.cycles(clock)

    def schedule(self, now: datetime) -> list[Decision]:
        """Drain a scheduling run at one time; of several KeepPending decisions for a workload the last counts."""
        merged: dict[HierarchyNode, MergedDecisions] = {}
        for each in self.cycles(lambda: now):
            for root, decisions in each.by_tree.items():
                merged.setdefault(root, MergedDecisions()).add(decisions)
        return [decision for each in merged.values() for decision in each.result()]

    def run_cycle(self, now: datetime) -> list[Decision]:
        """Run the first cycle of a scheduling run."""
        first = next(self.cycles(lambda: now), None)
        return first.decisions if first else []

    def wake_at(self) -> datetime | None:
        """Time of the next run without an event: end of a backoff, a second pass, a sample of usage (SCH-223)."""
        return self._runner.wake_at()

    def sample_usage(self, local_queue: ObjectKey, now: datetime) -> None:
        """Bring past usage of a LocalQueue up to date (API-115)."""
        self._history.sample(local_queue, now)

    def explain(self, workload: ObjectKey, now: datetime) -> Explanation:
        """Explain why the workload is in its state and what would admit it; the engine does not change."""
        return explain(self, workload, now)

    def would_fit(
        self, requested: WorkloadObject | Sequence[PodSet], queue: ObjectKey | str, now: datetime
    ) -> Explanation:
        """Explain what would happen if the workload were submitted to a LocalQueue, or to a ClusterQueue by name."""
        return would_fit(self, requested, queue, now)
