"""Builds the context of a job for its webhooks from the caches of a running manager.

Only the namespace and owners may need a request: they can be newer than the caches.
"""

from collections.abc import Mapping
from dataclasses import replace

from kohort.api.codec import JsonObject
from kohort.api.core.namespaces import Namespace
from kohort.api.core.reviews import UserInfo
from kohort.api.gates import Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.controllers.context import ControllerContext
from kohort.jobs.ancestors import known_controller, managed_ancestor, owner_is_managed_kind
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import Framework
from kohort.jobs.defaulting import DEFAULT_PRIORITY_CLASS
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.defaulting.local_queue import DEFAULT_QUEUE
from kohort.jobs.defaulting.webhook_only import handed_down_labels
from kohort.jobs.errors import RetryError
from kohort.jobs.keys import MULTIKUEUE_CONTROLLER, SUSPENDING_PARENT_ANNOTATION
from kohort.jobs.objects import annotations, is_terminating, metadata, uid
from kohort.jobs.ownership import ControllerPermissions, claimed_controller
from kohort.jobs.podset_infos import admitted_infos
from kohort.jobs.podsets import PodSetInfo
from kohort.jobs.registry import FrameworkRegistry, group_kind
from kohort.jobs.scope import is_owned_by, may_end, may_run, selects_namespace, workloads_of
from kohort.kube.access_reviews import AccessReviewer
from kohort.kube.errors import StatusError


