"""The Deployment controller: rolls Deployments out through their ReplicaSets.

A reconcile takes one step and updates the status; changes of the ReplicaSets trigger the next reconcile.
"""

from kohort.api.codec import Json
from kohort.api.conditions import find
from kohort.api.core.apps import DeploymentStatus
from kohort.api.core.events import EventType
from kohort.api.meta import LabelSelector, ObjectKey
from kohort.api.selectors import compile_or_nothing
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.controller_ref import BY_OWNER, owner_uid, pods_by_controller, pods_of
from kohort.embedded.controllers.deployments.owning import SetClaims
from kohort.embedded.controllers.deployments.progress import (
    PROGRESSING,
    condition,
    counts,
    deadline,
    is_complete,
    put,
    rollout_status,
    seconds_left,
    with_pause,
)
from kohort.embedded.controllers.deployments.revisions import (
    REVISION,
    Sets,
    bare,
    new_annotations,
    new_set,
    next_revision,
    outdated,
    sorted_sets,
)
from kohort.embedded.controllers.deployments.scaling import (
    Sizes,
    first_size,
    is_resized,
    is_rolling,
    recreate_step,
    resized,
    rolling_step,
    size_annotations,
)
from kohort.embedded.controllers.serving import (
    BY_NAMESPACE,
    DeploymentView,
    ReplicaSetView,
    _Conditions,
    in_namespace,
)
from kohort.embedded.controllers.status_writer import write_status
from kohort.embedded.controllers.unobserved_writes import UnobservedWrites
from kohort.embedded.controllers.views import controller_of, key_of, reference_to
from kohort.kube.client import Client
from kohort.kube.controller import RequeueAfter
from kohort.kube.errors import StatusError
from kohort.kube.events import EventToRecord
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.options import DeletionOptions
from kohort.kube.patches import MergePatch

_ORPHANS = "orphans"


def _orphan_index(found: ReplicaSetView) -> tuple[str, ...]:
    """Index of ReplicaSets without a controller, by namespace."""
    return () if owner_uid(found) else (found.metadata.namespace,)


