"""Reconcile passes of jobs on objects in memory; effects are applied as by an API server, time is set by hand."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from kohort.api.codec import JsonObject, from_json, to_json
from kohort.api.config.v1beta2 import Configuration
from kohort.api.core.nodes import PriorityClass
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.api.kueue.v1beta2 import ClusterQueue, ResourceFlavor, Workload, WorkloadPriorityClass
from kohort.api.merge import difference, merge
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.engine.lifecycle.writes import WriteTarget
from kohort.jobs.ancestors import managed_ancestor
from kohort.jobs.contract import Framework, JobKey
from kohort.jobs.effects import (
    CreateWorkload,
    DeleteObject,
    DeleteWorkload,
    Effect,
    PatchObject,
    PatchWorkload,
    RecordEvent,
)
from kohort.jobs.errors import JobError
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.planning import plan_pass
from kohort.jobs.reconcile_pass import PassPlan
from kohort.jobs.registry import FrameworkRegistry

START = datetime(2026, 8, 1, 12, tzinfo=UTC)


@dataclass
class PassResult:
    """The result of a pass."""

    events: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Type, reason, message, object."""
    writes: list[tuple[str, str, str, Any]] = field(default_factory=list)
    """Verb, kind, subresource, patch."""
    error: str | None = None
    requeue_after: float | None = None


