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


def names(harness: PassHarness) -> list[str]:
    return sorted(key.name for key in harness.workloads)


def reasons(seen: PassResult) -> list[str]:
    return [reason for _, reason, _, _ in seen.events]


# Another life of a job


async def test_the_workload_of_a_former_job_of_the_name_is_never_rewritten() -> None:
    """DEV-8: where the real Kueue updates it in place endlessly."""
    flow = next(each for each in job_recording("flows-job") if "DEV-8" in each["name"])
    harness = pass_harness()
    for step in flow["steps"][:4]:
        if step["do"] == "reconcile":
            await harness.reconcile(JOB, KEY)
        else:
            apply_step(harness, step)
    seen = await harness.reconcile(JOB, KEY)
    assert reasons(seen) == ["DeletedWorkload"]
    assert seen.error == "no matching workloads: deleted 1 workloads"
    assert reasons(await harness.reconcile(JOB, KEY)) == ["CreatedWorkload"]
    assert names(harness) == ["job-etl-9c7ba"]


# Slices


async def elastic(harness: PassHarness, pods: int = 3) -> None:
    harness.put(make_stored_job(annotations=ELASTIC, parallelism=pods))
    await run_until_settled(harness)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness)


async def resize(harness: PassHarness, pods: int, generation: int) -> PassResult:
    harness.advance(1)
    harness.patch("Job", OBJECT, {"metadata": {"generation": generation}, "spec": {"parallelism": pods}})
    return await harness.reconcile(JOB, KEY)


def given_back(harness: PassHarness) -> dict[str, int]:
    return {each.name: each.count for each in newest_workload(harness).status.reclaimable_pods}


async def scaled_down(
    job: dict[str, Any], status: dict[str, Any], spec: dict[str, Any]
) -> tuple[PassHarness, dict[str, int]]:
    """An elastic Job that ran, reported a status and was made smaller; and what it had given back before that."""
    harness = pass_harness()
    harness.put(make_stored_job(annotations=ELASTIC, **job))
    await run_until_settled(harness)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, {"status": status})
    await run_until_settled(harness)
    before = given_back(harness)
    harness.patch("Job", OBJECT, {"metadata": {"generation": 2}, "spec": spec})
    await run_until_settled(harness)
    return harness, before


async def test_a_job_that_shrinks_returns_the_surplus_of_its_new_size() -> None:
    """JOB-21, API-67: 5 of 20 completions are left, so that 5 of 10 pods run on."""
    harness, before = await scaled_down({"parallelism": 20, "completions": 20}, {"succeeded": 15}, {"parallelism": 10})
    assert before == {"main": 15}
    assert newest_workload(harness).spec.pod_sets[0].count == 10
    assert given_back(harness) == {"main": 5}


async def test_an_index_that_failed_for_good_and_went_with_a_scale_down_is_not_given_back_twice() -> None:
    """JOB-104, API-67."""
    job = {"parallelism": 5, "completions": 5, "completionMode": "Indexed", "backoffLimitPerIndex": 0}
    status = {"failed": 1, "failedIndexes": "4"}
    harness, before = await scaled_down(job, status, {"parallelism": 3, "completions": 3})
    assert before == {"main": 1}
    assert newest_workload(harness).spec.pod_sets[0].count == 3
    assert given_back(harness) == {}


async def test_returned_quota_of_a_job_of_the_same_size_is_not_taken_again() -> None:
    """API-67."""
    harness, before = await scaled_down({"parallelism": 4, "completions": 4}, {"succeeded": 3}, {"backoffLimit": 1})
    harness.patch("Job", OBJECT, {"status": {"succeeded": 2}})
    await run_until_settled(harness)
    assert given_back(harness) == before == {"main": 3}


def counts(harness: PassHarness) -> dict[str, int]:
    return {
        each.metadata.name: each.spec.pod_sets[0].count for each in harness.workloads.values() if not is_finished(each)
    }


def chain_of_templates(workload: Workload) -> str | None:
    (pod_set,) = workload.spec.pod_sets
    return pod_set.pod_template.metadata.annotations.get(SLICE_NAME_ANNOTATION)


