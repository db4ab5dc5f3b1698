"""Counts device claims: Workloads with claims reach the engine only after their claims are counted.

Claim templates are read one by one when a Workload references them: they are immutable, and only few
clusters have any. Missing templates are retried with backoff.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, NamedTuple

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import RETRY_LIMITS, ControllerContext
from kohort.controllers.devices.claims import (
    TEMPLATES,
    ClaimTemplateUnavailableError,
    DeviceResources,
    Spec,
    UncountableError,
    are_counted,
    count,
    has_claims,
    rejection,
    templates_of,
)
from kohort.controllers.workloads.context_builder import ReconcileContextBuilder
from kohort.controllers.workloads.controller import MANAGER, NOT_SYNCED_DELAY
from kohort.controllers.workloads.variants import becomes_parent
from kohort.engine.events import DeviceClaimsCounted, ObjectDeleted, ObjectUpserted
from kohort.engine.lifecycle.conditions import is_finished, is_on_hold, is_reserved
from kohort.engine.lifecycle.pending_reason import update_pending_reason
from kohort.engine.lifecycle.requeueing import block_uncountable_claims, requeue_when_allowed
from kohort.kube.backoff import Backoff
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.workqueue import WorkQueue

WORKERS: Final = 4
UNREADABLE: Final = frozenset({403, 404})
"""Status codes that concern the template; others are server errors."""
TEMPLATE_BACKOFF: Final = Backoff(base=1.0, cap=60.0, jitter=0.0)
"""Retries of missing templates."""


class ClaimInputs(NamedTuple):
    """The identity of a Workload's spec, on which its claims depend."""

    uid: str
    generation: int


class DeviceClaimController:
    """Counts the claims of pending Workloads."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._gates = context.settings.gates
        self._mapped = DeviceResources.of(context.settings.configuration)
        self._context_builder = ReconcileContextBuilder(context)
        self._counted: dict[ObjectKey, ClaimInputs] = {}
        """Pending Workloads whose claims were counted."""
        self._attempts: dict[ObjectKey, int] = {}
        """Failed attempts to read templates."""
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "claims", RETRY_LIMITS)
        self._controller = Controller("claims", self._queue, self._count, context.clock)

    def start(self) -> None:
        """Start counting, also for existing Workloads."""
        self._context.workload_cache.follow(self._observe)
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        await self._controller.stop()

    def _observe(self, key: ObjectKey, workload: Workload | None) -> None:
        """Handle a new state of a Workload, which the engine already has."""
        if workload is None or not _is_pending(workload):
            self._counted.pop(key, None)
            self._attempts.pop(key, None)
        elif self._counted.get(key) != _claim_inputs(workload) and has_claims(workload):
            self._start_counting(key, workload)

    def _start_counting(self, key: ObjectKey, workload: Workload) -> None:
        if are_counted(workload, self._gates):
            self._remove_from_engine(key)
            self._queue.add(key)
        elif rejection(workload, self._gates):
            self._remove_from_engine(key)

    def _remove_from_engine(self, key: ObjectKey) -> None:
        self._context.feed.apply(ObjectDeleted("Workload", ObjectKey(*key)))

    async def _count(self, key: ObjectKey) -> RequeueAfter | None:
        workload = self._context.workload_cache.get(key)
        if workload is None or not _is_pending(workload) or not self._context.leads():
            return None
        if not self._context.feed.is_synced:
            return RequeueAfter(NOT_SYNCED_DELAY)
        try:
            devices = count(workload, await self._read_templates(workload), self._mapped)
        except ClaimTemplateUnavailableError as error:
            await self._record_problem(workload, str(error))
            return self._retry_later(key)
        except UncountableError as error:
            await self._record_problem(workload, str(error))
            return None
        self._add_to_engine(key, await self._record_problem(workload, ""), devices)
        return None

    async def _read_templates(self, workload: Workload) -> dict[str, Spec | str]:
        """The claim spec of each template, or why it could not be read."""
        return {name: await self._read_template(workload.metadata.namespace, name) for name in templates_of(workload)}

    async def _read_template(self, namespace: str, name: str) -> Spec | str:
        try:
            found = await self._context.client.of(TEMPLATES).get((namespace, name))
        except StatusError as error:
            if error.code not in UNREADABLE:
                raise
            return error.message
        spec = (found.get("spec") or {}).get("spec") or {}
        return dict(spec)

    async def _record_problem(self, workload: Workload, problem: str) -> Workload:
        """Write a problem of the claims, or its removal, into the conditions; returns the new Workload."""
        context, now = replace(self._context_builder.build(workload), claims_problem=problem), self._context.now()
        requeued = requeue_when_allowed(block_uncountable_claims(workload, context, now), context, now)
        requeued = update_pending_reason(requeued, context, now).workload if requeued is not workload else requeued
        return await self._context.workload_cache.write_status(workload, requeued, MANAGER)

    def _retry_later(self, key: ObjectKey) -> RequeueAfter:
        self._attempts[key] = self._attempts.get(key, 0) + 1
        return RequeueAfter(TEMPLATE_BACKOFF.steady(self._attempts[key]))

    def _add_to_engine(self, key: ObjectKey, counted: Workload, devices: dict[str, dict[str, int]]) -> None:
        """Add a Workload with its devices to the engine, unless its spec has changed since counting."""
        known = self._context.workload_cache.get(key)
        if known is None or not _is_pending(known) or _claim_inputs(known) != _claim_inputs(counted):
            return
        self._counted[key] = _claim_inputs(known)
        self._attempts.pop(key, None)
        if not becomes_parent(known, self._context_builder.cluster_queue_of(known), self._gates):
            self._context.feed.apply(ObjectUpserted(known))
        claimed = tuple((name, tuple(sorted(amounts.items()))) for name, amounts in devices.items())
        self._context.feed.apply(DeviceClaimsCounted(ObjectKey(*key), claimed))


def _claim_inputs(workload: Workload) -> ClaimInputs:
    return ClaimInputs(workload.metadata.uid, workload.metadata.generation or 0)


def _is_pending(workload: Workload) -> bool:
    return workload.spec.active and not (is_reserved(workload) or is_finished(workload) or is_on_hold(workload))


@asynccontextmanager
async def running_claim_controller(context: ControllerContext) -> AsyncIterator[None]:
    """Runs the controller until the context exits; must start before the scheduler."""
    controller = DeviceClaimController(context)
    controller.start()
    try:
        yield
    finally:
        await controller.stop()