class PassHarness:
    """Objects, time and settings; implements the reader of passes."""

    def __init__(
        self,
        registry: FrameworkRegistry,
        configuration: Configuration | None = None,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self.registry = registry
        self.configuration = configuration or Configuration()
        self.gates = gates
        self.now = START
        self.objects: dict[tuple[str, ObjectKey], JsonObject] = {}
        self.workloads: dict[ObjectKey, Workload] = {}
        self.flavors: dict[str, ResourceFlavor] = {}
        self.classes: dict[str, PriorityClass] = {}
        self.workload_classes: dict[str, WorkloadPriorityClass] = {}
        self.namespaces: dict[str, dict[str, str]] = {"ns": {}}
        self.checks: dict[str, str] = {}
        self.cluster_queues: dict[str, ClusterQueue] = {}
        """ClusterQueues by namespace and name of a LocalQueue."""
        self.expectations = UidExpectations()
        self._version = 0

    # What passes read

    def get(self, resource: Resource, key: ObjectKey) -> JsonObject | None:
        return self.objects.get((resource.kind, key))

    def find(self, resource: Resource, index: str, value: str) -> Sequence[JsonObject]:
        framework = self.registry.framework((resource.group, resource.kind))
        assert framework is not None
        of_kind = [obj for (kind, _), obj in sorted(self.objects.items()) if kind == resource.kind]
        return [obj for obj in of_kind if value in framework.indexes[index](obj)]

    def workload(self, key: ObjectKey) -> Workload | None:
        return self.workloads.get(key)

    def owned_workloads(self, namespace: str, api_version: str, kind: str, name: str) -> Sequence[Workload]:
        wanted = (api_version, kind, name)
        found = [
            each
            for key, each in self.workloads.items()
            if key.namespace == namespace
            and wanted in [(own.api_version, own.kind, own.name) for own in each.metadata.owner_references]
        ]
        return sorted(found, key=lambda each: (each.metadata.creation_timestamp or START, each.metadata.name))

    def check_controller(self, check: str) -> str:
        return self.checks.get(check, "")

    def cluster_queue_of(self, namespace: str, local_queue: str) -> ClusterQueue | None:
        return self.cluster_queues.get(f"{namespace}/{local_queue}")

    def is_settled(self, expectation: str) -> bool:
        return self.expectations.is_settled(expectation)

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        return self.namespaces.get(name)

    def flavor(self, name: str) -> ResourceFlavor | None:
        return self.flavors.get(name)

    def workload_priority_class(self, name: str) -> WorkloadPriorityClass | None:
        return self.workload_classes.get(name)

    def priority_class(self, name: str) -> PriorityClass | None:
        return self.classes.get(name)

    def default_priority_classes(self) -> Iterable[PriorityClass]:
        return [each for each in self.classes.values() if each.global_default]

    # What tests do

    def put(self, obj: JsonObject) -> None:
        """Create or replace an object of any kind."""
        obj = deepcopy(obj)
        metadata = obj.setdefault("metadata", {})
        metadata["resourceVersion"] = self._next()
        if obj["kind"] == "Workload":
            metadata.setdefault("uid", f"uid-{metadata['name']}")
            metadata.setdefault("creationTimestamp", self.now.isoformat().replace("+00:00", "Z"))
            self.put_workload(from_json(obj, Workload))
        elif obj["kind"] == "ResourceFlavor":
            self.flavors[metadata["name"]] = from_json(obj, ResourceFlavor)
        elif obj["kind"] == "PriorityClass":
            self.classes[metadata["name"]] = from_json(obj, PriorityClass)
        elif obj["kind"] == "WorkloadPriorityClass":
            self.workload_classes[metadata["name"]] = from_json(obj, WorkloadPriorityClass)
        else:
            self.objects[obj["kind"], _key(obj)] = obj

    def put_workload(self, workload: Workload) -> None:
        head = workload.metadata
        if head.deletion_timestamp is not None and not head.finalizers:
            self.workloads.pop(ObjectKey(head.namespace, head.name), None)
            return
        head = replace(head, resource_version=self._next())
        self.workloads[ObjectKey(head.namespace, head.name)] = replace(workload, metadata=head)

    def patch(self, kind: str, key: ObjectKey, patch: JsonObject) -> None:
        if kind == "Workload":
            self.put_workload(from_json(merge(to_json(self.workloads[key]), patch), Workload))
        else:
            self.put(merge(self.objects[kind, key], patch))

    def delete(self, kind: str, key: ObjectKey) -> None:
        if kind != "Workload":
            self.objects.pop((kind, key), None)
            return
        workload = self.workloads[key]
        self.put_workload(replace(workload, metadata=replace(workload.metadata, deletion_timestamp=self.now)))

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    # Passes

    async def plan(self, framework: Framework, key: JobKey) -> PassPlan:
        obj = framework.load(key, self)
        ancestor = None
        if obj is not None and not framework.is_top_level:
            manages_all = self.configuration.manage_jobs_without_queue_name
            try:
                ancestor = await managed_ancestor(obj, self.registry, self._fetch, without_queue_name=manages_all)
            except JobError as error:
                return PassPlan(error.effects, error)
        return plan_pass(framework, key, obj, ancestor, self)

    async def reconcile(self, framework: Framework, key: JobKey, most: int | None = None) -> PassResult:
        """One pass; `most` cuts it off after so many writes, as a crash would."""
        before = (deepcopy(self.objects), dict(self.workloads))
        plan = await self.plan(framework, key)
        assert (self.objects, self.workloads) == before, "planning changed what it read"
        seen = PassResult(error=str(plan.error) if plan.error else None, requeue_after=plan.requeue_after)
        for effect in plan.effects:
            if most is not None and len(seen.writes) >= most:
                break
            self._apply(effect, seen)
        return seen

    async def _fetch(self, api_version: str, kind: str, namespace: str, name: str, uid: str) -> JsonObject | None:
        return self.objects.get((kind, ObjectKey(namespace, name)))

    def _apply(self, effect: Effect, seen: PassResult) -> None:
        match effect:
            case RecordEvent(about, note):
                seen.events.append((note.type, note.reason, note.message, f"{about.namespace}/{about.name}"))
            case PatchObject(before, after, part):
                self._patch_object(before, after, part, seen)
            case DeleteObject(obj):
                seen.writes.append(("delete", obj["kind"], "", None))
                self.delete(obj["kind"], _key(obj))
            case CreateWorkload(workload):
                self._create(workload, seen)
            case PatchWorkload(before, after, _, part):
                self._patch_workload(before, after, part, seen)
            case DeleteWorkload(workload):
                seen.writes.append(("delete", "Workload", "", None))
                key = ObjectKey(workload.metadata.namespace, workload.metadata.name)
                if key in self.workloads:
                    self.delete("Workload", key)

    def _patch_object(self, before: JsonObject, after: JsonObject, part: WriteTarget, seen: PassResult) -> None:
        patch = difference(before, after)
        assert set(patch) <= ({"status"} if part is WriteTarget.STATUS else {"metadata", "spec"}), patch
        if patch:
            if "template" in patch.get("spec", {}) and before["kind"] == "Job":
                assert _has_mutable_template(self.objects["Job", _key(before)]), "the server would refuse this"
            seen.writes.append(("patch", before["kind"], "status" if part is WriteTarget.STATUS else "", patch))
            self.put(merge(self.objects[before["kind"], _key(before)], patch))

    def _create(self, workload: Workload, seen: PassResult) -> None:
        seen.writes.append(("create", "Workload", "", None))
        key = ObjectKey(workload.metadata.namespace, workload.metadata.name)
        if key in self.workloads:
            seen.error = "already exists"
            return
        head = replace(workload.metadata, uid=f"uid-{key.name}", creation_timestamp=self.now, generation=1)
        self.put_workload(from_json(to_json(replace(workload, metadata=head)), Workload))

    def _patch_workload(self, before: Workload, after: Workload, part: WriteTarget, seen: PassResult) -> None:
        old, new = to_json(before), to_json(after)
        patch = difference(old, new)
        assert patch, "a write that changes nothing"
        wanted = {"status"} if part is WriteTarget.STATUS else {"metadata", "spec"}
        assert set(patch) <= wanted, patch
        seen.writes.append(("patch", "Workload", "status" if part is WriteTarget.STATUS else "", patch))
        key = ObjectKey(before.metadata.namespace, before.metadata.name)
        self.put_workload(from_json(merge(to_json(self.workloads[key]), patch), Workload))

    def _next(self) -> str:
        self._version += 1
        return str(self._version)


def _key(obj: JsonObject) -> ObjectKey:
    return ObjectKey(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def _has_mutable_template(job: JsonObject) -> bool:
    """Whether every Kubernetes accepts a change of a Job's template: suspended, no pod active, not started."""
    status = job.get("status") or {}
    return job["spec"].get("suspend") is True and not status.get("active") and not status.get("startTime")
