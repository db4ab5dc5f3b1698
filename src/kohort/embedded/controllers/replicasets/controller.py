"""The ReplicaSet controller."""

from functools import partial

from msgspec.structs import replace

from kohort.api.core.apps import ReplicaSetStatus
from kohort.api.meta import ObjectKey
from kohort.api.selectors import compile_or_nothing
from kohort.embedded.controllers.availability import next_available
from kohort.embedded.controllers.batches import run_in_batches
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.controller_ref import (
    BY_OWNER,
    ControllerRefManager,
    owner_uid,
    pods_by_controller,
    pods_of,
)
from kohort.embedded.controllers.expectations import PodExpectations
from kohort.embedded.controllers.pod_control import PodControl, pod_from_template
from kohort.embedded.controllers.replicasets.plan import ReplicaFailure, plan, status_of
from kohort.embedded.controllers.serving import BY_NAMESPACE, ReplicaSetView, event_delay, in_namespace
from kohort.embedded.controllers.status_writer import write_status
from kohort.embedded.controllers.views import ControllerPod, controller_of, key_of
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import KubeError
from kohort.kube.informer import SharedInformerFactory


class ReplicaSetController(BuiltinController[ObjectKey]):
    """Reconciles ReplicaSets and their pods."""

    NAME = "replicaset-controller"
    WORKERS = 8

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._pod_control = PodControl(client, self._recorder)
        self._ref_manager = ControllerRefManager(client)
        self._expectations = PodExpectations(client.clock)
        self._written: dict[str, ReplicaSetStatus] = {}
        self._sets = informers.of(ReplicaSetView)
        self._sets.index(BY_NAMESPACE, in_namespace)
        self._sets.index(BY_OWNER, owner_uid)
        self._pods = pods_by_controller(informers)
        self._sets.subscribe(self._on_set)
        self._pods.subscribe(self._expectations.observe)
        self._pods.subscribe(self._on_pod)

    def _on_set(self, old: ReplicaSetView | None, new: ReplicaSetView | None) -> None:
        if new is None:
            if old is not None:
                self._expectations.forget(old.metadata.uid)
                self._written.pop(old.metadata.uid, None)
        elif old is None or not self._is_echo(old, new):
            self._queue.add(key_of(new.metadata))

    def _is_echo(self, old: ReplicaSetView, new: ReplicaSetView) -> bool:
        """Whether only the status changed, to what this controller wrote last."""
        reported = self._written.get(new.metadata.uid)
        same = replace(new.metadata, resource_version=old.metadata.resource_version) == old.metadata
        return reported == new.status and same and old.spec == new.spec

    def _on_pod(self, old: ControllerPod | None, new: ControllerPod | None) -> None:
        owners = [controller_of(pod.metadata) for pod in (old, new) if pod is not None]
        for pod, owner in zip((pod for pod in (old, new) if pod is not None), owners, strict=True):
            if owner is not None and owner.kind == ReplicaSetView.KIND:
                self._enqueue(ObjectKey(pod.metadata.namespace, owner.name))
        is_news = old is None or new is None or old.metadata.labels != new.metadata.labels or owners[0] != owners[-1]
        if new is not None and owners[-1] is None and is_news:
            self._enqueue_adopters(new)

    def _enqueue(self, key: ObjectKey) -> None:
        found = self._sets.cache.get(key)
        if found is not None:
            self._queue.add_after(key, event_delay(found.spec.replicas))

    def _enqueue_adopters(self, orphan: ControllerPod) -> None:
        """Enqueues ReplicaSets that may adopt an orphaned pod."""
        for found in self._sets.cache.find(BY_NAMESPACE, orphan.metadata.namespace):
            if compile_or_nothing(found.spec.selector).matches(orphan.metadata.labels):
                self._queue.add(key_of(found.metadata))

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Creates or deletes pods and updates the status."""
        found = self._sets.cache.get(key)
        if found is None:
            return None
        selector = compile_or_nothing(found.spec.selector)
        claimed = await self._ref_manager.claim(found, selector, self._pods.cache, lambda pod: pod.is_active)
        pods = self._expectations.overlay(found.metadata.uid, claimed)
        rejection = await self._execute(found, pods)
        pods = self._expectations.overlay(found.metadata.uid, claimed)
        failure = ReplicaFailure(_reason(found, pods), str(rejection)) if rejection is not None else None
        now = self._clock.wall()
        status = status_of(found, pods, failure, now)
        self._written[found.metadata.uid] = status
        await write_status(self._client, found, found.status, status, required=("replicas",))
        if rejection is not None:
            raise rejection
        wait = next_available((pod for pod in pods if pod.is_active), found.spec.min_ready_seconds, now.timestamp())
        return RequeueAfter(max(wait, 0.0) + 0.01) if wait is not None else None

    async def _execute(self, found: ReplicaSetView, pods: list[ControllerPod]) -> KubeError | None:
        """Executes the plan; returns the first rejection, if any."""
        wanted = plan(found, pods, self._related(found) if len(pods) > found.spec.replicas else (), self._clock.wall())
        if wanted.creates:
            new = pod_from_template(found.spec.template, found)
            batch = await self._pod_control.create_all(found, [new] * wanted.creates)
            for pod in batch.made:
                self._expectations.created(found.metadata.uid, pod)
            return batch.rejection
        return await run_in_batches([partial(self._delete, found, pod) for pod in wanted.deletes])

    async def _delete(self, found: ReplicaSetView, pod: ControllerPod) -> None:
        await self._pod_control.delete(found, pod)
        self._expectations.deleted(found.metadata.uid, pod)

    def _related(self, found: ReplicaSetView) -> list[ControllerPod]:
        """The pods of all ReplicaSets of the same owner, for ranking by pods per node."""
        owner = controller_of(found.metadata)
        siblings = self._sets.cache.find(BY_OWNER, owner.uid) if owner is not None else [found]
        return [pod for each in siblings for pod in pods_of(self._pods.cache, each.metadata.uid)]


def _reason(found: ReplicaSetView, pods: list[ControllerPod]) -> str:
    return "FailedCreate" if sum(pod.is_active for pod in pods) < found.spec.replicas else "FailedDelete"