class JobContextBuilder:
    """Builds job contexts."""

    def __init__(self, context: ControllerContext, registry: FrameworkRegistry, reads: CacheReader) -> None:
        self._context = context
        self._registry = registry
        self._reads = reads
        self._rights = ControllerPermissions(AccessReviewer(context.client))

    async def build(self, obj: JsonObject, *, is_new: bool, author: UserInfo | None) -> JobContext:
        """The context of one request; raises RetryError if an owner cannot be found (JOB-3).

        `author` is the user whose request sets the object's controller; None where it leaves that as it was.
        """
        namespace = metadata(obj).get("namespace", "")
        in_scope = selects_namespace(self._reads.configuration, await self._namespace_labels(namespace))
        is_forged = in_scope and author is not None and await self._is_forged(obj, author)
        asks_owners = in_scope and not is_forged and self._depends_on_owners(obj, is_new=is_new)
        ancestor = await self._managed_owner(obj, is_new=is_new) if asks_owners else None
        running = await self._running_workload(ancestor) if ancestor and self._is_top_level(obj) else None
        return JobContext(
            reads=self._reads,
            is_new=is_new,
            in_scope=in_scope,
            has_managed_owner=ancestor is not None and (running is not None or not self._is_top_level(obj)),
            has_owner_of_managed_kind=not is_forged and owner_is_managed_kind(obj, self._registry),
            has_forged_controller=is_forged,
            bound_info=self._bound_info(obj, ancestor, running),
            owner_labels=await self._owner_labels(obj) if in_scope else {},
            has_default_queue=self._context.local_queues.cache.get((namespace, DEFAULT_QUEUE)) is not None,
            has_default_priority_class=self._context.priority_classes.cache.get(("", DEFAULT_PRIORITY_CLASS))
            is not None,
            dispatches=lambda queue: self._dispatches(namespace, queue),
        )

    async def _namespace_labels(self, name: str) -> Mapping[str, str]:
        known = self._reads.namespace_labels(name)
        if known is not None:
            return known
        try:
            found = await self._context.client.of(Namespace).get(("", name))
        except StatusError as error:
            if not error.is_not_found:
                raise
            return {}
        return found.metadata.labels

    async def _owner_labels(self, obj: JsonObject) -> Mapping[str, str]:
        """The labels that an object gets from its controller (JOB-190)."""
        reference = claimed_controller(obj)
        if reference is None or is_terminating(obj):
            return {}
        framework = self._registry.framework(group_kind(reference["apiVersion"], reference["kind"]))
        kind = group_kind(obj.get("apiVersion", ""), obj.get("kind", ""))
        if framework is None or framework.name not in self._registry.enabled:
            return {}
        if kind not in framework.labeled_dependents:
            return {}
        namespace, owner_uid = metadata(obj).get("namespace", ""), reference.get("uid", "")
        owner = await self._reads.fetch(
            reference["apiVersion"], reference["kind"], namespace, reference["name"], owner_uid
        )
        return handed_down_labels(owner) if owner is not None and uid(owner) == owner_uid else {}

    def _depends_on_owners(self, obj: JsonObject, *, is_new: bool) -> bool:
        """Whether the owners of the object matter; finding them costs requests, and must not block an update."""
        if is_terminating(obj) and self._reads.gates.enabled(Gate.SkipAncestorCheckForDeletedWorkloads):
            return False
        framework = self._framework_of(obj)
        if framework is None:
            return True
        if is_new:
            return not (framework.is_top_level and SUSPENDING_PARENT_ANNOTATION in annotations(obj))
        return framework.defaults_on_update

    async def _managed_owner(self, obj: JsonObject, *, is_new: bool) -> JsonObject | None:
        manages_all = self._reads.configuration.manage_jobs_without_queue_name
        try:
            return await managed_ancestor(obj, self._registry, self._reads.fetch, without_queue_name=manages_all)
        except RetryError:
            # A job whose owner is gone must accept updates, or its finalizers could not be removed.
            if is_new:
                raise
            return None

    async def _is_forged(self, obj: JsonObject, author: UserInfo) -> bool:
        """Whether the author sets a controller without having its permissions (DEV-9)."""
        claimed = known_controller(obj, self._registry)
        if claimed is None:
            return False
        owner = await self._reads.resource_of(claimed["apiVersion"], claimed["kind"])
        return not await self._rights.includes(author, owner, metadata(obj).get("namespace", ""))

    def _is_top_level(self, obj: JsonObject) -> bool:
        framework = self._framework_of(obj)
        return framework is not None and framework.is_top_level

    async def _running_workload(self, ancestor: JsonObject) -> Workload | None:
        """The Workload by which pods of the ancestor may run; read from the server if no cached one does (DEV-9)."""
        framework = self._framework_of(ancestor)
        allows = may_run if framework is None or not framework.binds_pods else may_end
        cached = next(filter(allows, workloads_of(ancestor, self._reads)), None)
        if cached is not None:
            return cached
        live = await self._reads.live_workloads(metadata(ancestor).get("namespace", ""), uid(ancestor))
        return next((each for each in live if is_owned_by(each, ancestor) and allows(each)), None)

    def _bound_info(self, pod: JsonObject, ancestor: JsonObject | None, running: Workload | None) -> PodSetInfo | None:
        """What the pod gets from the Workload of its ancestor; it is not placed by topology (JOB-204)."""
        framework = self._framework_of(ancestor) if ancestor is not None else None
        if framework is None or running is None or not framework.binds_pods:
            return None
        infos = admitted_infos(running, self._reads.flavor, self._reads.gates)
        name = framework.bound_pod_set(pod)
        found = next((each for each in infos if each.name == name), infos[0] if infos else None)
        return replace(found, scheduling_gates=(), annotations={}) if found is not None else None

    def _framework_of(self, obj: JsonObject) -> Framework | None:
        return self._registry.framework(group_kind(obj.get("apiVersion", ""), obj.get("kind", "")))

    def _dispatches(self, namespace: str, queue: str) -> bool:
        """Whether a check of a LocalQueue's ClusterQueue dispatches jobs to other clusters (JOB-70)."""
        cluster = self._reads.cluster_queue_of(namespace, queue)
        strategy = cluster.spec.admission_checks_strategy if cluster is not None else None
        names = [each.name for each in strategy.admission_checks] if strategy is not None else []
        return any(self._reads.check_controller(name) == MULTIKUEUE_CONTROLLER for name in names)
