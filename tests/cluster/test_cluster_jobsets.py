"""JobSets by their operator's definition on a real API server: the framework is off, on and off again (JOB-95, §16.2).

No operator runs, so the test writes the status. On a control plane of its own, because it defines a kind.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from cluster.control_plane import ControlPlane, ControlPlaneWithoutScheduler
from cluster.go_modules import yaml_of_module
from cluster.test_cluster_manager import configuration
from jobs.jobsets import ended, make_jobset
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor
from kit.virtual_time import eventually
from kohort.api.config.common import Integrations
from kohort.api.core.definitions import CustomResourceDefinition
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ManagerSettings
from kohort.jobs.frameworks.jobset import JobSetFramework
from kohort.kube import client as kube
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.errors import StatusError
from kohort.kube.http import HttpTransport
from kohort.kube.patches import MergePatch
from kohort.manager.crds import WhenMissing
from kohort.manager.options import ManagerOptions
from kohort.manager.startup import running_manager
from manager.managers import LOOPBACK, NAMESPACE, RESOURCES, create, is_true

Json = Any
pytestmark = pytest.mark.asyncio(loop_scope="module")
MODULE = "sigs.k8s.io/jobset@v0.12.0"
JOBSETS = JobSetFramework.resource
KEY = ObjectKey("default", "sweep")


@pytest.fixture(scope="module")
def definition() -> Json:
    """The operator's CustomResourceDefinition, from its module."""
    return yaml_of_module(MODULE, "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml")


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlaneWithoutScheduler() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(plane: ControlPlane) -> AsyncIterator[kube.Client]:
    found = kube.Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig=plane.kubeconfig))))
    integrations = Integrations(frameworks=("batch/job", JobSetFramework.name))
    config = msgspec.structs.replace(configuration(), integrations=integrations)
    options = ManagerOptions(
        f"https://{LOOPBACK}:{config.webhook.port}", when_missing=WhenMissing.INSTALL, identity="there"
    )
    try:
        async with running_manager(found, ManagerSettings(config, namespace=NAMESPACE), options) as manager:
            async with asyncio.timeout(60):
                await manager.leading.wait()
            yield found
    finally:
        await found.close()


async def jobset(client: kube.Client) -> Json:
    try:
        return await client.of(JOBSETS).get(KEY)
    except StatusError as error:
        if not error.is_not_found:
            raise
        return None


async def workloads(client: kube.Client) -> list[Json]:
    return list((await client.of(RESOURCES["Workload"]).list()).items)


async def submit(client: kube.Client) -> Json:
    """Create a JobSet as soon as the server accepts it: its kind may be new or still terminating."""

    async def attempt() -> Json:
        try:
            return await client.of(JOBSETS).create(make_jobset())
        except StatusError as error:
            if error.code in (404, 405, 500, 503):
                return None
            raise

    return await eventually(attempt, lambda found: found is not None)


async def test_jobsets_of_the_operators_definition_are_queued_while_it_is_defined(
    client: kube.Client, definition: Json
) -> None:
    await create(client, make_resource_flavor(), make_cluster_queue("q", "8"), make_local_queue("q", "q"))
    await client.of(CustomResourceDefinition.resource).create(definition)
    await _is_queued_stopped_restored_and_finished(client)
    await client.of(JOBSETS).delete(KEY)
    await eventually(lambda: workloads(client), lambda found: not found)
    await _is_queued_again_after_its_definition_was_deleted(client, definition)


async def _is_queued_stopped_restored_and_finished(client: kube.Client) -> None:
    original = await submit(client)
    assert original["spec"]["suspend"] is True
    await eventually(lambda: jobset(client), lambda found: found is not None and found["spec"]["suspend"] is False)
    (workload,) = await workloads(client)
    assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [("driver", 1), ("workers", 4)]

    key = ObjectKey("default", workload["metadata"]["name"])
    await client.of(RESOURCES["Workload"]).patch(key, MergePatch({"spec": {"active": False}}))
    stopped = await eventually(
        lambda: jobset(client), lambda found: found is not None and found["spec"]["suspend"] is True
    )
    assert stopped["spec"] == original["spec"]

    await client.of(JOBSETS).patch(KEY, MergePatch({"status": ended("Completed")}), subresource="status")
    await eventually(lambda: workloads(client), lambda found: is_true(found[0], "Finished"))


async def _is_queued_again_after_its_definition_was_deleted(client: kube.Client, definition: Json) -> None:
    await submit(client)
    await eventually(lambda: jobset(client), lambda found: found is not None and found["spec"]["suspend"] is False)
    await client.of(CustomResourceDefinition.resource).delete(ObjectKey("", definition["metadata"]["name"]))
    await eventually(lambda: workloads(client), lambda found: all(is_true(each, "Finished") for each in found))

    async def define() -> Json:
        try:
            return await client.of(CustomResourceDefinition.resource).create(definition)
        except StatusError as error:
            if error.is_already_exists:
                return None
            raise

    await eventually(define, lambda found: found is not None)
    await submit(client)
    await eventually(lambda: jobset(client), lambda found: found is not None and found["spec"]["suspend"] is False)