async def test_a_chain_that_starts_anew_overwrites_the_name_of_the_former_one() -> None:
    """JOB-47, JOB-82: templates name the former chain until the next start."""
    harness = pass_harness()
    await elastic(harness)
    origin = newest_workload(harness).metadata.name
    await resize(harness, 5, 3)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness)
    second = newest_workload(harness)
    harness.put_workload(replace(second, metadata=replace(second.metadata, deletion_timestamp=harness.now)))
    harness.patch("Job", OBJECT, {"metadata": {"generation": 4}})
    await run_until_settled(harness)
    anew = newest_workload(harness)
    assert anew.metadata.annotations[SLICE_NAME_ANNOTATION] == anew.metadata.name not in (origin, second.metadata.name)
    assert chain_of_templates(anew) == origin
    admit(harness, anew)
    await run_until_settled(harness)
    job = harness.objects["Job", OBJECT]
    assert job["spec"]["suspend"] is False
    assert job["spec"]["template"]["metadata"]["annotations"][SLICE_NAME_ANNOTATION] == anew.metadata.name


async def test_a_growing_job_continues_while_a_larger_slice_waits() -> None:
    harness = pass_harness()
    await elastic(harness)
    first = newest_workload(harness)
    assert reasons(await resize(harness, 5, 3)) == ["CreatedWorkload"]
    second = newest_workload(harness)
    assert second.metadata.annotations[SLICE_REPLACEMENT_ANNOTATION] == f"ns/{first.metadata.name}"
    assert second.metadata.annotations[SLICE_NAME_ANNOTATION] == first.metadata.name
    assert chain_of_templates(second) == first.metadata.name
    assert counts(harness) == {first.metadata.name: 3, second.metadata.name: 5}
    assert await harness.reconcile(JOB, KEY) == PassResult()
    assert not JOB.is_suspended(harness.objects["Job", OBJECT])


async def test_a_slice_that_waits_is_resized_in_place() -> None:
    harness = pass_harness()
    await elastic(harness)
    await resize(harness, 5, 3)
    waiting = newest_workload(harness).metadata.name
    seen = await resize(harness, 6, 4)
    assert seen.events == []
    assert counts(harness)[waiting] == 6
    assert len(harness.workloads) == 2


async def test_a_job_that_shrinks_keeps_its_slice() -> None:
    harness = pass_harness()
    await elastic(harness)
    seen = await resize(harness, 2, 3)
    assert seen.events == []
    assert list(counts(harness).values()) == [2]
    assert not JOB.is_suspended(harness.objects["Job", OBJECT])


async def test_an_admitted_slice_ends_the_one_that_it_replaces() -> None:
    harness = pass_harness()
    await elastic(harness)
    first = newest_workload(harness).metadata.name
    await resize(harness, 5, 3)
    admit(harness, newest_workload(harness))
    await harness.reconcile(JOB, KEY)
    ended = condition(harness.workloads[ObjectKey("ns", first)], "Finished")
    assert ended is not None
    assert ended.reason == "WorkloadSliceReplaced"


async def test_an_evicted_replacement_leaves_the_template_that_its_user_wrote() -> None:
    """JOB-52 over Q-10: the next admission may be to another flavor."""
    harness = pass_harness()
    harness.put({"kind": "ResourceFlavor", "metadata": {"name": "g"}, "spec": {"nodeLabels": {"tier": "b"}}})
    await elastic(harness)
    await resize(harness, 5, 3)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness)
    preempt(harness, newest_workload(harness))
    await run_until_settled(harness)
    template = harness.objects["Job", OBJECT]["spec"]["template"]
    assert "nodeSelector" not in template["spec"]
    assert not template.get("metadata", {}).get("labels")
    admit(harness, newest_workload(harness), "g")
    await run_until_settled(harness)
    assert harness.objects["Job", OBJECT]["spec"]["template"]["spec"]["nodeSelector"] == {"tier": "b"}


async def test_a_job_stops_with_the_slice_that_it_runs_by_though_another_one_waits() -> None:
    harness = pass_harness()
    await elastic(harness)
    running = newest_workload(harness)
    await resize(harness, 5, 3)
    preempt(harness, harness.workloads[ObjectKey("ns", running.metadata.name)])
    await run_until_settled(harness)
    assert JOB.is_suspended(harness.objects["Job", OBJECT])
    assert list(counts(harness).values()) == [5]


