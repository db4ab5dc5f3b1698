"""Tekton PipelineRuns (§20.4): what a run requests, its states, webhooks, and how it is stopped (GS-39)."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.actions import pass_harness
from jobs.custom_kinds import make_object
from kit.builders.kueue import make_cluster_queue
from kohort.api.codec import from_json
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.v1beta2 import ClusterQueue
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.contract import Stop, StopReason
from kohort.jobs.defaulting import default_job
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.effects import PatchObject
from kohort.jobs.errors import UnretryableError
from kohort.jobs.frameworks.pods.loading import PODS
from kohort.jobs.frameworks.tekton import NO_TIMEOUT, PipelineRunFramework
from kohort.jobs.frameworks.tekton.types import PIPELINE_RUNS
from kohort.jobs.names import workload_name
from kohort.jobs.podsets import PodSetInfo, info_of
from kohort.jobs.validation import validate_job

Json = Any

RUNS = PipelineRunFramework()
MODE = "kohort.dev/tekton-admission"
CPU = "kohort.dev/requests-cpu"
STARTED = {"startTime": "2026-08-01T12:00:00Z", "conditions": [{"type": "Succeeded", "status": "Unknown"}]}


def pipeline_run(mode: str = "run", spec: Json = None, status: Json = None, **annotations: str) -> Json:
    """A PipelineRun, in run mode with 4 cpu."""
    given = {MODE: mode} if mode else {}
    obj = make_object(PIPELINE_RUNS, "build-1", {"pipelineRef": {"name": "p"}} if spec is None else spec)
    obj["metadata"] |= {"uid": "u", "annotations": {**given, **(annotations or ({CPU: "4"} if mode == "run" else {}))}}
    return {**obj, "status": status} if status else obj


def inline(*tasks: Json, **more: Json) -> Json:
    return {"pipelineSpec": {"tasks": list(tasks), **more}}


def task(name: str, *steps: str, **spec: Json) -> Json:
    made = [{"name": f"s{index}", "computeResources": {"requests": {"cpu": cpu}}} for index, cpu in enumerate(steps)]
    return {"name": name, "taskSpec": {"steps": made, **spec}}


def requests_of(obj: Json) -> Json:
    (pod_set,) = RUNS.pod_sets(obj, pass_harness())
    return pod_set.template["spec"]["containers"][0]["resources"]["requests"]


def ended(status: str, reason: str) -> Json:
    condition = {"type": "Succeeded", "status": status, "reason": reason, "message": "m"}
    return pipeline_run(status={**STARTED, "conditions": [condition]})


def reviewed(obj: Json, old: Json | None = None) -> tuple[list[str], list[str]]:
    """Errors and warnings of the webhook."""
    errors, warnings = validate_job(RUNS, obj, old, JobContext(pass_harness(), is_new=old is None))
    return [str(each) for each in errors], warnings


def test_a_pipeline_run_in_run_mode_passes_the_conformance_kit() -> None:
    samples = Samples(
        suspended=pipeline_run(spec={"pipelineRef": {"name": "p"}, "status": "PipelineRunPending"}),
        running=pipeline_run(status=STARTED),
        succeeded=ended("True", "Completed"),
        failed=ended("False", "Cancelled"),
    )
    check_framework(RUNS, samples, pass_harness())


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({CPU: "4"}, {"cpu": "4"}),
        ({"kueue.konflux-ci.dev/requests-memory": "1Gi", CPU: "500m"}, {"cpu": "500m", "memory": "1Gi"}),
        ({"kueue.konflux-ci.dev/requests-cpu": "1", CPU: "2"}, {"cpu": "2"}),
        ({"kohort.dev/requests": '{"cpu": 2, "nvidia.com/gpu": "1"}'}, {"cpu": "2", "nvidia.com/gpu": "1"}),
    ],
)
def test_annotations_state_what_a_run_requests(annotations: dict[str, str], expected: Json) -> None:
    """JOB-203"""
    assert requests_of(pipeline_run(**annotations)) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (inline(task("a", "1", "500m"), task("b", "2")), {"cpu": "3500m"}),
        (inline(task("a", "1"), **{"finally": [task("z", "1")]}), {"cpu": "2"}),
        (inline(task("a", "1", sidecars=[{"computeResources": {"limits": {"cpu": "3"}}}])), {"cpu": "4"}),
        (
            inline(task("a", stepTemplate={"computeResources": {"requests": {"cpu": "2"}}}, steps=[{}, {}])),
            {"cpu": "4"},
        ),
        (
            {
                **inline(task("a", "1", "1")),
                "taskRunSpecs": [{"pipelineTaskName": "a", "computeResources": {"requests": {"cpu": "5"}}}],
            },
            {"cpu": "5"},
        ),
        (inline(task("a")), {}),
    ],
)
def test_inline_tasks_are_added_up(spec: Json, expected: Json) -> None:
    """JOB-203"""
    assert requests_of(pipeline_run(spec=spec, other="x")) == expected


def test_pods_settings_of_the_run_are_those_of_its_pod_set() -> None:
    settings = {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}], "priorityClassName": "high"}
    obj = pipeline_run(spec={"taskRunTemplate": {"podTemplate": {**settings, "env": []}}})
    (pod_set,) = RUNS.pod_sets(obj, pass_harness())
    assert {name: pod_set.template["spec"][name] for name in settings} == settings
    assert "env" not in pod_set.template["spec"]


def test_a_queue_that_covers_runs_counts_them() -> None:
    """JOB-203: and a queue that does not cover them is not blocked by them."""
    harness, obj = pass_harness(), pipeline_run()
    obj["metadata"]["namespace"] = "ns"
    queue = make_cluster_queue("cq", "4")
    queue["spec"]["resourceGroups"][0]["coveredResources"].append("tekton.dev/pipelineruns")
    harness.cluster_queues["ns/q"] = from_json(queue, ClusterQueue)
    (pod_set,) = RUNS.pod_sets(obj, harness)
    container = pod_set.template["spec"]["containers"][0]
    assert container["resources"]["requests"] == {"cpu": "4", "tekton.dev/pipelineruns": "1"}


BAD_REQUESTS: list[tuple[Json, dict[str, str], str]] = [
    (None, {"other": "x"}, "resource requests must be given in run mode"),
    (inline({"name": "a", "taskRef": {"name": "t"}}), {"other": "x"}, "resource requests must be given"),
    (inline({**task("a", "1"), "matrix": {"params": []}}), {"other": "x"}, "resource requests must be given"),
    (None, {CPU: "many"}, "requests-cpu"),
    (None, {CPU: "-1"}, "must not be negative"),
    (None, {CPU: "1e999"}, "requests-cpu"),
    (None, {"kohort.dev/requests": "[]"}, "must be a JSON object"),
    (None, {"kohort.dev/requests": "{"}, "must be a JSON object"),
    (None, {"kohort.dev/requests": '{"a b": 1}'}, "is no name of a resource"),
    (None, {"kohort.dev/requests": '{"cpu": {}}'}, "kohort.dev/requests"),
    (inline(task("a", "x")), {"other": "x"}, "spec.pipelineSpec.tasks[0]"),
]


@pytest.mark.parametrize(("spec", "annotations", "message"), BAD_REQUESTS)
def test_unknown_requests_are_one_error_and_one_event(spec: Json, annotations: dict[str, str], message: str) -> None:
    obj = pipeline_run(spec=spec, **annotations)
    (error,), _ = reviewed(obj)
    assert message in error
    with pytest.raises(UnretryableError) as caught:
        RUNS.pod_sets(obj, pass_harness())
    assert len(caught.value.effects) == 1


def test_a_run_without_queue_needs_no_requests() -> None:
    obj = pipeline_run(other="x")
    obj["metadata"]["labels"] = {}
    assert reviewed(obj) == ([], [])


def test_workloads_of_runs_have_the_names_of_the_golden_scenario() -> None:
    """GS-39"""
    uid = "0a1b2c3d-0000-4000-8000-0000000000"
    assert workload_name(PIPELINE_RUNS, "build-1", f"{uid}0f", DEFAULT_GATES) == "pipelinerun-build-1-b2471"
    assert workload_name(PODS, "build-2-fetch-pod", f"{uid}1b", DEFAULT_GATES) == "pod-build-2-fetch-pod-e3fe4"


def test_an_unknown_mode_is_rejected() -> None:
    (error,), _ = reviewed(pipeline_run("Run"))
    assert '"pods", "run"' in error


@pytest.mark.parametrize(("before", "after"), [("run", ""), ("", "run"), ("run", "pods"), ("pods", "run")])
def test_the_mode_is_fixed(before: str, after: str) -> None:
    """JOB-201: otherwise quota would be counted twice, or not at all."""
    errors, _ = reviewed(pipeline_run(after, status=STARTED), pipeline_run(before, status=STARTED))
    assert any("cannot be changed" in error for error in errors)


def test_a_run_in_run_mode_waits_and_one_in_pods_mode_is_left_alone() -> None:
    """GS-39"""
    made, _ = default_job(RUNS, pipeline_run(), JobContext(pass_harness()))
    assert made["spec"] == {"pipelineRef": {"name": "p"}, "status": "PipelineRunPending"}
    single = pipeline_run("")
    assert default_job(RUNS, single, JobContext(pass_harness(), has_default_queue=True))[0] == single
    assert not RUNS.claims(single)


def test_pods_mode_warns_of_timeouts_that_count_while_pods_wait() -> None:
    """JOB-202"""
    assert reviewed(pipeline_run("")) == ([], [NO_TIMEOUT])
    assert reviewed(pipeline_run("", spec={"timeouts": {"pipeline": "12h"}})) == ([], [])


@given(
    status=st.sampled_from([None, "", "PipelineRunPending"]),
    spec=st.dictionaries(st.sampled_from(["params", "workspaces", "taskRunSpecs"]), st.lists(st.integers())),
)
def test_a_start_undoes_the_suspension_exactly(status: str | None, spec: Json) -> None:
    """JOB-204, JOB-205: nothing but spec.status is ever changed."""
    sent = pipeline_run(spec=spec if status is None else {**spec, "status": status})
    obj = deepcopy(sent)
    RUNS.suspend(obj)
    RUNS.start(obj, [PodSetInfo("main", 1, node_selector={"tier": "a"})])
    sent["spec"].pop("status", None)
    assert obj == sent


EVICTED = Stop(StopReason.WORKLOAD_EVICTED, "m", "Preempted")


def stopped(obj: Json, wanted: str = "") -> Json:
    """The value of spec.status after a stop; the queue may name another one."""
    harness = pass_harness()
    queue = make_cluster_queue("cq", "4")
    queue["metadata"]["annotations"] = {"kohort.dev/tekton-stop": wanted}
    harness.cluster_queues["default/q"] = from_json(queue, ClusterQueue)
    effects = RUNS.stop(obj, [info_of("main", 1, {})], EVICTED, harness)
    patches = [each for each in effects if isinstance(each, PatchObject)]
    assert len(effects) == 2 * len(patches), "an event only for a stop"
    return patches[0].after["spec"].get("status") if patches else None


@pytest.mark.parametrize(
    ("queue", "expected"),
    [("", "CancelledRunFinally"), ("Cancelled", "Cancelled"), ("Stop", "CancelledRunFinally")],
)
def test_a_run_that_has_started_is_cancelled(queue: str, expected: str) -> None:
    """JOB-205"""
    assert stopped(pipeline_run(status=STARTED), queue) == expected


def test_a_run_that_has_not_started_waits_again() -> None:
    assert stopped(pipeline_run()) == "PipelineRunPending"


@pytest.mark.parametrize("status", ["PipelineRunPending", "Cancelled", "CancelledRunFinally", "StoppedRunFinally"])
def test_a_run_that_waits_or_ends_is_not_stopped_again(status: str) -> None:
    assert stopped(pipeline_run(spec={"status": status}, status=STARTED)) is None


@pytest.mark.parametrize(("status", "success"), [("True", True), ("False", False)])
def test_the_end_of_a_run_has_its_message(status: str, success: bool) -> None:
    """JOB-206"""
    end = RUNS.finished(ended(status, "r"))
    assert end is not None
    assert (end.success, end.message) == (success, "m")
    assert not RUNS.is_active(ended(status, "r"))
    assert RUNS.is_active(pipeline_run(status=STARTED))
    assert RUNS.pods_ready(pipeline_run(status=STARTED), pass_harness())