class DeploymentController(BuiltinController[ObjectKey]):
    """Reconciles Deployments and their ReplicaSets."""

    NAME = "deployment-controller"
    WORKERS = 8

    def __init__(self, client: Client, informers: SharedInformerFactory) -> None:
        super().__init__(client)
        self._written = UnobservedWrites[DeploymentView](client.clock)
        self._unobserved = UnobservedWrites[ReplicaSetView](client.clock)
        self._deployments = informers.of(DeploymentView)
        self._deployments.index(BY_NAMESPACE, in_namespace)
        self._sets = informers.of(ReplicaSetView)
        self._sets.index(BY_OWNER, owner_uid)
        self._sets.index(_ORPHANS, _orphan_index)
        self._pods = pods_by_controller(informers)
        self._ref_manager = SetClaims(client)
        self._deployments.subscribe(self._written.observe)
        self._deployments.subscribe(self._on_deployment)
        self._sets.subscribe(self._unobserved.observe)
        self._sets.subscribe(self._on_set)

    def _on_deployment(self, old: DeploymentView | None, new: DeploymentView | None) -> None:
        if new is not None:
            self._queue.add(key_of(new.metadata))

    def _on_set(self, old: ReplicaSetView | None, new: ReplicaSetView | None) -> None:
        for found in (old, new):
            owner = controller_of(found.metadata) if found is not None else None
            if found is not None and owner is not None and owner.kind == DeploymentView.KIND:
                self._queue.add(ObjectKey(found.metadata.namespace, owner.name))
        if new is not None and controller_of(new.metadata) is None:
            self._enqueue_adopters(new)

    def _enqueue_adopters(self, orphan: ReplicaSetView) -> None:
        """Enqueues Deployments that may adopt an orphaned ReplicaSet."""
        for found in self._deployments.cache.find(BY_NAMESPACE, orphan.metadata.namespace):
            if compile_or_nothing(found.spec.selector).matches(orphan.metadata.labels):
                self._queue.add(key_of(found.metadata))

    # One Deployment

    async def reconcile(self, key: ObjectKey) -> RequeueAfter | None:
        """Takes the next rollout step and updates the status."""
        cached = self._deployments.cache.get(key)
        if cached is None:
            return None
        found = self._written.latest(cached)
        if found.spec.selector == LabelSelector():
            text = "This deployment is selecting all pods. A non-empty selector is required."
            self._record_event(found, "SelectingAll", text, kind="Warning")
            return None
        sets = await self._own_sets(found)
        conditions = found.status.conditions
        now = self._clock.wall()
        if found.metadata.deletion_timestamp is not None:
            await self._write(found, counts(found, sets, conditions, now))
            return None
        conditions = with_pause(found, conditions, now)
        if sets.new is not None:
            sets, conditions = await self._sync_revision(found, sets, sets.new, conditions)
        if not (found.spec.paused or is_resized(found, sets)):
            return await self._roll(found, sets, conditions)
        await self._resize(found, sets, conditions)
        return None

    async def _own_sets(self, found: DeploymentView) -> Sets:
        cache = self._sets.cache
        own = [self._unobserved.latest(each) for each in cache.find(BY_OWNER, found.metadata.uid)]
        known = {each.metadata.uid for each in own}
        own += [each for each in self._unobserved.missing(found.metadata.uid) if each.metadata.uid not in known]
        orphans = cache.find(_ORPHANS, found.metadata.namespace)
        return sorted_sets(found, await self._ref_manager.claim(found, own, orphans))

    async def _resize(self, found: DeploymentView, sets: Sets, conditions: _Conditions) -> None:
        sets = await self._scale(found, sets, resized(found, sets))
        for each in sets.active:
            if size_annotations(found).items() - each.metadata.annotations.items():
                sets = sets.with_changed(await self._scale_one(found, each, each.spec.replicas))
        if found.spec.paused:
            await self._clean_up(found, sets)
        await self._write(found, counts(found, sets, conditions, self._clock.wall()))

    async def _roll(self, found: DeploymentView, sets: Sets, conditions: _Conditions) -> RequeueAfter | None:
        """One step of a rollout: create the new ReplicaSet, scale, or clean up at the end."""
        may_start = is_rolling(found) or not self._runs_old_pods(sets)
        if sets.new is None and may_start:
            sets, conditions = await self._create_new_set(found, sets, conditions)
        sets = await self._scale(found, sets, self._step(found, sets))
        now = self._clock.wall()
        status = rollout_status(found, sets, conditions, now)
        if is_complete(found, status):
            await self._clean_up(found, sets)
        await self._write(found, status)
        left = seconds_left(found, status, now)
        return RequeueAfter(max(left, 1.0)) if left is not None else None

    def _step(self, found: DeploymentView, sets: Sets) -> Sizes:
        if is_rolling(found):
            return rolling_step(found, sets)
        going = recreate_step(found, sets)
        if going or sets.new is None or self._runs_old_pods(sets):
            return going
        return {sets.new.metadata.uid: found.spec.replicas}

    def _runs_old_pods(self, sets: Sets) -> bool:
        """Whether pods of an old template exist, including terminating ones."""
        pods = (pod for each in sets.old for pod in pods_of(self._pods.cache, each.metadata.uid))
        wanted = any(each.spec.replicas or each.status.replicas for each in sets.old)
        return wanted or any(not pod.is_finished for pod in pods)

    # The new ReplicaSet

    async def _sync_revision(
        self, found: DeploymentView, sets: Sets, new: ReplicaSetView, conditions: _Conditions
    ) -> tuple[Sets, _Conditions]:
        """Syncs annotations and revision between the Deployment and its new ReplicaSet."""
        wanted = new_annotations(found, sets)
        if wanted != new.metadata.annotations or new.spec.min_ready_seconds != found.spec.min_ready_seconds:
            change = {"annotations": wanted}
            sets = sets.with_changed(await self._patch(new, change, {"minReadySeconds": found.spec.min_ready_seconds}))
        await self._number(found, wanted.get(REVISION, ""))
        if deadline(found) is not None and find(conditions, PROGRESSING) is None:
            text = f'Found new replica set "{new.metadata.name}"'
            conditions = put(conditions, condition(PROGRESSING, "True", "FoundNewReplicaSet", text, self._clock.wall()))
        return sets, conditions

    async def _create_new_set(
        self, found: DeploymentView, sets: Sets, conditions: _Conditions
    ) -> tuple[Sets, _Conditions]:
        """Creates the ReplicaSet of a new template."""
        size = first_size(found, sets)
        body = new_set(found, size, {**new_annotations(found, sets), **size_annotations(found)})
        name = body["metadata"]["name"]
        try:
            made = await self._make(found, body)
        except StatusError as error:
            await self._record_rejection(found, sets, conditions, f'Failed to create new replica set "{name}": {error}')
            raise
        if size > 0:
            self._record_event(found, "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {size}")
        await self._number(found, str(next_revision(sets)))
        if deadline(found) is not None:
            text = f'Created new replica set "{name}"'
            new = condition(PROGRESSING, "True", "NewReplicaSetCreated", text, self._clock.wall())
            conditions = put(conditions, new)
        return Sets(made, sets.old), conditions

    async def _make(self, found: DeploymentView, body: dict[str, Json]) -> ReplicaSetView:
        """Creates the ReplicaSet or returns an equal existing one; a name collision increments collisionCount."""
        plain = self._client.of(ReplicaSetView.resource)
        try:
            made = await plain.create(body)
        except StatusError as error:
            if not error.is_already_exists:
                raise
            key = ObjectKey(found.metadata.namespace, body["metadata"]["name"])
            present = await self._sets.objects.get(key)
            owner = controller_of(present.metadata)
            is_ours = owner is not None and owner.uid == found.metadata.uid
            if is_ours and bare(present.spec.template) == bare(found.spec.template):
                return present
            await self._avoid_name(found)
            raise
        return self._unobserved.wrote(self._sets.objects.kind.read(plain.kind.body(made)))

    async def _avoid_name(self, found: DeploymentView) -> None:
        await self._patch_status(found, {"status": {"collisionCount": (found.status.collision_count or 0) + 1}})

    async def _record_rejection(self, found: DeploymentView, sets: Sets, conditions: _Conditions, text: str) -> None:
        now = self._clock.wall()
        self._record_event(found, "ReplicaSetCreateError", text, kind="Warning")
        if deadline(found) is not None:
            conditions = put(conditions, condition(PROGRESSING, "False", "ReplicaSetCreateError", text, now))
            await self._write(found, counts(found, sets, conditions, now))

    async def _number(self, found: DeploymentView, revision: str) -> None:
        if revision and found.metadata.annotations.get(REVISION) != revision:
            change = {"uid": found.metadata.uid, "annotations": {REVISION: revision}}
            await self._patch_status(found, {"metadata": change})

    # Scaling

    async def _scale(self, found: DeploymentView, sets: Sets, sizes: Sizes) -> Sets:
        for each in sets.all:
            size = sizes.get(each.metadata.uid, each.spec.replicas)
            if size != each.spec.replicas:
                sets = sets.with_changed(await self._scale_one(found, each, size))
        return sets

    async def _scale_one(self, found: DeploymentView, each: ReplicaSetView, size: int) -> ReplicaSetView:
        changed = await self._patch(each, {"annotations": size_annotations(found)}, {"replicas": size})
        before, name = each.spec.replicas, each.metadata.name
        if size != before:
            way = "up" if size > before else "down"
            self._record_event(found, "ScalingReplicaSet", f"Scaled {way} replica set {name} from {before} to {size}")
        return changed

    async def _patch(self, each: ReplicaSetView, metadata: dict[str, Json], spec: dict[str, Json]) -> ReplicaSetView:
        """Patches a ReplicaSet unless it changed meanwhile."""
        state = {"uid": each.metadata.uid, "resourceVersion": each.metadata.resource_version, **metadata}
        patch = MergePatch({"metadata": state, "spec": spec})
        return self._unobserved.wrote(await self._sets.objects.patch(key_of(each.metadata), patch))

    async def _clean_up(self, found: DeploymentView, sets: Sets) -> None:
        for each in outdated(found, sets.old):
            try:
                await self._sets.objects.delete(key_of(each.metadata), DeletionOptions(uid=each.metadata.uid))
            except StatusError as error:
                if not error.is_not_found:
                    raise

    # Status

    async def _patch_status(self, found: DeploymentView, change: dict[str, Json]) -> None:
        """Patches the status subresource even for annotations: patching the object would increment its generation."""
        objects = self._deployments.objects
        self._written.wrote(await objects.patch(key_of(found.metadata), MergePatch(change), subresource="status"))

    async def _write(self, found: DeploymentView, status: DeploymentStatus) -> None:
        answer = await write_status(self._client, found, found.status, status)
        if answer is not None:
            self._written.wrote(answer)

    def _record_event(self, found: DeploymentView, reason: str, text: str, kind: EventType = "Normal") -> None:
        self._recorder.record(reference_to(found), EventToRecord(kind, reason, text))
