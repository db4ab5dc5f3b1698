"""The StatefulSet controller."""

from functools import partial

from kohort.api.codec import Json
from kohort.api.meta import ObjectKey
from kohort.api.selectors import compile_or_nothing
from kohort.embedded.controllers.availability import next_available
from kohort.embedded.controllers.batches import run_in_batches
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.controller_ref import ControllerRefManager, pods_by_controller
from kohort.embedded.controllers.expectations import PodExpectations
from kohort.embedded.controllers.serving import StatefulSetView, TemplateJson, event_delay
from kohort.embedded.controllers.statefulsets.history import RevisionHistory
from kohort.embedded.controllers.statefulsets.identity import (
    identity_labels,
    numbered_pod,
    ordinal_of,
    parent_and_ordinal,
    pod_name,
)
from kohort.embedded.controllers.statefulsets.plan import (
    PodToCreate,
    RevisionNames,
    StatefulSetPlan,
    ordinal_pods,
    plan,
    status_of,
)
from kohort.embedded.controllers.statefulsets.storage import StatefulSetClaims
from kohort.embedded.controllers.status_writer import write_status
from kohort.embedded.controllers.unobserved_writes import UnobservedWrites
from kohort.embedded.controllers.views import ControllerPod, controller_of, key_of, reference_to
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import KubeError, StatusError
from kohort.kube.events import EventToRecord
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import DeletionOptions
from kohort.kube.patches import MergePatch

RECHECK_SECONDS = 1.0
"""Seconds until a terminating claim is checked again."""
_REQUIRED = ("replicas", "availableReplicas")


