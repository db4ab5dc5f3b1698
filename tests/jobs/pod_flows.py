"""Replays recorded flows of pods and their owners in a pass harness with webhooks and finalizers."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from jobs.golden_jobs import FLAVOR_F, configuration_of, gates_of, without_zero
from jobs.pass_harness import PassHarness, PassResult
from jobs.test_golden_job_flows import apply_step as play_on_objects
from jobs.test_golden_job_flows import golden_workload
from kohort.api.codec import JsonObject, to_json
from kohort.api.config.common import Integrations
from kohort.api.fields import FieldError
from kohort.api.merge import merge
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import REQUEUED, without_condition
from kohort.jobs.ancestors import managed_ancestor, owner_is_managed_kind
from kohort.jobs.contract import Framework, JobKey
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.errors import JobError
from kohort.jobs.frameworks.cronjob import CronJobFramework
from kohort.jobs.frameworks.deployment import DeploymentFramework
from kohort.jobs.frameworks.leaderworkerset import LeaderWorkerSetFramework
from kohort.jobs.frameworks.pods.framework import PodFramework
from kohort.jobs.frameworks.replicaset import ReplicaSetFramework
from kohort.jobs.frameworks.statefulset import StatefulSetFramework
from kohort.jobs.reconcile_pass import PassPlan
from kohort.jobs.registry import registry_of
from kohort.jobs.validation import validate_job

Json = Any

PODS = PodFramework()
SETS = LeaderWorkerSetFramework()
FRAMEWORKS: dict[str, Framework] = {
    each.name: each
    for each in (
        PODS,
        DeploymentFramework(),
        StatefulSetFramework(),
        ReplicaSetFramework(),
        CronJobFramework(),
        SETS,
    )
}
PLANNERS = {each.name: each for framework in FRAMEWORKS.values() for each in framework.planners}
GENERATED = ("resourceVersion", "creationTimestamp")


class PodPassHarness(PassHarness):
    """A harness in which deleted objects stay until their finalizers are removed."""

    def __init__(self, case: Json, *configured: str) -> None:
        names = configured or ("pod", "deployment", "statefulset", "leaderworkerset.x-k8s.io/leaderworkerset")
        configuration = replace(configuration_of(case), integrations=Integrations(frameworks=names))
        super().__init__(registry_of(configuration, FRAMEWORKS.values()), configuration, gates_of(case))
        for obj in (FLAVOR_F, *(case.get("extraObjects") or ())):
            self.put(obj)

    def put(self, obj: JsonObject) -> None:
        super().put(obj)
        head = obj["metadata"]
        if head.get("deletionTimestamp") and not head.get("finalizers"):
            self.objects.pop((obj["kind"], ObjectKey(head.get("namespace", ""), head["name"])), None)

    def delete(self, kind: str, key: ObjectKey) -> None:
        obj = self.objects.get((kind, key))
        if obj is None or not obj["metadata"].get("finalizers"):
            super().delete(kind, key)
            return
        now = self.now.isoformat().replace("+00:00", "Z")
        self.put(merge(obj, {"metadata": {"deletionTimestamp": now}}))

    async def facts(self, obj: JsonObject, *, is_new: bool = True) -> JobContext:
        ancestor = await managed_ancestor(obj, self.registry, self._fetch, without_queue_name=False)
        return JobContext(
            reads=self,
            is_new=is_new,
            has_managed_owner=ancestor is not None,
            has_owner_of_managed_kind=owner_is_managed_kind(obj, self.registry),
        )

    async def submit(self, obj: JsonObject) -> JsonObject:
        """Create an object through its webhooks."""
        framework = self._framework(obj)
        facts = await self.facts(obj)
        defaulted, _ = default_job(framework, obj, facts)
        errors, _ = validate_job(framework, defaulted, None, facts)
        assert not errors, errors
        self.put(defaulted)
        return defaulted

    async def change(self, kind: str, name: str, patch: Json) -> list[FieldError]:
        """Patch an object through its webhooks; the problems for which it is refused."""
        old = self.objects[kind, ObjectKey("ns", name)]
        framework, new = self._framework(old), merge(old, patch)
        facts = await self.facts(new, is_new=False)
        new, _ = default_job(framework, new, facts)
        errors, _ = validate_job(framework, new, old, facts)
        if not errors:
            self.put(new)
        return errors

    async def look(self, planner: str, name: str) -> PassResult:
        """One pass of a planner."""
        found = PLANNERS[planner]
        obj = self.objects[found.resource.kind, ObjectKey("ns", name)]
        assert found.key(obj) == JobKey("ns", name)
        ancestor = None
        if not found.is_top_level:
            ancestor = await managed_ancestor(obj, self.registry, self._fetch, without_queue_name=False)
        before = deepcopy(self.objects), dict(self.workloads)
        try:
            plan = found.plan(obj, ancestor, self)
        except JobError as error:
            plan = PassPlan(error.effects, error)
        assert (self.objects, self.workloads) == before, "planning changed what it read"
        seen = PassResult(error=str(plan.error) if plan.error else None)
        for effect in plan.effects:
            self._apply(effect, seen)
        return seen

    def _framework(self, obj: JsonObject) -> Framework:
        (found,) = (each for each in FRAMEWORKS.values() if each.resource.kind == obj["kind"])
        return found


@dataclass
class ReplayedPass:
    """A recorded pass and its replay."""

    recorded: Json
    seen: PassResult
    workloads: list[Json]
    pods: list[Json]
    is_repeated: bool
    """Whether the event of completion was recorded in an earlier pass (Q-3)."""


async def apply_step(harness: PodPassHarness, step: Json) -> None:
    """Apply a step, including webhooks, and compare their responses."""
    match step["do"]:
        case "create":
            made = await harness.submit(step["object"])
            assert without_zero(_plain(made)) == without_zero(_plain(step["defaulted"]))
        case "patch" if "allowed" in step:
            errors = await harness.change(step["kind"], step["objectName"], step["patch"])
            assert (not errors) == step["allowed"], errors
            if errors:
                assert str(errors[0].path) == step["message"].partition(": ")[0]
        case "observe expected pod events":
            pass  # what was written is known at once, so nothing waits for the watch
        case "admit workload":
            play_on_objects(harness, step)
            workload = harness.workloads[ObjectKey("ns", step["workload"])]
            harness.put_workload(without_condition(workload, REQUEUED))
        case _:
            play_on_objects(harness, step)


async def reconcile(harness: PodPassHarness, step: Json) -> PassResult:
    """The pass of a step."""
    framework, key = step["framework"], step["key"]
    if framework == "statefulset":
        planner = "statefulset_pod" if step.get("controller") else "statefulset"
        return await harness.look(planner, key.split("/")[-1])
    namespace, name = key.split("/")[-2:]
    if framework == SETS.name:
        return await look_at_set(harness, name)
    return await harness.reconcile(FRAMEWORKS[framework], JobKey(namespace, name, key.startswith("group/")))


async def look_at_set(harness: PodPassHarness, name: str) -> PassResult:
    """One pass over a LeaderWorkerSet and each of its pods, which is one pass of the real Kueue."""
    passes = []
    if ("LeaderWorkerSet", ObjectKey("ns", name)) in harness.objects:
        passes.append(await harness.look(SETS.name, name))
    pods = [key.name for kind, key in harness.objects if kind == "Pod" and key.name.startswith(name)]
    passes += [await harness.look("leaderworkerset_pod", pod) for pod in pods]
    events = [event for seen in passes for event in seen.events]
    return PassResult(events, [write for seen in passes for write in seen.writes])


async def replay_flow(flow: Json) -> list[ReplayedPass]:
    """Replay a flow; each pass with its result and the objects after it."""
    harness, steps, finished = PodPassHarness(flow), [], False
    for step in flow["steps"]:
        if "observedPodSets" in step:
            assert golden_pod_sets(harness) == without_zero(step["observedPodSets"])
            continue
        if step["do"] != "reconcile":
            await apply_step(harness, step)
            continue
        seen = await reconcile(harness, step)
        workloads = sorted((golden_workload(each) for each in harness.workloads.values()), key=_name)
        pods = [golden_pod(obj) for (kind, _), obj in sorted(harness.objects.items()) if kind == "Pod"]
        steps.append(ReplayedPass(step, seen, workloads, pods, finished))
        finished |= any(reason == "FinishedWorkload" for _, reason, _, _ in seen.events)
    return steps


def golden_pod_sets(harness: PodPassHarness) -> Json:
    """The distinct pod sets of all Workloads."""
    found: list[Json] = []
    for workload in harness.workloads.values():
        pod_sets = without_zero(
            [{"name": each.name, "count": each.count, **to_json(each)} for each in workload.spec.pod_sets]
        )
        found += [pod_sets] if pod_sets not in found else []
    return found


def _name(obj: Json) -> str:
    return str(obj["name"])


def _plain(obj: Json) -> Json:
    head = {name: value for name, value in obj["metadata"].items() if name not in GENERATED}
    return {"metadata": head, "spec": obj["spec"]}


def golden_pod(pod: JsonObject) -> Json:
    """A pod as the fixtures show it."""
    head, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    return {
        "annotations": head.get("annotations", {}),
        "conditions": [
            {name: value for name, value in each.items() if name != "lastTransitionTime"}
            for each in status.get("conditions", ())
        ],
        "deleting": "deletionTimestamp" in head,
        "finalizers": head.get("finalizers", []),
        "gates": [gate["name"] for gate in spec.get("schedulingGates", ())],
        "labels": head.get("labels", {}),
        "name": head["name"],
        "nodeSelector": spec.get("nodeSelector", {}),
        "phase": status.get("phase", ""),
    }
