"""Custom job kinds as the real Kueue queued, started, stopped, defaulted and validated them (GS-22 to GS-30)."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from jobs.golden_jobs import SPARK, configuration_of, events_of, harness_of, without_empty, without_zero
from jobs.pass_harness import PassHarness, PassResult
from kit.golden.recordings import job_recording
from kohort.api.codec import from_json, to_json
from kohort.api.fields import FieldError
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission
from kohort.api.merge import merge
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import ADMITTED, QUOTA_RESERVED, condition_true, with_condition_set, with_status
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.contract import Framework, JobKey
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.frameworks.sparkapplication.node_selector import NODE_SELECTOR_ANNOTATION
from kohort.jobs.keys import MULTIKUEUE_CONTROLLER
from kohort.jobs.names import workload_name
from kohort.jobs.objects import requests_slices, value_at
from kohort.jobs.scope import selects_namespace
from kohort.jobs.validation import validate_job
from kohort.jobs.workload_builder import stored

Json = Any

FILES = (
    "appwrapper",
    "jobset",
    "kubeflow",
    "mpijob",
    "raycluster",
    "rayjob",
    "rayservice",
    "sparkapplication",
    "trainjob",
)
FRAMEWORKS = {each.name: each for each in built_in_frameworks()}
TRAIN = "trainer.kubeflow.org/trainjob"
UNRECORDED_STOPS = {TRAIN: [""]}
"""Writes of the job during a stop, by framework, that were recorded without their content."""


DIFFERENT = {
    ("AppWrapper", "only a service"): "DEV-14: it is rejected",
    ("RayJob", "cluster selector"): "DEV-13: it is left alone",
    ("RayService", "autoscaling without elastic"): "DEV-13: the field is named as the user wrote it",
    ("RayJob", "group named submitter"): "DEV-3",
    ("RayJob", "17 groups"): "DEV-3",
}
"""Cases and validations that differ, each for its reason (docs/deviations.md); they have their own tests."""


@dataclass(frozen=True)
class RecordedJob:
    """A recorded case of one framework."""

    framework: Framework
    case: Json

    @property
    def key(self) -> JobKey:
        return JobKey("ns", self.case["object"]["metadata"]["name"])

    def staged(self) -> PassHarness:
        harness = harness_of(self.case, self.framework)
        harness.put(self.case["defaulted"])
        return harness

    async def reconcile(self, harness: PassHarness) -> PassResult:
        return await harness.reconcile(self.framework, self.key)

    async def started(self) -> tuple[PassHarness, PassResult]:
        harness = self.staged()
        await self.reconcile(harness)
        workload = the_workload(harness)
        admission = from_json(self.case["admission"], Admission)
        admitted = with_status(workload, replace(workload.status, admission=admission))
        for each in (QUOTA_RESERVED, ADMITTED):
            admitted = with_condition_set(admitted, each, condition_true(each, ""), harness.now)
        harness.put_workload(admitted)
        return harness, await self.reconcile(harness)

    def object(self, harness: PassHarness) -> Json:
        found = dict(harness.objects[self.framework.resource.kind, ObjectKey(*self.key[:2])])
        found["metadata"] = {name: value for name, value in found["metadata"].items() if name != "resourceVersion"}
        notes = found["metadata"].get("annotations") or {}
        found["metadata"]["annotations"] = {
            name: value for name, value in notes.items() if name != NODE_SELECTOR_ANNOTATION
        }
        return without_zero(found)

    def stopped(self) -> Json:
        """The recorded object after a stop, without the default template of a submitter (DEV-13).

        A SparkApplication is what its user wrote (DEV-15).
        """
        if self.framework.name == SPARK:
            return without_zero(self.case["defaulted"])
        found = deepcopy(self.case["stopped"])
        if "submitterPodTemplate" not in self.case["object"]["spec"]:
            found["spec"].pop("submitterPodTemplate", None)
        return without_zero(found)

    def job_writes(self, seen: PassResult) -> list[str]:
        return [subresource for _, kind, subresource, _ in seen.writes if kind == self.framework.resource.kind]

    def recorded_writes(self, step: str) -> list[str]:
        """Writes of the job, without the empty patches that JOB-54 forbids."""
        kind = self.framework.resource.kind
        return [
            each.get("subresource", "")
            for each in self.case[step]["writes"]
            if each["kind"] == kind and each.get("patch")
        ]

    def context(self, *, is_new: bool = True) -> JobContext:
        """The context of a webhook request."""
        extra = self.case.get("extraObjects") or ()
        names = {(obj["kind"], obj["metadata"]["name"]) for obj in extra}
        controllers = {obj["spec"]["controllerName"] for obj in extra if obj["kind"] == "AdmissionCheck"}
        return JobContext(
            reads=harness_of(self.case, self.framework),
            is_new=is_new,
            in_scope=selects_namespace(configuration_of(self.case), {}),
            has_default_queue=("LocalQueue", "default") in names,
            has_default_priority_class=("WorkloadPriorityClass", "default") in names,
            dispatches=lambda queue: queue == "qm" and MULTIKUEUE_CONTROLLER in controllers,
        )


ALL = [
    RecordedJob(FRAMEWORKS[case["framework"]], case)
    for file in FILES
    for case in job_recording(file)
    if (FRAMEWORKS[case["framework"]].resource.kind, case["name"]) not in DIFFERENT
]
ACCEPTED = [each for each in ALL if "rejected" not in each.case]
QUEUED = [each for each in ACCEPTED if "workload" in each.case]
STOPPED = [each for each in QUEUED if "stopped" in each.case]
REJECTED = [each for each in ALL if "rejected" in each.case and each.framework.name != TRAIN]
"""A TrainJob without a runtime is accepted and reported instead (docs/deviations.md)."""
WITH_STATUSES = [each for each in ACCEPTED if "statuses" in each.case]
CREATES = [
    (each, made)
    for each in ACCEPTED
    for made in each.case.get("validateCreate", ())
    if (each.framework.resource.kind, made["name"]) not in DIFFERENT
]
UPDATES = [(each, made) for each in ACCEPTED for made in each.case.get("validateUpdate", ())]


def named(value: Any) -> str:
    return f"{value.framework.resource.kind} {value.case['name']}" if isinstance(value, RecordedJob) else value["name"]


def the_workload(harness: PassHarness) -> Workload:
    (workload,) = harness.workloads.values()
    return workload


def conditions(status: Json) -> Json:
    members = ("type", "status", "reason", "message")
    return sorted(tuple(each[member] for member in members) for each in status["conditions"])


def compare_errors(errors: list[FieldError], recorded: Json) -> None:
    assert (not errors) == recorded["allowed"], errors
    if errors:
        first = recorded["message"].lstrip("[").partition(": ")[0]
        assert first == str(errors[0].path), errors


@pytest.mark.parametrize("job", ACCEPTED, ids=named)
def test_pod_sets_and_their_names(job: RecordedJob) -> None:
    harness, case = job.staged(), job.case
    found = stored(job.framework.pod_sets(case["defaulted"], harness), harness.gates)
    shown = [{"name": each.name, "count": each.count, **to_json(each)} for each in found]
    assert without_empty(shown) == without_empty(case["podSets"])
    metadata = case["defaulted"]["metadata"]
    extra = job.framework.name_extra(case["defaulted"]) if requests_slices(case["defaulted"], harness.gates) else ""
    name = workload_name(job.framework.resource, metadata["name"], metadata["uid"], harness.gates, extra)
    assert name == case["workloadName"]


@pytest.mark.parametrize("job", ACCEPTED, ids=named)
async def test_the_first_pass_creates_the_workload(job: RecordedJob) -> None:
    harness, recorded = job.staged(), job.case["firstReconcile"]
    seen = await job.reconcile(harness)
    assert seen.events == events_of(recorded)
    assert [(verb, kind) for verb, kind, _, _ in seen.writes] == [(w["verb"], w["kind"]) for w in recorded["writes"]]
    assert (seen.error is not None) == ("error" in recorded)
    if "workload" not in job.case:
        assert not harness.workloads
        return
    made = to_json(the_workload(harness))
    made["spec"].pop("podSets")
    for generated in ("uid", "resourceVersion", "creationTimestamp", "generation"):
        made["metadata"].pop(generated)
    assert without_empty({"metadata": made["metadata"], "spec": made["spec"]}) == without_empty(job.case["workload"])
    assert await job.reconcile(harness) == PassResult()


@pytest.mark.parametrize("job", QUEUED, ids=named)
async def test_an_admitted_job_is_started_once(job: RecordedJob) -> None:
    harness, seen = await job.started()
    assert seen.events == events_of(job.case["start"])
    assert job.job_writes(seen) == job.recorded_writes("start")
    assert job.object(harness) == without_zero(job.case["started"])
    assert job.case["steadyWrites"] == []
    assert await job.reconcile(harness) == PassResult()


@pytest.mark.parametrize("job", STOPPED, ids=named)
async def test_an_evicted_job_is_stopped_and_restored(job: RecordedJob) -> None:
    harness, _ = await job.started()
    harness.put_workload(
        evict(the_workload(harness), EvictionCause("Preempted", "Preempted to accommodate x"), harness.now).workload
    )
    seen = await job.reconcile(harness)
    assert seen.events == events_of(job.case["stop"])
    assert job.job_writes(seen) == [*UNRECORDED_STOPS.get(job.framework.name, []), *job.recorded_writes("stop")]
    assert job.object(harness) == job.stopped()
    assert conditions(to_json(the_workload(harness).status)) == conditions(job.case["workloadStatusAfterStop"])
    assert await job.reconcile(harness) == PassResult()


@pytest.mark.parametrize("job", WITH_STATUSES, ids=named)
def test_the_status_of_a_job(job: RecordedJob) -> None:
    harness, framework = job.staged(), job.framework
    for recorded in job.case["statuses"]:
        obj = merge(job.case["defaulted"], {"status": recorded["status"]})
        ended = framework.finished(obj)
        assert (ended is not None) == recorded["finished"]["finished"]
        if ended is not None:
            expected = recorded["finished"]
            assert (ended.success, ended.message) == (expected["success"], expected["message"])
        # A finished job has no active pods for us; the recording only looks at another field.
        assert framework.is_active(obj) == (recorded["active"] and ended is None)
        assert framework.is_suspended(obj) == recorded["suspended"]
        assert framework.pods_ready(obj, harness) == recorded["podsReady"]
        assert framework.on_hold(obj) == recorded.get("onHold", False)
        assert framework.skips(obj, harness) == recorded.get("skip", False)
        reclaimable = {each["name"]: each["count"] for each in recorded.get("reclaimable", ())}
        assert (framework.reclaimable(obj, harness) or {}) == reclaimable


@pytest.mark.parametrize("job", ACCEPTED, ids=named)
def test_the_pods_and_the_controller_of_a_job(job: RecordedJob) -> None:
    assert (job.framework.pod_selector(job.case["object"]) or "") == job.case.get("podLabelSelector", "")
    if "priorityClass" in job.case:
        assert job.framework.priority_class(job.case["defaulted"]) == job.case["priorityClass"]
    if "managedBy" in job.case:
        assert job.framework.managed_by is not None
        assert value_at(job.case["defaulted"], job.framework.managed_by.path) == job.case["managedBy"]


@pytest.mark.parametrize("job", ACCEPTED, ids=named)
def test_a_new_job_is_defaulted(job: RecordedJob) -> None:
    defaulted, warnings = default_job(job.framework, job.case["object"], job.context())
    # The recording decodes the object as its Go type, which adds the zero values of its status.
    expected = {name: value for name, value in job.case["defaulted"].items() if name != "status"}
    assert without_zero(defaulted) == without_zero(expected)
    assert warnings == []
    assert default_job(job.framework, defaulted, job.context()) == (defaulted, [])


@pytest.mark.parametrize("job", REJECTED, ids=named)
def test_an_invalid_job_is_rejected_with_its_field(job: RecordedJob) -> None:
    errors, _ = validate_job(job.framework, job.case["object"], None, job.context())
    compare_errors(errors, {"allowed": False, "message": job.case["rejected"]})


@pytest.mark.parametrize(("job", "recorded"), CREATES, ids=named)
def test_validation_of_a_new_job(job: RecordedJob, recorded: Json) -> None:
    obj, _ = default_job(job.framework, merge(job.case["object"], recorded["patch"]), job.context())
    errors, _ = validate_job(job.framework, obj, None, job.context())
    compare_errors(errors, recorded)


@pytest.mark.parametrize(("job", "recorded"), UPDATES, ids=named)
def test_validation_of_a_change(job: RecordedJob, recorded: Json) -> None:
    old = merge(job.case["defaulted"], recorded.get("oldPatch", {}))
    new = merge(old, recorded["patch"])
    errors, _ = validate_job(job.framework, new, old, job.context(is_new=False))
    compare_errors(errors, recorded)
