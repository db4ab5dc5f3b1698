"""A check in a process of its own, as docs/how-to/write-an-admission-check.md has it (MK-1, MK-6, MK-13, MK-16)."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from controllers.scheduling_harness import (
    SchedulingHarness,
    conditions_of,
    has_conditions,
    running_scheduling_harness,
)
from kit.apiserver import ADMIN
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_workload,
)
from kohort.api.kueue.v1beta2 import AdmissionCheck, Workload
from kohort.checks.contract import ACTIVE, AdmissionCheckController, CheckedWorkload, CheckResult, CheckState
from kohort.checks.process import running_check_process
from kohort.engine.lifecycle.conditions import ConditionState, condition_false
from kohort.kube.client import Client

READY, PENDING = CheckResult(CheckState.READY), CheckResult(CheckState.PENDING, "not yet")


class ScriptedCheck(AdmissionCheckController):
    """Returns what the test sets."""

    controller_name = "example.org/scripted"

    def __init__(self) -> None:
        self.result: CheckResult | None = PENDING
        self.failures = 0
        self.evaluated: list[str] = []
        self.released: list[str] = []

    def active(self, check: AdmissionCheck) -> ConditionState:
        return condition_false("NoSettings", "set an annotation") if "broken" in check.metadata.labels else ACTIVE

    async def evaluate(self, subject: CheckedWorkload) -> CheckResult | None:
        self.evaluated.append(f"{subject.workload.metadata.name}/{subject.entry.name}")
        if self.failures:
            self.failures -= 1
            raise OSError("no connection")
        return self.result

    async def release(self, workload: Workload) -> None:
        self.released.append(workload.metadata.name)


@pytest.fixture
def check() -> ScriptedCheck:
    return ScriptedCheck()


@pytest.fixture
async def harness(check: ScriptedCheck) -> AsyncIterator[SchedulingHarness]:
    """A queue with one check of this controller, and one of another."""
    async with running_scheduling_harness() as harness:
        manager = await harness.start()
        client = Client(harness.server.core.transport(ADMIN), harness.clock)
        await manager.stack.enter_async_context(running_check_process(check, client))
        await harness.create(make_admission_check("mine", controller=check.controller_name))
        await harness.create_active(
            make_resource_flavor(),
            make_admission_check("other"),
            make_cluster_queue("q", "4", **admission_checks("mine", "other")),
            make_local_queue("lq", "q"),
            make_workload("w", "lq"),
        )
        await harness.wait_for(has_conditions(QuotaReserved="True"), "Workload", "w")
        yield harness


async def states(harness: SchedulingHarness) -> dict[str, str]:
    return {each["name"]: each["state"] for each in (await harness.get("Workload", "w"))["status"]["admissionChecks"]}


async def test_only_own_checks_are_evaluated_and_written(harness: SchedulingHarness, check: ScriptedCheck) -> None:
    check.result = READY
    await harness.merge("AdmissionCheck", "mine", {"metadata": {"annotations": {"changed": "1"}}})
    await harness.advance(3)
    assert await states(harness) == {"mine": "Ready", "other": "Pending"}
    assert set(check.evaluated) == {"w/mine"}
    await harness.set_check("w", "other", "Ready")
    await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")


async def test_a_pending_check_is_evaluated_again_after_its_delay(
    harness: SchedulingHarness, check: ScriptedCheck
) -> None:
    check.result = CheckResult(CheckState.PENDING, "until noon", recheck_after=timedelta(seconds=60))
    await harness.merge("AdmissionCheck", "mine", {"metadata": {"annotations": {"changed": "1"}}})
    await harness.advance(3)
    seen = len(check.evaluated)
    await harness.advance(40)
    assert len(check.evaluated) == seen, "nothing polls"
    check.result = READY
    await harness.advance(25)
    assert (await states(harness))["mine"] == "Ready"


async def test_a_retry_evicts_and_releases_and_the_next_reservation_is_evaluated(
    harness: SchedulingHarness, check: ScriptedCheck
) -> None:
    check.result = CheckResult(CheckState.RETRY, "later", requeue_after=timedelta(seconds=30))
    await harness.merge("AdmissionCheck", "mine", {"metadata": {"annotations": {"changed": "1"}}})
    await harness.wait_for(has_conditions(Evicted="True"), "Workload", "w")
    assert check.released
    assert (await states(harness))["mine"] == "Pending", "reset by the eviction"
    check.result = READY
    await harness.stop_jobs()
    await harness.advance(40)
    assert (await states(harness))["mine"] == "Ready"
    (entry, _) = (await harness.get("Workload", "w"))["status"]["admissionChecks"]
    assert entry["retryCount"] == 1


async def test_a_failed_evaluation_is_repeated(harness: SchedulingHarness, check: ScriptedCheck) -> None:
    check.failures, check.result = 3, READY
    await harness.merge("AdmissionCheck", "mine", {"metadata": {"annotations": {"changed": "1"}}})
    await harness.advance(5)
    assert (await states(harness))["mine"] == "Ready"


async def test_without_a_result_the_state_stays(harness: SchedulingHarness, check: ScriptedCheck) -> None:
    check.result = None
    await harness.merge("AdmissionCheck", "mine", {"metadata": {"annotations": {"changed": "1"}}})
    await harness.advance(3)
    (entry, _) = (await harness.get("Workload", "w"))["status"]["admissionChecks"]
    assert (entry["state"], entry["message"]) == ("Pending", "not yet")


async def test_condition_active_follows_the_settings(harness: SchedulingHarness) -> None:
    await harness.advance(3)
    assert conditions_of(await harness.get("AdmissionCheck", "mine"))["Active"] == ("True", "Active")
    assert conditions_of(await harness.get("AdmissionCheck", "other"))["Active"] == ("True", "Ready")
    await harness.merge("AdmissionCheck", "mine", {"metadata": {"labels": {"broken": ""}}})
    await harness.advance(3)
    assert conditions_of(await harness.get("AdmissionCheck", "mine"))["Active"] == ("False", "NoSettings")


async def test_a_write_cannot_follow_an_eviction(harness: SchedulingHarness, check: ScriptedCheck) -> None:
    """MK-16: the Workload is evicted while it is evaluated."""
    evaluate = check.evaluate

    async def slow(subject: CheckedWorkload) -> CheckResult | None:
        result = await evaluate(subject)
        if result is READY:
            check.evaluate = evaluate  # type: ignore[method-assign]
            await harness.set_check("w", "other", "Retry")
            await harness.advance(3)
        return result

    check.evaluate, check.result = slow, READY  # type: ignore[method-assign]
    await harness.merge("AdmissionCheck", "mine", {"metadata": {"annotations": {"changed": "1"}}})
    await harness.advance(3)
    found = await harness.get("Workload", "w")
    assert conditions_of(found)["Evicted"][0] == "True"
    assert await states(harness) == {"mine": "Pending", "other": "Pending"}
