"""Every series of Kueue's is recorded, or listed in docs/deviations.md as not recorded.

Scenarios on whole managers in virtual time; together they cover every event that is counted or timed.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.actions import ELASTIC
from jobs.job_cluster import JobCluster, running_job_cluster
from jobs.webhook_caller import make_sent_member, make_sent_pod, running_pod_harness
from kit.builders.batch import make_job
from kit.builders.core import make_namespace
from kit.builders.kueue import (
    make_cluster_queue,
    make_cohort,
    make_local_queue,
    make_resource_flavor,
    make_workload,
    make_workload_priority_class,
)
from kit.golden.lifecycle import NAMESPACE
from kit.manager import running_manager_harness
from kohort.api.codec import from_json
from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.controllers.context import ManagerSettings
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.metrics import KueueMetrics

DEVIATIONS = Path(__file__).parents[2] / "docs" / "deviations.md"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
PREEMPTS = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
BY_USAGE = {"admissionMode": "UsageBasedAdmissionFairSharing"}
EVERYTHING = ManagerSettings(
    from_json(
        {
            "metrics": {"enableClusterQueueResources": True},
            "fairSharing": {},
            "waitForPodsReady": {},
            "admissionFairSharing": {"usageHalfLifeTime": "60s", "usageSamplingInterval": "5s"},
        },
        Configuration,
    )
)
OVERLAPS_ARE_SKIPPED = ManagerSettings(
    gates=FeatureGates(DEFAULT_GATES.on - {Gate.RecomputeAssignmentUponPreemptionTargetsOverlap})
)

Scenario = Callable[[], Awaitable[KueueMetrics]]
ScenarioMetrics = dict[Scenario, KueueMetrics]


def there(made: Any) -> Any:
    """The object in the namespace of the farm."""
    made["metadata"]["namespace"] = NAMESPACE
    return made


async def opened(harness: JobCluster, **queue: Any) -> None:
    await harness.create(make_namespace(NAMESPACE))
    await harness.create(
        make_workload_priority_class("high", 100), make_resource_flavor(), make_cohort("top"), make_cohort("c", "top")
    )
    await harness.create(make_cluster_queue("cq", "2", cohortName="c", **queue), there(make_local_queue("q", "cq")))


async def a_job_is_preempted() -> KueueMetrics:
    async with running_job_cluster(EVERYTHING) as harness:
        await opened(harness, preemption=PREEMPTS, admissionScope=BY_USAGE)
        await harness.create(there(make_job("low", cpu="2")))
        await harness.advance(6)
        high = there(make_job("high", cpu="2"))
        high["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
        await harness.create(high, there(make_job("third", cpu="2")))
        await harness.advance(8)
        harness.pod_phases["high"] = "Succeeded"
        await harness.advance(20)
        return harness.manager.context.metrics


async def a_job_grows() -> KueueMetrics:
    async with running_job_cluster(ManagerSettings(Configuration(wait_for_pods_ready=None))) as harness:
        await opened(harness)
        job = there(make_job(parallelism=1, completions=None))
        job["metadata"]["annotations"] = ELASTIC
        BatchJobFramework().gate_templates(job)
        await harness.create(job)
        await harness.advance(6)
        reply = await harness.server.merge(f"{JOBS}/etl", {"spec": {"parallelism": 2}})
        assert reply.status == 200, reply
        await harness.advance(6)
        return harness.manager.context.metrics


async def pods_are_ungated() -> KueueMetrics:
    async with running_pod_harness() as (harness, webhook):
        for each in (make_sent_pod("alone"), make_sent_member("a", 2), make_sent_member("b", 2)):
            await webhook.send(each)
        await harness.settle()
        return harness.manager.context.metrics


async def two_preemptors_with_the_same_victim(settings: ManagerSettings = OVERLAPS_ARE_SKIPPED) -> KueueMetrics:
    async with running_manager_harness(settings) as harness:
        queues = [make_cluster_queue(name, "4", cohortName="all", preemption=PREEMPTS) for name in "abc"]
        await harness.create(make_resource_flavor(), *queues, *(make_local_queue(name, name) for name in "abc"))
        await harness.create(*(make_workload(f"c{number}", "c", "4") for number in (1, 2, 3)))
        await harness.advance(3)
        await harness.create(make_workload("a1", "a", "4"), make_workload("b1", "b", "4"))
        await harness.advance(3)
        return harness.context.metrics


async def the_second_preemptor_is_retried() -> KueueMetrics:
    return await two_preemptors_with_the_same_victim(ManagerSettings())


SCENARIOS: tuple[Scenario, ...] = (
    a_job_is_preempted,
    a_job_grows,
    pods_are_ungated,
    two_preemptors_with_the_same_victim,
    the_second_preemptor_is_retried,
)


@pytest.fixture(scope="module")
def scenario_metrics() -> ScenarioMetrics:
    """Each scenario, and what it recorded."""

    async def play() -> ScenarioMetrics:
        return {scenario: await scenario() for scenario in SCENARIOS}

    return asyncio.run(play())


def recorded(metrics: KueueMetrics) -> set[str]:
    """The names that Prometheus finds on the page."""
    return set(re.findall(r"^# TYPE (\w+)", metrics.registry.render().decode(), re.M))


def never_set() -> set[str]:
    """The series that the table of deviations lists as never set."""
    rows = [line for line in DEVIATIONS.read_text().splitlines() if "never sets them" in line]
    return set(re.findall(r"`((?:multi)?kueue_\w+)`", "".join(rows)))


def test_every_series_is_recorded_or_documented_as_missing(scenario_metrics: ScenarioMetrics) -> None:
    found = set().union(*map(recorded, scenario_metrics.values()))
    everything = {family.name for page in scenario_metrics.values() for family in page.registry.families()}
    assert everything - found == never_set()


def test_a_workload_is_timed_from_the_creation_of_its_job(scenario_metrics: ScenarioMetrics) -> None:
    latency = scenario_metrics[a_job_grows].workload_creation_latency_seconds
    assert latency.count(job_kind="Job") == 1, "the slice of a changed job does not measure our latency"


@pytest.mark.parametrize(("is_group", "pods"), [("false", 1), ("true", 2)])
def test_open_gates_are_timed_for_pods_and_groups(is_group: str, pods: int, scenario_metrics: ScenarioMetrics) -> None:
    removal = scenario_metrics[pods_are_ungated].pod_scheduling_gate_removal_seconds
    labels = {"cluster_queue": "cq", "is_group": is_group}
    assert removal.count(name="kueue.x-k8s.io/admission", **labels) == pods


def test_open_gates_of_elastic_jobs_are_timed(scenario_metrics: ScenarioMetrics) -> None:
    removal = scenario_metrics[a_job_grows].pod_scheduling_gate_removal_seconds
    assert removal.count(name="kueue.x-k8s.io/elastic-job", cluster_queue="cq", is_group="false") == 2


def test_a_second_preemptor_of_the_same_victims_is_counted(scenario_metrics: ScenarioMetrics) -> None:
    skips = scenario_metrics[two_preemptors_with_the_same_victim].admission_cycle_preemption_skips
    values = [skips.value(cluster_queue=name) for name in "ab"]
    assert sorted(values, key=str) == [1, None]


def test_a_search_for_other_victims_is_counted_with_its_result(scenario_metrics: ScenarioMetrics) -> None:
    searches = scenario_metrics[the_second_preemptor_is_retried].preemption_target_recomputations_total
    values = [searches.value(cluster_queue=name, result="new_targets") or 0 for name in "ab"]
    assert min(values) == 0 < max(values), "the older one was first, the other looks again in each cycle"
