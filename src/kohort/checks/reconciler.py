"""Runs one admission check: evaluates its Workloads, writes their states, and maintains condition Active.

All results of a Workload are one write that names the state it starts from, so that it cannot follow an eviction.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from kohort.api.conditions import set_condition
from kohort.api.kueue.v1beta2 import AdmissionCheck, Workload
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState
from kohort.api.meta import ObjectKey
from kohort.checks.contract import AdmissionCheckController, CheckedWorkload, CheckEnvironment, CheckResult
from kohort.checks.states import is_over, may_be_checked, transitions, with_results
from kohort.controllers.context import RETRY_LIMITS
from kohort.controllers.workload_events import record_workload_events
from kohort.controllers.workloads.assume_cache import WorkloadAssumeCache, key_of
from kohort.engine.lifecycle.conditions import ACTIVE, new_condition
from kohort.kube.client import Client
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.events import EventRecorder
from kohort.kube.informer import Informer, SharedInformerFactory
from kohort.kube.options import WriteOptions
from kohort.kube.workqueue import WorkQueue

WORKERS: Final = 8
"""Concurrent evaluations."""
NOT_SYNCED_DELAY: Final = 1.0
"""Seconds before a retry while caches are not synced."""
_CHECK: Final = "check name"


@dataclass(frozen=True, slots=True)
class CheckRuntime:
    """The process in which a check runs."""

    client: Client
    informers: SharedInformerFactory
    workloads: Informer[Workload]
    workload_cache: WorkloadAssumeCache
    recorder: EventRecorder
    leads: Callable[[], bool]

    def now(self) -> datetime:
        """The current time in UTC."""
        return self.client.clock.wall()


@asynccontextmanager
async def running_check(check: AdmissionCheckController, runtime: CheckRuntime) -> AsyncIterator[None]:
    """Runs a check until the context exits."""
    reconciler = _CheckReconciler(check, runtime)
    reconciler.start()
    try:
        yield
    finally:
        await reconciler.stop()


class _CheckReconciler:
    """Two controllers: of Workloads, and of AdmissionChecks."""

    def __init__(self, check: AdmissionCheckController, runtime: CheckRuntime) -> None:
        self._check = check
        self._runtime = runtime
        self._checks: Informer[AdmissionCheck] = runtime.informers.of(AdmissionCheck)
        self._manager = f"kohort-check-{check.controller_name.rpartition('/')[2]}"
        clock, name = runtime.client.clock, check.controller_name
        self._workload_queue: WorkQueue[ObjectKey] = WorkQueue(clock, name, RETRY_LIMITS)
        self._check_queue: WorkQueue[str] = WorkQueue(clock, f"{name} checks", RETRY_LIMITS)
        self._of_workloads = Controller(name, self._workload_queue, self._reconcile_workload, clock)
        self._of_checks = Controller(f"{name} checks", self._check_queue, self._reconcile_check, clock)

    def start(self) -> None:
        """Subscribe, and start reconciling."""
        runtime = self._runtime
        self._check.start(
            CheckEnvironment(
                runtime.client,
                runtime.informers,
                runtime.workload_cache,
                self._checks,
                self._workload_queue.add,
                self._enqueue_check,
                lambda workload, event: record_workload_events(runtime.recorder, workload, [event]),
            )
        )
        runtime.workloads.index(_CHECK, _check_names)
        runtime.workload_cache.subscribe(self._workload_changed)
        self._checks.subscribe(self._check_changed)
        self._of_workloads.start(WORKERS)
        self._of_checks.start()

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        self._runtime.workload_cache.unsubscribe(self._workload_changed)
        self._checks.unsubscribe(self._check_changed)
        await asyncio.gather(self._of_workloads.stop(), self._of_checks.stop())

    def _workload_changed(self, old: Workload | None, new: Workload | None) -> None:
        if new is not None and new.status.admission_checks:
            self._workload_queue.add(key_of(new))

    def _check_changed(self, old: AdmissionCheck | None, new: AdmissionCheck | None) -> None:
        shown = new or old
        if shown is not None and (old is None or new is None or _settings(old) != _settings(new)):
            self._enqueue_check(shown.metadata.name)

    def _enqueue_check(self, name: str) -> None:
        self._check_queue.add(name)
        for workload in self._runtime.workloads.cache.find(_CHECK, name):
            self._workload_queue.add(key_of(workload))

    def _own(self, name: str) -> AdmissionCheck | None:
        """The AdmissionCheck of that name, if this controller handles it."""
        found = self._checks.cache.get(("", name))
        if found is None or found.spec is None or found.spec.controller_name != self._check.controller_name:
            return None
        return found

    @property
    def _is_synced(self) -> bool:
        return self._runtime.workloads.synced and self._checks.synced and self._check.is_ready

    # Condition Active

    async def _reconcile_check(self, name: str) -> RequeueAfter | None:
        found = self._own(name)
        if found is None or not self._runtime.leads():
            return None
        if not self._is_synced:
            return RequeueAfter(NOT_SYNCED_DELAY)
        state = self._check.active(found)
        new = new_condition(ACTIVE, state, found.metadata.generation, self._runtime.now())
        conditions = set_condition(found.status.conditions, new)
        if conditions != found.status.conditions:
            wanted = replace(found, status=replace(found.status, conditions=conditions))
            await self._checks.objects.update(wanted, WriteOptions(self._manager), "status")
        return None

    # Workloads

    async def _reconcile_workload(self, key: ObjectKey) -> RequeueAfter | None:
        workload = self._runtime.workload_cache.get(key)
        if workload is None or not self._runtime.leads():
            return None
        if not self._is_synced:
            return RequeueAfter(NOT_SYNCED_DELAY)
        own = [(entry, check) for entry in workload.status.admission_checks if (check := self._own(entry.name))]
        if own and is_over(workload):
            await self._check.release(workload)
        if not own or not may_be_checked(workload):
            return None
        return await self._evaluate(workload, own)

    async def _evaluate(
        self, workload: Workload, own: Iterable[tuple[AdmissionCheckState, AdmissionCheck]]
    ) -> RequeueAfter | None:
        now, runtime = self._runtime.now(), self._runtime
        results: dict[str, CheckResult] = {}
        for entry, check in own:
            result = await self._check.evaluate(CheckedWorkload(workload, check, entry, now))
            if result is not None:
                results[entry.name] = result
        after = with_results(workload, results, now)
        written = await runtime.workload_cache.write_status(workload, after, self._manager)
        record_workload_events(runtime.recorder, written, transitions(workload, after))
        return _recheck(results.values())


def _recheck(results: Iterable[CheckResult]) -> RequeueAfter | None:
    delays = [each.recheck_after for each in results if each.recheck_after is not None]
    return RequeueAfter(max(min(delays), timedelta()).total_seconds()) if delays else None


def _settings(check: AdmissionCheck) -> tuple[object, ...]:
    """Everything that a user sets."""
    return check.spec, check.metadata.labels, check.metadata.annotations


def _check_names(workload: Workload) -> tuple[str, ...]:
    return tuple(each.name for each in workload.status.admission_checks)
