"""batch/v1 Jobs as the real Kueue turned them into Workloads, started and stopped them (GS-1 to GS-21)."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobs.golden_jobs import events_of, harness_of, without_empty
from jobs.pass_harness import PassHarness, PassResult
from kit.golden.recordings import job_recording
from kohort.api.codec import from_json, to_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission
from kohort.api.merge import merge
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import ADMITTED, QUOTA_RESERVED, condition_true, with_condition_set, with_status
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.jobs.contract import JobKey
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.names import workload_name
from kohort.jobs.objects import requests_slices
from kohort.jobs.workload_builder import stored

Json = Any

JOB = BatchJobFramework()
CASES = job_recording("job")
QUEUED = [case for case in CASES if "workload" in case]
STARTED = [case for case in QUEUED if "stopped" in case]


def named(case: Json) -> str:
    return str(case["name"])


def key_of(case: Json) -> JobKey:
    return JobKey("ns", case["object"]["metadata"]["name"])


def staged(case: Json) -> PassHarness:
    harness = harness_of(case, JOB)
    harness.put(case["defaulted"])
    return harness


def object_of(harness: PassHarness, case: Json) -> Json:
    found = dict(harness.objects["Job", ObjectKey(*key_of(case)[:2])])
    found["metadata"] = {name: value for name, value in found["metadata"].items() if name != "resourceVersion"}
    return without_empty(found)


def the_workload(harness: PassHarness) -> Workload:
    (workload,) = harness.workloads.values()
    return workload


def admit(harness: PassHarness, case: Json) -> None:
    """Write the admission of the case, as the recording did: with empty messages."""
    workload = the_workload(harness)
    admission = from_json(case["admission"], Admission)
    admitted = with_status(workload, replace(workload.status, admission=admission))
    for each in (QUOTA_RESERVED, ADMITTED):
        admitted = with_condition_set(admitted, each, condition_true(each, ""), harness.now)
    harness.put_workload(admitted)


def evicted(harness: PassHarness) -> None:
    eviction = EvictionCause("Preempted", "Preempted to accommodate x")
    harness.put_workload(evict(the_workload(harness), eviction, harness.now).workload)


async def started(case: Json) -> tuple[PassHarness, PassResult]:
    harness = staged(case)
    await harness.reconcile(JOB, key_of(case))
    admit(harness, case)
    return harness, await harness.reconcile(JOB, key_of(case))


def job_writes(seen: PassResult) -> list[tuple[str, Json]]:
    return [(subresource, patch) for _, kind, subresource, patch in seen.writes if kind == "Job"]


def recorded_job_writes(observed: Json) -> list[tuple[str, Json]]:
    """What was sent to the Job, without the empty patches that JOB-54 forbids."""
    sent = [each for each in observed["writes"] if each["kind"] == "Job" and each["patch"]]
    return [(each.get("subresource", ""), each["patch"]) for each in sent]


@pytest.mark.parametrize("case", CASES, ids=named)
def test_pod_sets_are_those_that_the_real_kueue_derived(case: Json) -> None:
    harness = staged(case)
    found = stored(JOB.pod_sets(case["defaulted"], harness), harness.gates)
    shown = [{"name": each.name, "count": each.count, **to_json(each)} for each in found]
    assert without_empty(shown) == without_empty(case["podSets"])


@pytest.mark.parametrize("case", CASES, ids=named)
def test_names_are_those_of_the_real_kueue(case: Json) -> None:
    obj, harness = case["defaulted"], staged(case)
    extra = JOB.name_extra(obj) if requests_slices(obj, harness.gates) else ""
    metadata = obj["metadata"]
    assert workload_name(JOB.resource, metadata["name"], metadata["uid"], harness.gates, extra) == case["workloadName"]


@pytest.mark.parametrize("case", CASES, ids=named)
async def test_the_first_pass_makes_the_workload_or_leaves_the_job_alone(case: Json) -> None:
    harness = staged(case)
    seen = await harness.reconcile(JOB, key_of(case))
    recorded = case["firstReconcile"]
    assert seen.events == events_of(recorded)
    assert [(verb, kind) for verb, kind, _, _ in seen.writes] == [(w["verb"], w["kind"]) for w in recorded["writes"]]
    assert (seen.error is not None) == ("error" in recorded)
    if "workload" not in case:
        assert not harness.workloads
        return
    made = to_json(the_workload(harness))
    made["spec"].pop("podSets")
    for generated in ("uid", "resourceVersion", "creationTimestamp", "generation"):
        made["metadata"].pop(generated)
    expected = case["workload"]
    assert without_empty({"metadata": made["metadata"], "spec": made["spec"]}) == without_empty(expected)


@pytest.mark.parametrize("case", QUEUED, ids=named)
async def test_a_second_pass_over_a_waiting_job_writes_nothing(case: Json) -> None:
    harness = staged(case)
    await harness.reconcile(JOB, key_of(case))
    assert await harness.reconcile(JOB, key_of(case)) == PassResult()


@pytest.mark.parametrize("case", QUEUED, ids=named)
async def test_an_admitted_job_starts_with_one_write(case: Json) -> None:
    harness, seen = await started(case)
    assert seen.events == events_of(case["start"])
    assert job_writes(seen) == recorded_job_writes(case["start"])
    assert object_of(harness, case) == without_empty(case["started"])
    if "workloadStatusAfterStart" in case:
        assert conditions(to_json(the_workload(harness).status)) == conditions(case["workloadStatusAfterStart"])


def conditions(status: Json) -> Json:
    members = ("type", "status", "reason", "message")
    found = [tuple(each[member] for member in members) for each in status["conditions"]]
    return sorted(found)


@pytest.mark.parametrize("case", STARTED, ids=named)
async def test_a_pass_over_a_running_job_writes_nothing(case: Json) -> None:
    harness, _ = await started(case)
    assert case["steadyWrites"] == []
    assert await harness.reconcile(JOB, key_of(case)) == PassResult()


@pytest.mark.parametrize("case", STARTED, ids=named)
async def test_an_evicted_job_is_what_it_was_before_it_started(case: Json) -> None:
    harness, _ = await started(case)
    evicted(harness)
    seen = await harness.reconcile(JOB, key_of(case))
    assert seen.events == events_of(case["stop"])
    assert job_writes(seen) == recorded_job_writes(case["stop"])
    assert object_of(harness, case) == without_empty(case["stopped"])
    status = to_json(the_workload(harness).status)
    assert conditions(status) == conditions(case["workloadStatusAfterStop"])
    assert status["accumulatedPastExecutionTimeSeconds"] == 0
    assert "admission" not in status
    assert await harness.reconcile(JOB, key_of(case)) == PassResult()


@pytest.mark.parametrize("case", [case for case in CASES if "statuses" in case], ids=named)
def test_statuses_are_read_as_the_real_kueue_reads_them(case: Json) -> None:
    harness = staged(case)
    for status_case in case["statuses"]:
        obj = merge(case["defaulted"], {"status": status_case["status"]})
        ended = JOB.finished(obj)
        assert (ended is not None) == status_case["finished"]["finished"]
        if ended is not None:
            assert (ended.success, ended.message) == (
                status_case["finished"]["success"],
                status_case["finished"]["message"],
            )
        assert JOB.is_active(obj) == status_case["active"]
        assert JOB.is_suspended(obj) == status_case["suspended"]
        assert JOB.pods_ready(obj, harness) == status_case["podsReady"]
        assert JOB.reclaimable(obj, harness) == {each["name"]: each["count"] for each in status_case["reclaimable"]}


@pytest.mark.parametrize("case", CASES, ids=named)
def test_pods_are_selected_as_the_real_kueue_does(case: Json) -> None:
    assert JOB.pod_selector(case["object"]) == case["podLabelSelector"]
