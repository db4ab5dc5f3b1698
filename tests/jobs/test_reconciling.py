"""What becomes of a job, pass by pass, beyond the recorded flows."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobs.actions import (
    ELASTIC,
    JOB,
    KEY,
    OBJECT,
    admit,
    make_stored_job,
    newest_workload,
    pass_harness,
    preempt,
    run_until_settled,
)
from jobs.pass_harness import PassHarness, PassResult
from jobs.test_golden_job_flows import apply_step
from kit.golden.recordings import job_recording
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration, CustomLabel, Metrics, WaitForPodsReady
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import (
    QUOTA_RESERVED,
    condition,
    condition_true,
    is_admitted,
    is_finished,
    with_condition_set,
)
from kohort.jobs.contract import JobKey
from kohort.jobs.keys import JOB_UID_LABEL, SLICE_NAME_ANNOTATION, SLICE_REPLACEMENT_ANNOTATION

LABELLED = FeatureGates(DEFAULT_GATES.on | {Gate.CustomMetricLabels})


def names(stage: PassHarness) -> list[str]:
    return sorted(key.name for key in stage.workloads)


def reasons(seen: PassResult) -> list[str]:
    return [reason for _, reason, _, _ in seen.events]


# Another life of a job


async def test_the_workload_of_a_former_job_of_the_name_is_never_rewritten() -> None:
    """DEV-8: where the real Kueue updates it in place endlessly."""
    flow = next(each for each in job_recording("flows-job") if "DEV-8" in each["name"])
    stage = pass_harness()
    for step in flow["steps"][:4]:
        if step["do"] == "reconcile":
            await stage.reconcile(JOB, KEY)
        else:
            apply_step(stage, step)
    seen = await stage.reconcile(JOB, KEY)
    assert reasons(seen) == ["DeletedWorkload"]
    assert seen.error == "no matching workloads: deleted 1 workloads"
    assert reasons(await stage.reconcile(JOB, KEY)) == ["CreatedWorkload"]
    assert names(stage) == ["job-etl-9c7ba"]


# Slices


async def elastic(stage: PassHarness, pods: int = 3) -> None:
    stage.put(make_stored_job(annotations=ELASTIC, parallelism=pods))
    await run_until_settled(stage)
    admit(stage, newest_workload(stage))
    await run_until_settled(stage)


async def resize(stage: PassHarness, pods: int, generation: int) -> PassResult:
    stage.advance(1)
    stage.patch("Job", OBJECT, {"metadata": {"generation": generation}, "spec": {"parallelism": pods}})
    return await stage.reconcile(JOB, KEY)


def given_back(stage: PassHarness) -> dict[str, int]:
    return {each.name: each.count for each in newest_workload(stage).status.reclaimable_pods}


async def scaled_down(
    job: dict[str, Any], status: dict[str, Any], spec: dict[str, Any]
) -> tuple[PassHarness, dict[str, int]]:
    """An elastic Job that ran, reported a status and was made smaller; and what it had given back before that."""
    stage = pass_harness()
    stage.put(make_stored_job(annotations=ELASTIC, **job))
    await run_until_settled(stage)
    admit(stage, newest_workload(stage))
    await run_until_settled(stage)
    stage.patch("Job", OBJECT, {"status": status})
    await run_until_settled(stage)
    before = given_back(stage)
    stage.patch("Job", OBJECT, {"metadata": {"generation": 2}, "spec": spec})
    await run_until_settled(stage)
    return stage, before


async def test_a_job_that_shrinks_returns_the_surplus_of_its_new_size() -> None:
    """JOB-21, API-67: 5 of 20 completions are left, so that 5 of 10 pods run on."""
    stage, before = await scaled_down({"parallelism": 20, "completions": 20}, {"succeeded": 15}, {"parallelism": 10})
    assert before == {"main": 15}
    assert newest_workload(stage).spec.pod_sets[0].count == 10
    assert given_back(stage) == {"main": 5}


async def test_an_index_that_failed_for_good_and_went_with_a_scale_down_is_not_given_back_twice() -> None:
    """JOB-104, API-67."""
    job = {"parallelism": 5, "completions": 5, "completionMode": "Indexed", "backoffLimitPerIndex": 0}
    status = {"failed": 1, "failedIndexes": "4"}
    stage, before = await scaled_down(job, status, {"parallelism": 3, "completions": 3})
    assert before == {"main": 1}
    assert newest_workload(stage).spec.pod_sets[0].count == 3
    assert given_back(stage) == {}


async def test_returned_quota_of_a_job_of_the_same_size_is_not_taken_again() -> None:
    """API-67."""
    stage, before = await scaled_down({"parallelism": 4, "completions": 4}, {"succeeded": 3}, {"backoffLimit": 1})
    stage.patch("Job", OBJECT, {"status": {"succeeded": 2}})
    await run_until_settled(stage)
    assert given_back(stage) == before == {"main": 3}


def counts(stage: PassHarness) -> dict[str, int]:
    return {
        each.metadata.name: each.spec.pod_sets[0].count for each in stage.workloads.values() if not is_finished(each)
    }


def chain_of_templates(workload: Workload) -> str | None:
    (pod_set,) = workload.spec.pod_sets
    return pod_set.pod_template.metadata.annotations.get(SLICE_NAME_ANNOTATION)


async def test_a_chain_that_starts_anew_overwrites_the_name_of_the_former_one() -> None:
    """JOB-47, JOB-82: templates name the former chain until the next start."""
    stage = pass_harness()
    await elastic(stage)
    origin = newest_workload(stage).metadata.name
    await resize(stage, 5, 3)
    admit(stage, newest_workload(stage))
    await run_until_settled(stage)
    second = newest_workload(stage)
    stage.put_workload(replace(second, metadata=replace(second.metadata, deletion_timestamp=stage.now)))
    stage.patch("Job", OBJECT, {"metadata": {"generation": 4}})
    await run_until_settled(stage)
    anew = newest_workload(stage)
    assert anew.metadata.annotations[SLICE_NAME_ANNOTATION] == anew.metadata.name not in (origin, second.metadata.name)
    assert chain_of_templates(anew) == origin
    admit(stage, anew)
    await run_until_settled(stage)
    job = stage.objects["Job", OBJECT]
    assert job["spec"]["suspend"] is False
    assert job["spec"]["template"]["metadata"]["annotations"][SLICE_NAME_ANNOTATION] == anew.metadata.name


async def test_a_growing_job_continues_while_a_larger_slice_waits() -> None:
    stage = pass_harness()
    await elastic(stage)
    first = newest_workload(stage)
    assert reasons(await resize(stage, 5, 3)) == ["CreatedWorkload"]
    second = newest_workload(stage)
    assert second.metadata.annotations[SLICE_REPLACEMENT_ANNOTATION] == f"ns/{first.metadata.name}"
    assert second.metadata.annotations[SLICE_NAME_ANNOTATION] == first.metadata.name
    assert chain_of_templates(second) == first.metadata.name
    assert counts(stage) == {first.metadata.name: 3, second.metadata.name: 5}
    assert await stage.reconcile(JOB, KEY) == PassResult()
    assert not JOB.is_suspended(stage.objects["Job", OBJECT])


async def test_a_slice_that_waits_is_resized_in_place() -> None:
    stage = pass_harness()
    await elastic(stage)
    await resize(stage, 5, 3)
    waiting = newest_workload(stage).metadata.name
    seen = await resize(stage, 6, 4)
    assert seen.events == []
    assert counts(stage)[waiting] == 6
    assert len(stage.workloads) == 2


async def test_a_job_that_shrinks_keeps_its_slice() -> None:
    stage = pass_harness()
    await elastic(stage)
    seen = await resize(stage, 2, 3)
    assert seen.events == []
    assert list(counts(stage).values()) == [2]
    assert not JOB.is_suspended(stage.objects["Job", OBJECT])


async def test_an_admitted_slice_ends_the_one_that_it_replaces() -> None:
    stage = pass_harness()
    await elastic(stage)
    first = newest_workload(stage).metadata.name
    await resize(stage, 5, 3)
    admit(stage, newest_workload(stage))
    await stage.reconcile(JOB, KEY)
    ended = condition(stage.workloads[ObjectKey("ns", first)], "Finished")
    assert ended is not None
    assert ended.reason == "WorkloadSliceReplaced"


async def test_an_evicted_replacement_leaves_the_template_that_its_user_wrote() -> None:
    """JOB-52 over Q-10: the next admission may be to another flavor."""
    stage = pass_harness()
    stage.put({"kind": "ResourceFlavor", "metadata": {"name": "g"}, "spec": {"nodeLabels": {"tier": "b"}}})
    await elastic(stage)
    await resize(stage, 5, 3)
    admit(stage, newest_workload(stage))
    await run_until_settled(stage)
    preempt(stage, newest_workload(stage))
    await run_until_settled(stage)
    template = stage.objects["Job", OBJECT]["spec"]["template"]
    assert "nodeSelector" not in template["spec"]
    assert not template.get("metadata", {}).get("labels")
    admit(stage, newest_workload(stage), "g")
    await run_until_settled(stage)
    assert stage.objects["Job", OBJECT]["spec"]["template"]["spec"]["nodeSelector"] == {"tier": "b"}


async def test_a_job_stops_with_the_slice_that_it_runs_by_though_another_one_waits() -> None:
    stage = pass_harness()
    await elastic(stage)
    running = newest_workload(stage)
    await resize(stage, 5, 3)
    preempt(stage, stage.workloads[ObjectKey("ns", running.metadata.name)])
    await run_until_settled(stage)
    assert JOB.is_suspended(stage.objects["Job", OBJECT])
    assert list(counts(stage).values()) == [5]


async def test_no_slice_outlives_its_job() -> None:
    stage = pass_harness()
    await elastic(stage)
    await resize(stage, 5, 3)
    done = {"type": "Complete", "status": "True", "message": "done"}
    stage.patch("Job", OBJECT, {"status": {"conditions": [done]}})
    await run_until_settled(stage)
    assert counts(stage) == {}


async def test_pod_sets_of_other_names_are_replaced_as_usual() -> None:
    stage = pass_harness()
    await elastic(stage)
    workload = newest_workload(stage)
    renamed = tuple(replace(each, name="other") for each in workload.spec.pod_sets)
    stage.put_workload(replace(workload, spec=replace(workload.spec, pod_sets=renamed)))
    assert await stage.reconcile(JOB, KEY) == PassResult(), "positions decide on the regular way, not names (Q-2)"


# Queues, classes, gates


async def test_a_queue_that_is_named_later_is_handed_on() -> None:
    settings = Configuration(manage_jobs_without_queue_name=True, wait_for_pods_ready=None)
    stage = pass_harness(configuration=settings)
    stage.put(make_stored_job(queue=""))
    await run_until_settled(stage)
    assert newest_workload(stage).spec.queue_name is None
    stage.patch("Job", OBJECT, {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})
    await run_until_settled(stage)
    assert newest_workload(stage).spec.queue_name == "q"


async def test_a_queue_that_is_named_by_an_annotation_is_warned_about_once() -> None:
    stage = pass_harness()
    stage.put(make_stored_job(annotations={"kueue.x-k8s.io/queue-name": "q"}))
    seen = await stage.reconcile(JOB, KEY)
    assert [(kind, reason) for kind, reason, _, _ in seen.events] == [
        ("Normal", "CreatedWorkload"),
        ("Warning", "QueueNameAnnotation"),
    ]
    assert await stage.reconcile(JOB, KEY) == PassResult()


async def test_admission_gates_of_a_job_are_handed_on() -> None:
    stage = pass_harness()
    gate = "kueue.x-k8s.io/admission-gated-by"
    stage.put(make_stored_job(annotations={gate: "a.example/x"}))
    await run_until_settled(stage)
    assert newest_workload(stage).metadata.annotations[gate] == "a.example/x"
    stage.patch("Job", OBJECT, {"metadata": {"annotations": {gate: None}}})
    seen = await stage.reconcile(JOB, KEY)
    assert [message for _, _, message, _ in seen.events] == ['Updated workload AdmissionGatedBy to ""']
    assert gate not in newest_workload(stage).metadata.annotations


async def test_a_missing_priority_class_is_reported_and_retried() -> None:
    stage = pass_harness()
    stage.put(make_stored_job(labels={"kueue.x-k8s.io/priority-class": "gold"}))
    seen = await stage.reconcile(JOB, KEY)
    assert seen.events[0][:3] == (
        "Warning",
        "WorkloadPriorityClassNotFound",
        'WorkloadPriorityClass "gold" not found',
    )
    assert seen.error is not None
    assert not stage.workloads


async def test_a_class_is_not_added_to_a_workload_with_quota() -> None:
    stage = pass_harness()
    stage.put({"kind": "WorkloadPriorityClass", "metadata": {"name": "gold"}, "value": 7})
    stage.put(make_stored_job())
    await run_until_settled(stage)
    stage.put_workload(
        with_condition_set(newest_workload(stage), QUOTA_RESERVED, condition_true("QuotaReserved", ""), stage.now)
    )
    stage.patch("Job", OBJECT, {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "gold"}}})
    await run_until_settled(stage)
    assert newest_workload(stage).spec.priority == 0


# Scope


async def test_a_child_waits_for_its_owner_and_is_left_alone_when_the_owner_runs() -> None:
    stage = pass_harness()
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "parent", "uid": "uid-p", "controller": True}
    stage.put(make_stored_job("parent", uid="uid-p"))
    stage.put(make_stored_job(queue="", owners=[owner], suspend=False))
    await run_until_settled(stage, key=JobKey("ns", "parent"))
    seen = await stage.reconcile(JOB, KEY)
    assert reasons(seen) == ["Suspended"]
    assert names(stage) == [newest_workload(stage).metadata.name]
    admit(stage, newest_workload(stage))
    stage.patch("Job", OBJECT, {"spec": {"suspend": False}})
    assert await stage.reconcile(JOB, KEY) == PassResult()


async def test_a_job_in_a_namespace_that_is_gone_is_left_alone() -> None:
    stage = pass_harness()
    stage.namespaces.clear()
    stage.put(make_stored_job())
    assert await stage.reconcile(JOB, KEY) == PassResult()


# Running


async def test_a_job_resumed_by_another_client_is_stopped() -> None:
    stage = pass_harness()
    stage.put(make_stored_job())
    await run_until_settled(stage)
    stage.patch("Job", OBJECT, {"spec": {"suspend": False}})
    seen = await stage.reconcile(JOB, KEY)
    assert [message for _, _, message, _ in seen.events] == ["Not admitted by cluster queue"]
    assert JOB.is_suspended(stage.objects["Job", OBJECT])


async def test_a_job_suspended_by_another_client_is_started_again() -> None:
    stage = pass_harness()
    stage.put(make_stored_job())
    await run_until_settled(stage)
    admit(stage, newest_workload(stage))
    await run_until_settled(stage)
    stage.patch("Job", OBJECT, {"spec": {"suspend": True}})
    assert reasons(await stage.reconcile(JOB, KEY)) == ["Started"]
    assert is_admitted(newest_workload(stage))


async def test_finished_pods_return_their_quota_permanently() -> None:
    stage = pass_harness()
    stage.put(make_stored_job(parallelism=3, completions=4))
    await run_until_settled(stage)
    admit(stage, newest_workload(stage))
    await run_until_settled(stage)
    stage.patch("Job", OBJECT, {"status": {"succeeded": 3}})
    await run_until_settled(stage)
    assert [(each.name, each.count) for each in newest_workload(stage).status.reclaimable_pods] == [("main", 2)]
    stage.patch("Job", OBJECT, {"status": {"succeeded": 2}})
    assert await stage.reconcile(JOB, KEY) == PassResult()


async def test_pods_ready_is_written_only_where_it_is_required() -> None:
    stage = pass_harness(configuration=Configuration(wait_for_pods_ready=WaitForPodsReady()))
    stage.put(make_stored_job())
    await run_until_settled(stage)
    condition_ = condition(newest_workload(stage), "PodsReady")
    assert condition_ is not None
    assert (condition_.status, condition_.reason) == ("False", "WaitForStart")


async def test_labels_are_copied_when_a_workload_is_made() -> None:
    stage = pass_harness(configuration=Configuration(integrations=Integrations(label_keys_to_copy=("team",))))
    stage.put(make_stored_job(labels={"team": "blue", "other": "x"}))
    await run_until_settled(stage)
    assert newest_workload(stage).metadata.labels == {"team": "blue", JOB_UID_LABEL: "uid-1"}


@pytest.mark.parametrize(("gates", "copied"), [(DEFAULT_GATES, False), (LABELLED, True)])
async def test_metric_labels_of_workloads_are_copied_where_the_gate_is_on(gates: FeatureGates, copied: bool) -> None:
    wanted = (
        CustomLabel(name="team", source_kind="Workload"),
        CustomLabel(name="cost", source_kind="Workload", source_annotation_key="example.com/cost"),
        CustomLabel(name="tier", source_annotation_key="example.com/tier"),
    )
    stage = pass_harness(configuration=Configuration(metrics=Metrics(custom_labels=wanted)), gates=gates)
    condition_ = {"example.com/cost": "7", "example.com/tier": "a queue's"}
    stage.put(make_stored_job(labels={"team": "blue", "other": "x"}, annotations=condition_))
    await run_until_settled(stage)
    made = newest_workload(stage).metadata
    assert made.labels == {**({"team": "blue"} if copied else {}), JOB_UID_LABEL: "uid-1"}
    assert made.annotations == ({"example.com/cost": "7"} if copied else {})


@pytest.mark.parametrize("suspended", [True, False])
async def test_a_finished_job_without_a_workload_gets_none(suspended: bool) -> None:
    stage = pass_harness()
    stage.put(make_stored_job(suspend=suspended))
    stage.patch("Job", OBJECT, {"status": {"conditions": [{"type": "Failed", "status": "True", "message": "m"}]}})
    assert await stage.reconcile(JOB, KEY) == PassResult()
    assert not stage.workloads
