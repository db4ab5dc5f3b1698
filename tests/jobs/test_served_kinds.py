"""A framework is on while its CustomResourceDefinition exists, without a restart and without polling (JOB-95)."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobs.job_manager_harness import JobManagerHarness, conditions_of, queue_objects, running_job_harness
from jobs.simulations import make_simulation, simulation_definition, simulation_framework
from kit.builders.batch import make_job
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings
from kohort.jobs.frameworks.job import BatchJobFramework

SETTINGS = ManagerSettings(Configuration(integrations=Integrations(frameworks=("batch/job", "example.org/simulation"))))
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/simulations.example.org"
SIMULATIONS = "/apis/example.org/v1/namespaces/default/simulations"
OFF = "framework example.org/simulation is off: the API server does not serve simulations.example.org v1"
ON = "framework example.org/simulation is on: its CustomResourceDefinitions are established"


@pytest.fixture
async def harness() -> AsyncIterator[JobManagerHarness]:
    async with running_job_harness(SETTINGS, BatchJobFramework(), simulation_framework()) as harness:
        await harness.create(*queue_objects("4"))
        await harness.settle()
        yield harness


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "kohort.jobs.startup"]


async def define(harness: JobManagerHarness, *versions: str) -> None:
    await harness.create(simulation_definition(*versions))
    await harness.settle()


async def undefine(harness: JobManagerHarness) -> None:
    response = await harness.server.request("DELETE", DEFINITION)
    assert response.status == 200, response
    await harness.settle()


async def is_running(harness: JobManagerHarness) -> bool:
    found = await harness.server.get(f"{SIMULATIONS}/s1")
    return found["spec"]["paused"] is False


async def the_workload(harness: JobManagerHarness) -> Any:
    (workload,) = await harness.workloads()
    return workload


def sent_to(harness: JobManagerHarness, part: str) -> int:
    return sum(part in each.path for each in harness.manager.transport.sent)


async def test_a_framework_without_its_definition_is_off_and_costs_nothing(
    harness: JobManagerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        await harness.crash()
        await harness.start()
        await harness.settle()
        watched = sent_to(harness, "customresourcedefinitions")
        await harness.clock.advance(60.0)
    assert lines(caplog) == [OFF]
    assert sent_to(harness, "example.org") == 0
    assert sent_to(harness, "customresourcedefinitions") == watched
    assert harness.manager.context.informers.not_synced() == {}


async def test_other_frameworks_work_meanwhile(harness: JobManagerHarness) -> None:
    await harness.create(make_job())
    await harness.settle()
    assert (await harness.job())["spec"]["suspend"] is False


async def test_jobs_run_as_soon_as_the_definition_exists(
    harness: JobManagerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        await define(harness)
        await harness.create(make_simulation())
        await harness.settle()
    assert lines(caplog) == [ON]
    assert await is_running(harness)


async def test_the_quota_of_all_jobs_is_free_after_the_definition_is_deleted(
    harness: JobManagerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await define(harness)
    await harness.create(make_simulation())
    await harness.settle()
    with caplog.at_level(logging.INFO):
        await undefine(harness)
    assert lines(caplog) == [OFF]
    assert [conditions_of(each)["Finished"] for each in await harness.workloads()] in ([], [("True", "OwnerNotFound")])
    before = sent_to(harness, "example.org")
    await harness.clock.advance(60.0)
    assert sent_to(harness, "example.org") == before


async def test_a_framework_is_on_again_when_its_definition_returns(
    harness: JobManagerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await define(harness)
    await harness.create(make_simulation())
    await harness.settle()
    with caplog.at_level(logging.INFO):
        await undefine(harness)
        await define(harness)
    await harness.create(make_simulation())
    await harness.settle()
    assert lines(caplog) == [OFF, ON]
    assert await is_running(harness)


async def test_the_workloads_of_jobs_that_vanished_while_no_manager_ran_finish(harness: JobManagerHarness) -> None:
    await define(harness)
    await harness.create(make_simulation())
    await harness.settle()
    await harness.crash()
    response = await harness.server.request("DELETE", DEFINITION)
    assert response.status == 200, response
    await harness.clock.advance(5.0)
    await harness.start()
    await harness.settle()
    workload = await the_workload(harness)
    assert conditions_of(workload)["Finished"] == ("True", "OwnerNotFound")
    assert not workload["metadata"].get("finalizers")


async def test_jobs_of_a_version_that_is_no_longer_served_keep_their_quota(
    harness: JobManagerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    await define(harness, "v1", "v2")
    await harness.create(make_simulation())
    await harness.settle()
    definition = await harness.server.get(DEFINITION)
    versions = [{**each, "served": each["name"] != "v1"} for each in definition["spec"]["versions"]]
    with caplog.at_level(logging.INFO):
        await harness.server.merge(DEFINITION, {"spec": {"versions": versions}})
        await harness.settle()
    assert lines(caplog) == [OFF]
    assert conditions_of(await the_workload(harness))["Admitted"] == ("True", "Admitted")
