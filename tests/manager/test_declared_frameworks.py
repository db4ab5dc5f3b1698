"""ConfigMaps declare job frameworks to a running manager (JOB-236)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from jobs.job_manager_harness import JobManagerHarness, queue_objects, running_job_harness
from jobs.simulations import SIMULATION, make_simulation, simulation_definition, simulation_framework
from kit.builders.batch import make_job
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings
from kohort.kube.client import Client
from kohort.manager import declared_frameworks
from kohort.manager.declared_frameworks import running_declared_frameworks
from kohort.manager.errors import StartError
from kohort.manager.permissions import RequiredPermission
from kohort.webhooks.jobs import JobHandlers, framework_registrations

Json = Any
SETTINGS = ManagerSettings(Configuration(integrations=Integrations(frameworks=("batch/job",))))
NAMESPACE = "kueue-system"
SIMULATIONS = "/apis/example.org/v1/namespaces/default/simulations"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
NAME = "example.org/simulation"
SECOND = SIMULATION.replace("example.org/simulation", "example.org/other").replace("v1/Simulation", "v1/Other")


@pytest.fixture
async def harness() -> AsyncIterator[JobManagerHarness]:
    async with running_job_harness(SETTINGS) as harness:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await harness.create(namespace, simulation_definition(), *queue_objects("8"))
        async with running_declared_frameworks(harness.manager.context, harness.registry):
            await harness.settle()
            yield harness


def config_map(name: str = "declared", labels: Json = None, **files: str) -> Json:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"kohort.dev/framework": "true", **(labels or {})}}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {f"{key}.yaml": text for key, text in files.items()},
    }


async def declare(harness: JobManagerHarness, name: str = "declared", **files: str) -> None:
    await harness.create(config_map(name, **files))
    await harness.settle()


async def redeclare(harness: JobManagerHarness, text: str) -> None:
    await harness.server.merge(f"{CONFIG_MAPS}/declared", {"data": {"simulation.yaml": text}})
    await harness.settle()


async def is_paused(harness: JobManagerHarness, name: str = "s1") -> bool:
    found = await harness.server.get(f"{SIMULATIONS}/{name}")
    return bool(found["spec"]["paused"])


async def rejections(harness: JobManagerHarness) -> list[str]:
    return [note for reason, note in await harness.events() if reason == "FrameworkRejected"]


async def test_a_kind_is_queued_from_its_declaration_on(harness: JobManagerHarness) -> None:
    await harness.create(make_simulation())
    await harness.settle()
    assert await is_paused(harness)
    await declare(harness, simulation=SIMULATION)
    assert not await is_paused(harness)
    assert await rejections(harness) == []


async def test_without_the_label_a_config_map_declares_nothing(harness: JobManagerHarness) -> None:
    await harness.create(config_map(labels={"kohort.dev/framework": "false"}, simulation=SIMULATION))
    await harness.settle()
    assert list(harness.registry.added) == []


async def test_a_changed_declaration_replaces_the_framework(harness: JobManagerHarness) -> None:
    await declare(harness, simulation=SIMULATION)
    await redeclare(harness, SIMULATION.replace("default_count: 1", "default_count: 3"))
    await harness.create(make_simulation())
    await harness.settle()
    (workload,) = await harness.workloads()
    assert [each["count"] for each in workload["spec"]["podSets"]] == [1, 2, 3]


async def test_a_framework_ends_with_its_config_map_and_returns_with_it(harness: JobManagerHarness) -> None:
    await declare(harness, simulation=SIMULATION)
    assert (await harness.server.request("DELETE", f"{CONFIG_MAPS}/declared")).status == 200
    await harness.settle()
    sent = len(harness.manager.transport.sent)
    await harness.create(make_simulation())
    await harness.settle()
    assert await is_paused(harness)
    assert not any("example.org" in each.path for each in harness.manager.transport.sent[sent:])
    await declare(harness, simulation=SIMULATION)
    assert not await is_paused(harness)


async def test_a_broken_file_disables_only_itself_with_one_message(
    harness: JobManagerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await declare(harness, broken="gvk: [", simulation=SIMULATION)
        await declare(harness, "another", more="kind: Simulation")
        await harness.create(make_simulation(), make_job())
        await harness.settle()
    assert not await is_paused(harness)
    assert (await harness.job())["spec"]["suspend"] is False
    broken, more = [each.getMessage() for each in caplog.records]
    assert broken.startswith(f"ConfigMap {NAMESPACE}/declared, broken.yaml: framework rejected: not a declaration")
    assert more.startswith(f"ConfigMap {NAMESPACE}/another, more.yaml: framework rejected: not a declaration")
    assert sorted(each.partition(":")[0] for each in await rejections(harness)) == ["broken.yaml", "more.yaml"]


async def test_a_file_that_becomes_invalid_disables_its_framework_until_it_is_valid(harness: JobManagerHarness) -> None:
    await declare(harness, simulation=SIMULATION)
    await redeclare(harness, "name: 3")
    assert list(harness.registry.added) == []
    await redeclare(harness, SIMULATION)
    assert list(harness.registry.added) == [NAME]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (SIMULATION.replace("v1/Simulation", "v2/Simulation"), "is declared by another file: remove one"),
        (SIMULATION.replace(NAME, "example.org/twin"), "both manage Simulation: remove one"),
        (SIMULATION.replace(NAME, "batch/job"), "duplicate framework 'batch/job': rename one"),
        (SECOND.replace("example.org/v1/Other", "batch/v1/Job"), "both manage Job: remove one"),
    ],
)
async def test_a_conflicting_declaration_is_rejected_and_the_earlier_one_stays(
    harness: JobManagerHarness, text: str, problem: str
) -> None:
    await declare(harness, simulation=SIMULATION)
    await declare(harness, "later", later=text)
    (note,) = await rejections(harness)
    assert problem in note
    assert list(harness.registry.added) == [NAME]


async def test_missing_permissions_are_reported_once_and_checked_again(
    harness: JobManagerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    granted = False

    async def check(_client: Client, permissions: Iterable[RequiredPermission]) -> None:
        if not granted:
            raise StartError("missing permissions: " + ", ".join(map(str, permissions)))

    monkeypatch.setattr(declared_frameworks, "check_permissions", check)
    await declare(harness, simulation=SIMULATION)
    await harness.advance(200.0)
    (note,) = await rejections(harness)
    assert "list simulations.example.org, watch simulations.example.org, patch simulations.example.org" in note
    granted = True
    await harness.advance(70.0)
    assert list(harness.registry.added) == [NAME]


async def test_the_manager_ends_at_once_while_declarations_cannot_be_listed() -> None:
    async with asyncio.timeout(60), running_job_harness(SETTINGS) as harness:
        harness.manager.transport.disconnect()
        async with running_declared_frameworks(harness.manager.context, harness.registry):
            await harness.clock.advance(1)
        harness.manager.transport.reconnect()


async def test_webhooks_follow_and_those_of_a_removed_framework_allow_everything(harness: JobManagerHarness) -> None:
    handlers = JobHandlers(harness.registry, lambda: None)
    (mutate, validate) = framework_registrations([simulation_framework()])
    assert mutate.path not in handlers.table
    await declare(harness, simulation=SIMULATION)
    serving = handlers.table[mutate.path], handlers.table[validate.path]
    assert (await harness.server.request("DELETE", f"{CONFIG_MAPS}/declared")).status == 200
    await harness.settle()
    removed = handlers.table[mutate.path], handlers.table[validate.path]
    assert removed[0] is removed[1] is not serving[0]