class StatefulSetController(BuiltinController[ObjectKey]):
    """Reconciles StatefulSets, their pods and their claims."""

    NAME = "statefulset-controller"
    WORKERS = 8

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._ref_manager = ControllerRefManager(client)
        self._expectations = PodExpectations(client.clock)
        self._written = UnobservedWrites[StatefulSetView](client.clock)
        self._histories = RevisionHistory(client, informers)
        self._storage = StatefulSetClaims(client, informers, self._recorder)
        self._sets = informers.of(StatefulSetView)
        self._pods = pods_by_controller(informers)
        self._sets.subscribe(self._written.observe)
        self._sets.subscribe(self._on_set)
        self._pods.subscribe(self._expectations.observe)
        self._pods.subscribe(self._on_pod)

    def _on_set(self, old: StatefulSetView | None, new: StatefulSetView | None) -> None:
        if new is not None:
            self._queue.add(key_of(new.metadata))
        elif old is not None:
            self._expectations.forget(old.metadata.uid)

    def _on_pod(self, old: ControllerPod | None, new: ControllerPod | None) -> None:
        for pod in (old, new):
            owner = controller_of(pod.metadata) if pod is not None else None
            if pod is not None and owner is not None and owner.kind == StatefulSetView.KIND:
                self._enqueue(ObjectKey(pod.metadata.namespace, owner.name))
        if new is not None and controller_of(new.metadata) is None:
            # The StatefulSet in the orphan's name may adopt it.
            self._enqueue(ObjectKey(new.metadata.namespace, parent_and_ordinal(new)[0]))

    def _enqueue(self, key: ObjectKey) -> None:
        found = self._sets.cache.get(key)
        if found is not None:
            self._queue.add_after(key, event_delay(found.spec.replicas))

    # Reconciliation

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Takes the next steps and updates the status."""
        cached = self._sets.cache.get(key)
        if cached is None:
            return None
        found = self._written.latest(cached)
        claimed = await self._claim(found)
        history = await self._histories.of(found)
        pods = self._expectations.overlay(found.metadata.uid, claimed)
        wanted = plan(found, pods, history.names, self._clock.wall())
        rejection = await self._execute(found, wanted, history.templates)
        await self._settle_storage(found, pods)
        pods = self._expectations.overlay(found.metadata.uid, claimed)
        now = self._clock.wall()
        status = status_of(found, pods, history.names, history.collisions, now)
        answer = await write_status(self._client, found, found.status, status, _REQUIRED)
        if answer is not None:
            self._written.wrote(answer)
        await self._histories.trim(found, pods, RevisionNames(status.current_revision, status.update_revision))
        if rejection is not None:
            raise rejection
        return self._again(found, pods, wanted, now.timestamp())

    def _again(
        self, found: StatefulSetView, pods: list[ControllerPod], done: StatefulSetPlan, now: float
    ) -> RequeueAfter | None:
        if any(self._storage.is_stale(found, new_pod.ordinal) for new_pod in done.creates):
            return RequeueAfter(RECHECK_SECONDS)
        wait = next_available((pod for pod in pods if pod.is_active), found.spec.min_ready_seconds, now)
        return RequeueAfter(max(wait, 0.0) + 0.01) if wait is not None else None

    async def _claim(self, found: StatefulSetView) -> list[ControllerPod]:
        """The set's pods; only orphans with its name are adopted."""
        name = found.metadata.name
        selector = compile_or_nothing(found.spec.selector)
        return await self._ref_manager.claim(
            found, selector, self._pods.cache, lambda pod: parent_and_ordinal(pod)[0] == name
        )

    # Steps

    async def _execute(
        self, found: StatefulSetView, wanted: StatefulSetPlan, templates: dict[str, TemplateJson]
    ) -> KubeError | None:
        creates = [partial(self._create_pod, found, new_pod, templates[new_pod.revision]) for new_pod in wanted.creates]
        deletes = [partial(self._delete_pod, found, pod) for pod in wanted.deletes]
        names = [partial(self._name, found, pod) for pod in wanted.unlabeled]
        return await run_in_batches(creates) or await run_in_batches(names) or await run_in_batches(deletes)

    async def _create_pod(self, found: StatefulSetView, new_pod: PodToCreate, template: TemplateJson) -> None:
        """Creates a pod with its claims, unless claims of its predecessor are terminating."""
        if self._storage.is_stale(found, new_pod.ordinal):
            return
        await self._storage.provide(found, new_pod.ordinal)
        name = pod_name(found, new_pod.ordinal)
        try:
            made = await self._create(numbered_pod(found, template, new_pod.revision, new_pod.ordinal), found)
        except StatusError as error:
            if not error.is_already_exists:
                self._record_event(found, "Create", name, error)
            raise
        self._expectations.created(found.metadata.uid, made)
        self._record_event(found, "Create", name)

    async def _create(self, pod: dict[str, Json], found: StatefulSetView) -> ControllerPod:
        plain = self._client.of(ControllerPod.resource)
        made = await plain.create(pod, found.metadata.namespace)
        return self._pods.objects.kind.read(plain.kind.body(made))

    async def _delete_pod(self, found: StatefulSetView, pod: ControllerPod) -> None:
        try:
            await self._pods.objects.delete(pod.key, DeletionOptions(uid=pod.metadata.uid))
        except StatusError as error:
            if not error.is_not_found:
                self._record_event(found, "Delete", pod.metadata.name, error)
                raise
        self._expectations.deleted(found.metadata.uid, pod)
        self._record_event(found, "Delete", pod.metadata.name)

    async def _name(self, found: StatefulSetView, pod: ControllerPod) -> None:
        labels = identity_labels(pod.metadata.name, ordinal_of(pod))
        patch = MergePatch({"metadata": {"uid": pod.metadata.uid, "labels": labels}})
        await self._pods.objects.patch(pod.key, patch)
        self._record_event(found, "Update", pod.metadata.name)

    async def _settle_storage(self, found: StatefulSetView, pods: list[ControllerPod]) -> None:
        if not found.spec.volume_claim_templates or found.metadata.deletion_timestamp is not None:
            return
        who = ordinal_pods(found, pods)
        for ordinal, pod in who.by_ordinal.items():
            if pod is not None and pod.status.phase == "Pending":
                await self._storage.provide(found, ordinal)
        for pod in (*who.by_ordinal.values(), *who.surplus):
            if pod is not None:
                await self._storage.settle(found, pod)

    def _record_event(self, found: StatefulSetView, verb: str, pod: str, error: StatusError | None = None) -> None:
        what = f"{verb} Pod {pod} in StatefulSet {found.metadata.name}"
        if error is None:
            note = EventToRecord("Normal", f"Successful{verb}", f"{what} successful")
        else:
            note = EventToRecord("Warning", f"Failed{verb}", f"{what} failed error: {error}")
        self._recorder.record(reference_to(found), note)
