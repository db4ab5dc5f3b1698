"""Lifecycles of batch/v1 Jobs, pass by pass, as recorded from the real Kueue (GS-3 to GS-21)."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobs.golden_jobs import events_of, harness_of, without_empty
from jobs.pass_harness import PassHarness, PassResult
from kit.golden.recordings import job_recording
from kohort.api.codec import from_json, to_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, AdmissionCheckState
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import (
    ADMITTED,
    EVICTED,
    QUOTA_RESERVED,
    condition_true,
    with_condition_set,
    with_status,
    without_condition,
)
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.jobs.contract import JobKey
from kohort.jobs.frameworks.job import BatchJobFramework

Json = Any
Event = tuple[str, str, str, str]
JOB = BatchJobFramework()

DIFFERENT = {
    "recreated job, old workload pending (upstream rewrites it, see DEV-8)",
    "nested owners",
    "elastic: up, up while pending, admitted, down, evicted",
}
"""Flows that differ on purpose, or need frameworks that are not built in; `test_reconciling` has their own tests."""

FLOWS = [case for case in job_recording("flows-job") if case["name"] not in DIFFERENT]


def apply_step(harness: PassHarness, step: Json) -> None:
    """Apply the external changes of a step of a flow."""
    match step["do"]:
        case "create":
            harness.put(step["defaulted"])
        case "create without webhooks":
            harness.put(step["object"])
        case "patch" | "patch status":
            if step.get("allowed", True):
                harness.patch(step["kind"], ObjectKey("ns", step["objectName"]), timed(harness, step["patch"]))
        case "delete":
            harness.delete(step["kind"], ObjectKey("ns", step["objectName"]))
        case "admit workload":
            admit(harness, step)
        case "evict workload":
            workload = harness.workloads[ObjectKey("ns", step["workload"])]
            harness.put_workload(evict(workload, EvictionCause(step["reason"], step["message"]), harness.now).workload)
        case "advance clock":
            harness.advance(step["seconds"])
        case unknown:
            raise AssertionError(unknown)


def timed(harness: PassHarness, patch: Json) -> Json:
    """The patch with the times that the fixtures leave out."""
    now = harness.now.isoformat().replace("+00:00", "Z")
    status = patch.get("status") or {}
    for member in ("admissionChecks", "conditions"):
        for each in status.get(member) or ():
            each.setdefault("lastTransitionTime", now)
            each.setdefault("reason", "Recorded")
            if member == "admissionChecks":
                each.pop("reason")
    return patch


def admit(harness: PassHarness, step: Json) -> None:
    workload = harness.workloads[ObjectKey("ns", step["workload"])]
    status = replace(workload.status, admission=from_json(step["admission"], Admission))
    checks = timed(harness, {"status": {"admissionChecks": step.get("admissionChecks", [])}})["status"][
        "admissionChecks"
    ]
    if checks:
        status = replace(status, admission_checks=tuple(from_json(each, AdmissionCheckState) for each in checks))
    admitted = without_condition(with_status(workload, status), EVICTED)
    for each in (QUOTA_RESERVED, ADMITTED):
        admitted = with_condition_set(admitted, each, condition_true(each, ""), harness.now)
    harness.put_workload(admitted)


def golden_workload(workload: Workload) -> Json:
    """A Workload as the fixtures show it."""
    head = workload.metadata
    return {
        "annotations": head.annotations,
        "conditions": {
            each.type: {"message": each.message, "reason": each.reason, "status": each.status}
            for each in workload.status.conditions
        },
        "finalizers": list(head.finalizers),
        "hasAdmission": workload.status.admission is not None,
        "labels": head.labels,
        "name": head.name,
        "owners": [
            f"{own.kind}/{own.name}{' (controller)' if own.controller else ''}" for own in head.owner_references
        ],
        "podSets": [{"count": each.count, "name": each.name} for each in workload.spec.pod_sets],
        "queueName": workload.spec.queue_name or "",
        **(
            {"reclaimablePods": [to_json(each) for each in workload.status.reclaimable_pods]}
            if workload.status.reclaimable_pods
            else {}
        ),
    }


def without_repeated_finish(events: list[Event], *, is_repeated: bool) -> list[Event]:
    """The events, without a repeated FinishedWorkload (Q-3)."""
    return [each for each in events if not (is_repeated and each[1] == "FinishedWorkload")]


def sent(seen: PassResult) -> list[tuple[str, str]]:
    return [(kind, subresource) for _, kind, subresource, _ in seen.writes]


def recorded(observed: Json) -> list[tuple[str, str]]:
    """What was sent, without the empty patches that JOB-54 forbids."""
    return [(w["kind"], w.get("subresource", "")) for w in observed["writes"] if w.get("patch") != {}]


def is_stopping(harness: PassHarness, namespace: str, name: str) -> bool:
    """Whether the stop of a Job waits for its pods, which the recorded one did not (see deviations, JOB-101)."""
    job = harness.objects.get(("Job", ObjectKey(namespace, name)))
    return job is not None and JOB.is_stopping(job)


def beside_stops(events: list[Event], stops: bool) -> list[Event]:
    """The events; without that of a stop, which is recorded when it is finished."""
    return [each for each in events if not (stops and each[1] == "Stopped")]


def beside_jobs(writes: list[tuple[str, str]], stops: bool) -> list[tuple[str, str]]:
    """The writes; without those of a Job that is being stopped, which come in another order."""
    return [each for each in writes if not (stops and each[0] == "Job")]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow["name"])
async def test_every_pass_does_what_the_real_kueue_did(flow: Json) -> None:
    harness = harness_of(flow, JOB)
    finished = False
    stopped: list[Event] = []
    stopped_there: list[Event] = []
    for step in flow["steps"]:
        if step["do"] != "reconcile":
            apply_step(harness, step)
            continue
        observed = step["observed"]
        namespace, name = step["key"].split("/")
        stops = is_stopping(harness, namespace, name)
        seen = await harness.reconcile(JOB, JobKey(namespace, name))
        stops |= is_stopping(harness, namespace, name)
        expected_events = without_repeated_finish(events_of(observed), is_repeated=finished)
        assert beside_stops(seen.events, stops) == beside_stops(expected_events, stops), step
        stopped += [each for each in seen.events if each[1] == "Stopped"]
        stopped_there += [each for each in expected_events if each[1] == "Stopped"]
        finished |= any(reason == "FinishedWorkload" for _, reason, _, _ in seen.events)
        assert beside_jobs(sent(seen), stops) == beside_jobs(recorded(observed), stops), step
        assert seen.error == observed.get("error")
        assert seen.requeue_after == observed.get("requeueAfterSeconds")
        workloads = sorted(harness.workloads.values(), key=lambda each: each.metadata.name)
        expected = sorted(step["workloads"], key=lambda each: str(each["name"]))
        assert [without_empty(golden_workload(each)) for each in workloads] == without_empty(expected), step
        if "objectAfter" in step and not stops:
            after = dict(harness.objects.get(("Job", ObjectKey(namespace, name)), {"metadata": {}}))
            after["metadata"] = {key: value for key, value in after["metadata"].items() if key != "resourceVersion"}
            assert without_empty(after) == without_empty(step["objectAfter"] or {})
    assert stopped == stopped_there