async def test_no_slice_outlives_its_job() -> None:
    harness = pass_harness()
    await elastic(harness)
    await resize(harness, 5, 3)
    done = {"type": "Complete", "status": "True", "message": "done"}
    harness.patch("Job", OBJECT, {"status": {"conditions": [done]}})
    await run_until_settled(harness)
    assert counts(harness) == {}


async def test_pod_sets_of_other_names_are_replaced_as_usual() -> None:
    harness = pass_harness()
    await elastic(harness)
    workload = newest_workload(harness)
    renamed = tuple(replace(each, name="other") for each in workload.spec.pod_sets)
    harness.put_workload(replace(workload, spec=replace(workload.spec, pod_sets=renamed)))
    assert await harness.reconcile(JOB, KEY) == PassResult(), "positions decide on the regular way, not names (Q-2)"


# Queues, classes, gates


async def test_a_queue_that_is_named_later_is_handed_on() -> None:
    settings = Configuration(manage_jobs_without_queue_name=True, wait_for_pods_ready=None)
    harness = pass_harness(configuration=settings)
    harness.put(make_stored_job(queue=""))
    await run_until_settled(harness)
    assert newest_workload(harness).spec.queue_name is None
    harness.patch("Job", OBJECT, {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}})
    await run_until_settled(harness)
    assert newest_workload(harness).spec.queue_name == "q"


async def test_a_queue_that_is_named_by_an_annotation_is_warned_about_once() -> None:
    harness = pass_harness()
    harness.put(make_stored_job(annotations={"kueue.x-k8s.io/queue-name": "q"}))
    seen = await harness.reconcile(JOB, KEY)
    assert [(kind, reason) for kind, reason, _, _ in seen.events] == [
        ("Normal", "CreatedWorkload"),
        ("Warning", "QueueNameAnnotation"),
    ]
    assert await harness.reconcile(JOB, KEY) == PassResult()


async def test_admission_gates_of_a_job_are_handed_on() -> None:
    harness = pass_harness()
    gate = "kueue.x-k8s.io/admission-gated-by"
    harness.put(make_stored_job(annotations={gate: "a.example/x"}))
    await run_until_settled(harness)
    assert newest_workload(harness).metadata.annotations[gate] == "a.example/x"
    harness.patch("Job", OBJECT, {"metadata": {"annotations": {gate: None}}})
    seen = await harness.reconcile(JOB, KEY)
    assert [message for _, _, message, _ in seen.events] == ['Updated workload AdmissionGatedBy to ""']
    assert gate not in newest_workload(harness).metadata.annotations


async def test_a_missing_priority_class_is_reported_and_retried() -> None:
    harness = pass_harness()
    harness.put(make_stored_job(labels={"kueue.x-k8s.io/priority-class": "gold"}))
    seen = await harness.reconcile(JOB, KEY)
    assert seen.events[0][:3] == (
        "Warning",
        "WorkloadPriorityClassNotFound",
        'WorkloadPriorityClass "gold" not found',
    )
    assert seen.error is not None
    assert not harness.workloads


async def test_a_class_is_not_added_to_a_workload_with_quota() -> None:
    harness = pass_harness()
    harness.put({"kind": "WorkloadPriorityClass", "metadata": {"name": "gold"}, "value": 7})
    harness.put(make_stored_job())
    await run_until_settled(harness)
    harness.put_workload(
        with_condition_set(newest_workload(harness), QUOTA_RESERVED, condition_true("QuotaReserved", ""), harness.now)
    )
    harness.patch("Job", OBJECT, {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "gold"}}})
    await run_until_settled(harness)
    assert newest_workload(harness).spec.priority == 0


# Scope


async def test_a_child_waits_for_its_owner_and_is_left_alone_when_the_owner_runs() -> None:
    harness = pass_harness()
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "parent", "uid": "uid-p", "controller": True}
    harness.put(make_stored_job("parent", uid="uid-p"))
    harness.put(make_stored_job(queue="", owners=[owner], suspend=False))
    await run_until_settled(harness, key=JobKey("ns", "parent"))
    seen = await harness.reconcile(JOB, KEY)
    assert reasons(seen) == ["Suspended"]
    assert names(harness) == [newest_workload(harness).metadata.name]
    admit(harness, newest_workload(harness))
    harness.patch("Job", OBJECT, {"spec": {"suspend": False}})
    assert await harness.reconcile(JOB, KEY) == PassResult()


