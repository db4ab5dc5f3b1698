"""How a running Job is stopped: its template changes only when Kubernetes accepts it (JOB-98, JOB-101).

The harness rejects other changes, as Kubernetes 1.37 does while pods are active, and older ones do after a start.
"""

from copy import deepcopy
from typing import Any

import pytest

from jobs.actions import (
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
from kohort.api.codec import JsonObject
from kohort.engine.lifecycle.conditions import is_reserved
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.validation import validate_job

STARTED = {"status": {"active": 3, "startTime": "2026-08-01T12:00:00Z"}}
PODS_GONE = {
    "since 1.36": {"status": {"active": None, "startTime": None}},
    "before 1.36": {"status": {"active": None}},
}
MARK = "kueue.x-k8s.io/stopping"


def the_job(harness: PassHarness) -> JsonObject:
    return harness.objects["Job", OBJECT]


def reasons(seen: PassResult) -> list[str]:
    return [reason for _, reason, _, _ in seen.events]


def sent(seen: PassResult) -> list[tuple[str, str]]:
    return [(kind, subresource) for _, kind, subresource, _ in seen.writes]


async def running() -> tuple[PassHarness, Any]:
    """A harness with a Job that has pods, and the template that its user wrote."""
    harness = pass_harness()
    harness.put(make_stored_job(pod={"nodeSelector": {"disk": "ssd"}}))
    written = deepcopy(the_job(harness)["spec"]["template"])
    await run_until_settled(harness)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, STARTED)
    return harness, written


def meaning(template: Any) -> Any:
    """The template without empty members."""
    return {name: member for name, member in template.items() if member}


async def test_while_pods_are_active_the_job_is_suspended_and_no_more() -> None:
    harness, written = await running()
    preempt(harness, newest_workload(harness))
    seen = await harness.reconcile(JOB, KEY)
    assert sent(seen) == [("Job", "")]
    assert the_job(harness)["spec"]["suspend"] is True
    assert the_job(harness)["metadata"]["annotations"] == {MARK: "true"}
    assert the_job(harness)["spec"]["template"] != written
    assert reasons(seen) == []
    assert await harness.reconcile(JOB, KEY) == PassResult(), "what is left waits for the pods"


@pytest.mark.parametrize("kubernetes", PODS_GONE)
async def test_once_pods_have_gone_the_template_is_restored_and_the_quota_is_free(kubernetes: str) -> None:
    harness, written = await running()
    preempt(harness, newest_workload(harness))
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, PODS_GONE[kubernetes])
    seen = await harness.reconcile(JOB, KEY)
    cleared = [("Job", "status")] if kubernetes == "before 1.36" else []
    assert sent(seen) == [*cleared, ("Job", ""), ("Workload", "status")]
    assert reasons(seen) == ["Stopped"]
    assert meaning(the_job(harness)["spec"]["template"]) == meaning(written)
    assert MARK not in the_job(harness)["metadata"].get("annotations", {})
    assert not is_reserved(newest_workload(harness))
    assert await harness.reconcile(JOB, KEY) == PassResult()


async def test_a_workload_that_is_deleted_stays_until_its_job_is_restored() -> None:
    harness, written = await running()
    harness.delete("Workload", next(iter(harness.workloads)))
    await run_until_settled(harness)
    assert len(harness.workloads) == 1, "who else would know what the template was?"
    harness.patch("Job", OBJECT, PODS_GONE["since 1.36"])
    await run_until_settled(harness)
    assert meaning(the_job(harness)["spec"]["template"]) == meaning(written)
    assert newest_workload(harness).metadata.deletion_timestamp is None, "the next one"


async def test_a_workload_that_no_longer_fits_stays_until_its_job_is_restored() -> None:
    harness, written = await running()
    harness.patch("Job", OBJECT, {"spec": {"parallelism": 4}})
    seen = await harness.reconcile(JOB, KEY)
    assert sent(seen) == [("Job", "")]
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, PODS_GONE["since 1.36"])
    await run_until_settled(harness)
    assert meaning(the_job(harness)["spec"]["template"]) == meaning(written)
    assert [each.spec.pod_sets[0].count for each in harness.workloads.values()] == [4]


async def test_a_stop_is_brought_to_its_end_before_the_job_starts_again() -> None:
    harness, _ = await running()
    harness.patch("Job", OBJECT, {"spec": {"suspend": True}, "metadata": {"annotations": {MARK: "true"}}})
    assert await harness.reconcile(JOB, KEY) == PassResult(), "its pods are active"
    harness.patch("Job", OBJECT, PODS_GONE["since 1.36"])
    assert sent(await harness.reconcile(JOB, KEY)) == [("Job", "")]
    assert the_job(harness)["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd"}
    assert reasons(await harness.reconcile(JOB, KEY)) == ["Started"]
    assert the_job(harness)["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd", "tier": "a"}


async def test_a_job_comes_back_in_another_flavor() -> None:
    harness, _ = await running()
    harness.put(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": "g"},
            "spec": {"nodeLabels": {"tier": "b"}},
        }
    )
    preempt(harness, newest_workload(harness))
    await run_until_settled(harness)
    harness.patch("Job", OBJECT, PODS_GONE["since 1.36"])
    await run_until_settled(harness)
    admit(harness, newest_workload(harness), "g")
    await run_until_settled(harness)
    assert the_job(harness)["spec"]["template"]["spec"]["nodeSelector"] == {"disk": "ssd", "tier": "b"}
    assert "tolerations" not in the_job(harness)["spec"]["template"]["spec"]


async def test_a_job_that_is_deleted_while_it_stops_leaves_nothing() -> None:
    harness, _ = await running()
    preempt(harness, newest_workload(harness))
    await run_until_settled(harness)
    harness.delete("Job", OBJECT)
    await run_until_settled(harness)
    assert all(not each.metadata.finalizers for each in harness.workloads.values())


# Suspended by hand


def suspended(harness: PassHarness) -> JsonObject:
    job = the_job(harness)
    return {**job, "spec": {**job["spec"], "suspend": True}}


async def test_suspending_an_admitted_job_is_rejected_with_the_remedy() -> None:
    """JOB-24, DEV-10."""
    harness, _ = await running()
    before = deepcopy(the_job(harness))
    errors, (warning,) = validate_job(JOB, suspended(harness), before, JobContext(harness, is_new=False))
    assert errors == []
    assert "remove spec.suspend from the manifest" in warning
    assert newest_workload(harness).metadata.name in warning
    assert validate_job(JOB, before, before, JobContext(harness, is_new=False)) == ([], [])
    preempt(harness, newest_workload(harness))
    assert validate_job(JOB, suspended(harness), before, JobContext(harness, is_new=False)) == ([], [])


async def test_applying_the_manifest_of_a_pending_job_again_is_no_cause_for_a_warning() -> None:
    harness = pass_harness()
    harness.put(make_stored_job())
    await run_until_settled(harness)
    assert validate_job(JOB, suspended(harness), suspended(harness), JobContext(harness, is_new=False)) == ([], [])
    assert validate_job(JOB, suspended(harness), None, JobContext(harness)) == ([], [])
