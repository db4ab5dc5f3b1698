"""The controller that ungates pods of elastic jobs (JOB-84).

Pods are watched from the first elastic job on, and only those with Kueue's label: most clusters need no watch.
"""

from collections.abc import Iterable
from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.core.pods import Pod
from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ControllerContext
from kohort.controllers.workloads.assume_cache import key_of as workload_key
from kohort.jobs.assume_cache import CachedObject, ObjectAssumeCache
from kohort.jobs.effect_executor import merge_patch
from kohort.jobs.effects import PatchObject, key_of
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.keys import ELASTIC_GATE, PODSET_LABEL
from kohort.jobs.objects import metadata, uid
from kohort.jobs.timing import time_gate_removal
from kohort.jobs.ungating import chain_of, is_gated, is_slice, serving_slice, slice_named_by, ungate
from kohort.kube.controller import Controller, RequeueAfter
from kohort.kube.options import ListScope, WriteOptions
from kohort.kube.workqueue import WorkQueue

CHAIN: Final = "slice chain"
SLICE: Final = "slice of pod"
BATCH: Final = 1.0
"""Seconds by which reconciles are delayed, to batch events of pods."""
NOT_SYNCED_DELAY: Final = 1.0
WORKERS: Final = 4
MANAGER: Final = "kueue-elastic-jobs-controller"
STARTED_BY_US: Final = ListScope(labels=PODSET_LABEL)


def chains(workload: Workload) -> Iterable[tuple[str, str]]:
    """The chain of an elastic job's slice, which all its slices share."""
    return ((workload.metadata.namespace, chain_of(workload)),) if is_slice(workload) else ()


def slices_of_pod(pod: JsonObject) -> Iterable[tuple[str, str]]:
    """The chain or Workload that a pod was started for."""
    named = slice_named_by(pod)
    return ((metadata(pod).get("namespace", ""), named),) if named else ()


class Ungater:
    """Ungates pods, chain by chain."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._expectations = UidExpectations()
        self._pods: ObjectAssumeCache | None = None
        self._queue: WorkQueue[ObjectKey] = WorkQueue(context.clock, "elastic-jobs", metrics=context.client.metrics)
        self._controller = Controller(
            "elastic-jobs", self._queue, self._reconcile, context.clock, context.client.metrics
        )

    def start(self) -> None:
        """Start reconciling, if the feature gate is on."""
        if self._context.settings.gates.enabled(Gate.ElasticJobsViaWorkloadSlices):
            self._context.workloads.index(CHAIN, chains)
            self._context.workload_cache.subscribe(self._workload_changed)
        self._controller.start(WORKERS)

    async def stop(self) -> None:
        """Stop after reconciles in flight."""
        await self._controller.stop()

    def _workload_changed(self, _old: Workload | None, new: Workload | None) -> None:
        if new is None or not is_slice(new):
            return
        if self._pods is None:
            self._pods = ObjectAssumeCache(self._context.informers, Pod.resource, STARTED_BY_US)
            self._pods.index(SLICE, slices_of_pod)
            self._pods.informer.subscribe(self._pod_changed)
        self._queue.add(ObjectKey(new.metadata.namespace, chain_of(new)))

    def _pod_changed(self, old: CachedObject | None, new: CachedObject | None) -> None:
        shown = new or old
        if shown is None:
            return
        pod = shown.json()
        named = slice_named_by(pod)
        if not named:
            return
        key = self._chain(ObjectKey(shown.identity.key.namespace, named))
        if new is None or not is_gated(pod):
            self._expectations.observe(str(key), shown.identity.uid)
        self._queue.add_after(key, BATCH)

    def _chain(self, key: ObjectKey) -> ObjectKey:
        """The chain in a pod's annotation, which has its name or that of a Workload in it."""
        workload = self._context.workload_cache.get(key)
        return ObjectKey(key.namespace, chain_of(workload)) if workload is not None else key

    async def _reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        if self._pods is None or not self._context.leads():
            return None
        if not (self._pods.informer.synced and self._context.feed.is_synced):
            return RequeueAfter(NOT_SYNCED_DELAY)
        slices = self._slices(key)
        serving = serving_slice(slices)
        if serving is None or not self._expectations.is_settled(str(key)):
            return None
        for patch in ungate(serving, self._pods_of(key, slices)):
            await self._write(self._pods, str(key), patch)
            time_gate_removal(self._context.metrics, ELASTIC_GATE, serving, self._context.now())
        return None

    def _slices(self, key: ObjectKey) -> list[Workload]:
        shown = self._context.workloads.cache.find(CHAIN, tuple(key))
        known = (self._context.workload_cache.get(workload_key(each)) for each in shown)
        return sorted((each for each in known if each is not None), key=_age)

    def _pods_of(self, key: ObjectKey, slices: Iterable[Workload]) -> list[JsonObject]:
        """Pods that reference the chain, or any Workload of it."""
        if self._pods is None:
            return []
        names = dict.fromkeys((key.name, *(each.metadata.name for each in slices)))
        return [pod for name in names for pod in self._pods.find(SLICE, (key.namespace, name))]

    async def _write(self, pods: ObjectAssumeCache, chain: str, effect: PatchObject) -> None:
        patch = merge_patch(effect, metadata(effect.before).get("resourceVersion", ""))
        if patch is None:
            return
        self._expectations.expect(chain, (uid(effect.before),))
        try:
            options = WriteOptions(field_manager=MANAGER)
            written = await self._context.client.of(Pod.resource).patch(key_of(effect.before), patch, options)
        except BaseException:
            self._expectations.observe(chain, uid(effect.before))
            raise
        pods.assume(written)


def _age(workload: Workload) -> tuple[str, str]:
    created = workload.metadata.creation_timestamp
    return created.isoformat() if created is not None else "9999", workload.metadata.uid