async def test_a_job_in_a_namespace_that_is_gone_is_left_alone() -> None:
    harness = pass_harness()
    harness.namespaces.clear()
    harness.put(make_stored_job())
    assert await harness.reconcile(JOB, KEY) == PassResult()


# Running


async def test_a_job_resumed_by_another_client_is_stopped() -> None:
    harness = pass_harness()
    harness.put(make_stored_job())
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, {"spec": {"suspend": False}})
    seen = await harness.reconcile(JOB, KEY)
    assert [message for _, _, message, _ in seen.events] == ["Not admitted by cluster queue"]
    assert JOB.is_suspended(harness.objects["Job", OBJECT])


async def test_a_job_suspended_by_another_client_is_started_again() -> None:
    harness = pass_harness()
    harness.put(make_stored_job())
    await run_until_settled(harness)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, {"spec": {"suspend": True}})
    assert reasons(await harness.reconcile(JOB, KEY)) == ["Started"]
    assert is_admitted(newest_workload(harness))


async def test_finished_pods_return_their_quota_permanently() -> None:
    harness = pass_harness()
    harness.put(make_stored_job(parallelism=3, completions=4))
    await run_until_settled(harness)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, {"status": {"succeeded": 3}})
    await run_until_settled(harness)
    assert [(each.name, each.count) for each in newest_workload(harness).status.reclaimable_pods] == [("main", 2)]
    harness.patch("Job", OBJECT, {"status": {"succeeded": 2}})
    assert await harness.reconcile(JOB, KEY) == PassResult()


async def test_pods_ready_is_written_only_where_it_is_required() -> None:
    harness = pass_harness(configuration=Configuration(wait_for_pods_ready=WaitForPodsReady()))
    harness.put(make_stored_job())
    await run_until_settled(harness)
    condition_ = condition(newest_workload(harness), "PodsReady")
    assert condition_ is not None
    assert (condition_.status, condition_.reason) == ("False", "WaitForStart")


async def test_labels_are_copied_when_a_workload_is_made() -> None:
    harness = pass_harness(configuration=Configuration(integrations=Integrations(label_keys_to_copy=("team",))))
    harness.put(make_stored_job(labels={"team": "blue", "other": "x"}))
    await run_until_settled(harness)
    assert newest_workload(harness).metadata.labels == {"team": "blue", JOB_UID_LABEL: "uid-1"}


@pytest.mark.parametrize(("gates", "copied"), [(DEFAULT_GATES, False), (LABELLED, True)])
async def test_metric_labels_of_workloads_are_copied_where_the_gate_is_on(gates: FeatureGates, copied: bool) -> None:
    wanted = (
        CustomLabel(name="team", source_kind="Workload"),
        CustomLabel(name="cost", source_kind="Workload", source_annotation_key="example.com/cost"),
        CustomLabel(name="tier", source_annotation_key="example.com/tier"),
    )
    harness = pass_harness(configuration=Configuration(metrics=Metrics(custom_labels=wanted)), gates=gates)
    condition_ = {"example.com/cost": "7", "example.com/tier": "a queue's"}
    harness.put(make_stored_job(labels={"team": "blue", "other": "x"}, annotations=condition_))
    await run_until_settled(harness)
    made = newest_workload(harness).metadata
    assert made.labels == {**({"team": "blue"} if copied else {}), JOB_UID_LABEL: "uid-1"}
    assert made.annotations == ({"example.com/cost": "7"} if copied else {})


@pytest.mark.parametrize("suspended", [True, False])
async def test_a_finished_job_without_a_workload_gets_none(suspended: bool) -> None:
    harness = pass_harness()
    harness.put(make_stored_job(suspend=suspended))
    harness.patch("Job", OBJECT, {"status": {"conditions": [{"type": "Failed", "status": "True", "message": "m"}]}})
    assert await harness.reconcile(JOB, KEY) == PassResult()
    assert not harness.workloads
