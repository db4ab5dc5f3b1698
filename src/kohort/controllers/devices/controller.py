"""Workloads that claim devices: out of the engine's sight until their claims are counted, or told why they can't be.

Templates of claims are read one by one when a Workload names them: they never change, and only few
clusters have any. One that is not there is looked for again, less and less often.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Final, NamedTuple

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import RETRIES, ControllerContext
from kohort.controllers.devices.claims import (
    TEMPLATES,
    ClaimTemplateUnavailableError,
    DeviceResources,
    Spec,
    UncountableError,
    are_counted,
    count,
    has_claims,
    refusal,
    templates_of,
)
from kohort.controllers.workloads.context_builder import ReconcileContextBuilder
from kohort.controllers.workloads.controller import MANAGER, NOT_LIVE
from kohort.controllers.workloads.variants import becomes_parent
from kohort.engine.events import DeviceClaimsCounted, ObjectDeleted, ObjectUpserted
from kohort.engine.lifecycle.conditions import is_finished, is_on_hold, is_reserved
from kohort.engine.lifecycle.pending_reason import explain_waiting
from kohort.engine.lifecycle.requeueing import hold_uncountable, requeue_when_allowed
from kohort.kube.backoff import Backoff
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.workqueue import WorkQueue

WORKERS: Final = 4
UNREADABLE: Final = frozenset({403, 404})
"""Answers that say something of the template; others are the server's trouble."""
LOOKING: Final = Backoff(base=1.0, cap=60.0, jitter=0.0)
"""How patiently a template is looked for that is not there."""


class ClaimInputs(NamedTuple):
    """What the claims of a Workload can depend on."""

    uid: str
    generation: int


class DeviceClaimController:
    """Counts the claims of Workloads that wait."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._gates = context.settings.gates
        self._mapped = DeviceResources.of(context.settings.configuration)
        self._surroundings = ReconcileContextBuilder(context)
        self._counted: dict[ObjectKey, ClaimInputs] = {}
        """Those who wait and whose claims the engine may be told."""
        self._looks: dict[ObjectKey, int] = {}
        """How often templates were looked for in vain."""
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "claims", RETRIES)
        self._controller = Controller("claims", self._queue, self._count, context.clock)

    def start(self) -> None:
        """Begin to count, with those that wait already."""
        self._context.known.follow(self._see)
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Come to the end of what has begun."""
        await self._controller.stop()

    def _see(self, key: ObjectKey, workload: Workload | None) -> None:
        """A Workload became known in another state; the engine has just been told it."""
        if workload is None or not _waits(workload):
            self._counted.pop(key, None)
            self._looks.pop(key, None)
        elif self._counted.get(key) != _state(workload) and has_claims(workload):
            self._take_up(key, workload)

    def _take_up(self, key: ObjectKey, workload: Workload) -> None:
        if are_counted(workload, self._gates):
            self._hide(key)
            self._queue.add(key)
        elif refusal(workload, self._gates):
            self._hide(key)

    def _hide(self, key: ObjectKey) -> None:
        self._context.feed.tell(ObjectDeleted("Workload", ObjectKey(*key)))

    async def _count(self, key: ObjectKey) -> RequeueAfter | None:
        workload = self._context.known.get(key)
        if workload is None or not _waits(workload) or not self._context.leads():
            return None
        if not self._context.feed.is_live:
            return RequeueAfter(NOT_LIVE)
        try:
            devices = count(workload, await self._read(workload), self._mapped)
        except ClaimTemplateUnavailableError as error:
            await self._tell(workload, str(error))
            return self._look_later(key)
        except UncountableError as error:
            await self._tell(workload, str(error))
            return None
        self._show(key, await self._tell(workload, ""), devices)
        return None

    async def _read(self, workload: Workload) -> dict[str, Spec | str]:
        """What each template claims, or why it could not be read."""
        return {name: await self._read_one(workload.metadata.namespace, name) for name in templates_of(workload)}

    async def _read_one(self, namespace: str, name: str) -> Spec | str:
        try:
            found = await self._context.client.of(TEMPLATES).get((namespace, name))
        except StatusError as error:
            if error.code not in UNREADABLE:
                raise
            return error.message
        spec = (found.get("spec") or {}).get("spec") or {}
        return dict(spec)

    async def _tell(self, workload: Workload, problem: str) -> Workload:
        """Write down what is wrong with the claims, or that nothing is any more; the Workload as it is then."""
        facts, now = replace(self._surroundings.facts(workload), claims_problem=problem), self._context.now()
        told = requeue_when_allowed(hold_uncountable(workload, facts, now), facts, now)
        told = explain_waiting(told, facts, now).workload if told is not workload else told
        return await self._context.known.write_status(workload, told, MANAGER)

    def _look_later(self, key: ObjectKey) -> RequeueAfter:
        self._looks[key] = self._looks.get(key, 0) + 1
        return RequeueAfter(LOOKING.steady(self._looks[key]))

    def _show(self, key: ObjectKey, counted: Workload, devices: dict[str, dict[str, int]]) -> None:
        """Let the engine see a Workload with its devices, if it still is the one whose claims were counted."""
        known = self._context.known.get(key)
        if known is None or not _waits(known) or _state(known) != _state(counted):
            return
        self._counted[key] = _state(known)
        self._looks.pop(key, None)
        if not becomes_parent(known, self._surroundings.cluster_queue_of(known), self._gates):
            self._context.feed.tell(ObjectUpserted(known))
        claimed = tuple((name, tuple(sorted(amounts.items()))) for name, amounts in devices.items())
        self._context.feed.tell(DeviceClaimsCounted(ObjectKey(*key), claimed))


def _state(workload: Workload) -> ClaimInputs:
    return ClaimInputs(workload.metadata.uid, workload.metadata.generation or 0)


def _waits(workload: Workload) -> bool:
    return workload.spec.active and not (is_reserved(workload) or is_finished(workload) or is_on_hold(workload))


@asynccontextmanager
async def running_claim_controller(context: ControllerContext) -> AsyncIterator[None]:
    """Claims are counted for as long as the block lasts; begins before anything is scheduled."""
    claimants = DeviceClaimController(context)
    claimants.start()
    try:
        yield
    finally:
        await claimants.stop()
