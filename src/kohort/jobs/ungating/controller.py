"""The controller that removes one scheduling gate, Workload by Workload (JOB-84, TAS-93).

A pod gets its patch with the resourceVersion that the decision is based on. Without a conclusive response the same
patch is sent again before anything else is decided: it may have been applied.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.core.pods import Pod
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.leader_transport import NotLeadingError
from kohort.controllers.scheduling.writer import REJECTIONS
from kohort.controllers.workloads.assume_cache import key_of as workload_key
from kohort.jobs.effect_executor import merge_patch
from kohort.jobs.effects import PatchObject, RecordEvent, key_of
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.objects import metadata, uid
from kohort.jobs.timing import time_gate_removal
from kohort.jobs.ungating.chains import chain_of, is_slice, serving_slice
from kohort.jobs.ungating.policy import GatePolicy
from kohort.jobs.ungating.started_pods import PodChange, StartedPods
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.errors import StatusError, UnreachableError
from kohort.kube.options import WriteOptions
from kohort.kube.workqueue import WorkQueue

CHAIN: Final = "slice chain"
BATCH: Final = 1.0
"""Seconds by which reconciles are delayed, to batch events of pods."""
NOT_SYNCED_DELAY: Final = 1.0
WORKERS: Final = 4
IN_FLIGHT: Final = 16
"""Maximum number of concurrent patches of one Workload's pods."""


def chains(workload: Workload) -> Iterator[tuple[str, str]]:
    """The chain of an elastic job's slice, which all its slices share."""
    if is_slice(workload):
        yield workload.metadata.namespace, chain_of(workload)


class PodUngater:
    """Removes the gate of one policy."""

    def __init__(self, context: ControllerContext, pods: StartedPods, policy: GatePolicy) -> None:
        self._context = context
        self._pods = pods
        self._policy = policy
        self._expectations = UidExpectations()
        self._unconfirmed: dict[ObjectKey, list[PatchObject]] = {}
        """Patches without a conclusive response, by Workload: they may have been applied."""
        metrics = context.client.metrics
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, policy.controller, metrics=metrics)
        self._controller = Controller(policy.controller, self._queue, self._reconcile, context.clock, metrics)

    def start(self) -> None:
        """Start reconciling, if the feature gate is on."""
        if self._context.settings.gates.enabled(self._policy.feature):
            self._context.workloads.index(CHAIN, chains)
            self._pods.subscribe(self._pod_changed)
            self._context.workload_cache.subscribe(self._workload_changed)
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        await self._controller.stop()

    def _workload_changed(self, _old: Workload | None, new: Workload | None) -> None:
        if new is not None and self._policy.applies(new):
            self._pods.watch()
            self._queue.add(ObjectKey(new.metadata.namespace, chain_of(new)))

    def _pod_changed(self, change: PodChange) -> None:
        key = self._chain(change.workload)
        if self._policy.gate not in change.gates:
            self._expectations.observe(str(key), change.uid)
        self._queue.add_after(key, BATCH)

    def _chain(self, key: ObjectKey) -> ObjectKey:
        """The chain that a pod names, by its own name or by that of a Workload in it."""
        workload = self._context.workload_cache.get(key)
        return ObjectKey(key.namespace, chain_of(workload)) if workload is not None else key

    async def _reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        if not self._context.leads():
            return None
        if not (self._pods.synced and self._context.feed.is_synced):
            return RequeueAfter(NOT_SYNCED_DELAY)
        workloads = self._workloads(key)
        serving = serving_slice(workloads)
        repeated = self._repeated(key)
        if serving is None or not self._policy.applies(serving):
            for patch in repeated:
                self._settle(key, patch)
            return None
        await self._send(key, serving, repeated)
        if self._expectations.is_settled(str(key)):
            await self._ungate(key, serving, workloads)
        return None

    def _workloads(self, key: ObjectKey) -> list[Workload]:
        """The slices of a chain, oldest first, or the one Workload of that name."""
        slices = self._context.workloads.cache.find(CHAIN, tuple(key))
        keys = map(workload_key, sorted(slices, key=_age)) if slices else (key,)
        return [found for each in keys if (found := self._context.workload_cache.get(each)) is not None]

    async def _ungate(self, key: ObjectKey, serving: Workload, workloads: Sequence[Workload]) -> None:
        names = dict.fromkeys((key.name, *(each.metadata.name for each in workloads)))
        pods = [pod for name in names for pod in self._pods.find(ObjectKey(key.namespace, name))]
        effects = self._policy.ungate(serving, pods)
        for effect in effects:
            if isinstance(effect, RecordEvent):
                self._context.recorder(self._policy.manager).record(effect.about, effect.note)
        await self._send(key, serving, [effect for effect in effects if isinstance(effect, PatchObject)])

    # Writes

    def _repeated(self, key: ObjectKey) -> list[PatchObject]:
        """Patches without a conclusive response, whose pods have not changed since."""
        repeated = []
        for patch in self._unconfirmed.pop(key, ()):
            present = self._pods.get(key_of(patch.before))
            if present is not None and _version(present) == _version(patch.before):
                repeated.append(patch)
            else:
                self._settle(key, patch)
        return repeated

    def _settle(self, key: ObjectKey, patch: PatchObject) -> None:
        """Expect no event: the patch is not applied, or its event has been observed."""
        self._expectations.observe(str(key), uid(patch.before))

    async def _send(self, key: ObjectKey, workload: Workload, patches: Sequence[PatchObject]) -> None:
        """Send patches, some at a time; raises the first error after those that concern only one pod."""
        failures: list[BaseException] = []
        for start in range(0, len(patches), IN_FLIGHT):
            part = patches[start : start + IN_FLIGHT]
            sent = (self._write(key, workload, patch) for patch in part)
            failures += [each for each in await asyncio.gather(*sent, return_exceptions=True) if each is not None]
            if not all(map(_is_rejection, failures)):
                # The rest is decided again.
                break
        if failures:
            raise failures[0]

    async def _write(self, key: ObjectKey, workload: Workload, effect: PatchObject) -> None:
        patch = merge_patch(effect, _version(effect.before)[1])
        if patch is None:
            return
        self._expectations.expect(str(key), (uid(effect.before),))
        options = WriteOptions(field_manager=self._policy.manager)
        try:
            written = await self._context.client.of(Pod.resource).patch(key_of(effect.before), patch, options)
        except Exception as error:
            self._failed(key, effect, error)
            return
        self._pods.assume(written)
        time_gate_removal(self._context.metrics, self._policy.gate, workload, self._context.now())

    def _failed(self, key: ObjectKey, effect: PatchObject, error: Exception) -> None:
        """Handle a failed patch; raises the error unless the pod is gone."""
        if _is_rejection(error) or isinstance(error, UnreachableError | NotLeadingError):
            self._settle(key, effect)
        else:
            self._unconfirmed.setdefault(key, []).append(effect)
        if not (isinstance(error, StatusError) and error.is_not_found):
            raise error


def _is_rejection(error: BaseException) -> bool:
    """Whether the server refused to change this pod, so that a retry of the same patch does not help."""
    return isinstance(error, StatusError) and (error.code in REJECTIONS or error.is_not_found)


def _version(pod: JsonObject) -> tuple[str, str]:
    return uid(pod), metadata(pod).get("resourceVersion", "")


def _age(workload: Workload) -> tuple[str, str]:
    created = workload.metadata.creation_timestamp
    return created.isoformat() if created is not None else "9999", workload.metadata.uid
