"""Jobs as users submit them, led by a whole manager: webhook, Workload, admission, start."""

from typing import Any

import pytest

from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor
from kit.virtual_time import eventually
from kohort.api.config.common import Integrations
from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS
from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.api.meta import ObjectKey
from kohort.embedded.control_plane import ControlPlane
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from manager.managers import RESOURCES, configuration, create, is_true, running_plane, running_test_manager

QUEUE = "kueue.x-k8s.io/queue-name"
EVERY_FRAMEWORK = Integrations(frameworks=tuple(BUILT_IN_FRAMEWORKS))


def pod_spec(cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"restartPolicy": "Never", "containers": [container]}


def job(name: str, cpu: str = "1", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    spec = {"template": {"spec": pod_spec(cpu)}, "parallelism": 2, "completions": 2}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


async def queues(client: Client, cpu: str) -> None:
    await create(client, make_resource_flavor(), make_cluster_queue("q", cpu), make_local_queue("lq", "q"))


async def submit(client: Client, found: dict[str, Any]) -> dict[str, Any]:
    return await client.of(Job.resource).create(found)


async def suspended(plane: ControlPlane, name: str) -> bool:
    found = await plane.client("user").of(Job.resource).get(ObjectKey("default", name))
    return bool(found["spec"].get("suspend"))


async def workloads(client: Client) -> dict[str, dict[str, Any]]:
    found = await client.of(RESOURCES["Workload"]).list()
    return {each["metadata"]["ownerReferences"][0]["name"]: each for each in found.items}


async def test_a_job_is_suspended_queued_admitted_and_started() -> None:
    async with running_plane() as plane, running_test_manager(plane):
        client = plane.client("user")
        await queues(client, "3")
        first = await submit(client, job("first", **{QUEUE: "lq"}))
        assert first["spec"]["suspend"], "by the webhook, before anybody could start it"
        await eventually(lambda: suspended(plane, "first"), lambda waits: not waits)
        assert is_true((await workloads(client))["first"], "Admitted")
        await submit(client, job("second", **{QUEUE: "lq"}))
        found = await eventually(
            lambda: workloads(client), lambda found: "conditions" in found.get("second", {}).get("status", {})
        )
        assert not is_true(found["second"], "Admitted")
        assert await suspended(plane, "second")


async def test_a_job_without_a_queue_is_not_managed() -> None:
    async with running_plane() as plane, running_test_manager(plane):
        found = await submit(plane.client("user"), job("free"))
        assert not found["spec"].get("suspend")


async def test_a_mistake_in_a_job_is_refused_when_it_is_submitted() -> None:
    async with running_plane() as plane, running_test_manager(plane):
        with pytest.raises(StatusError, match=r"queue-name.*Not_A_Name"):
            await submit(plane.client("user"), job("odd", **{QUEUE: "Not_A_Name"}))


async def test_all_frameworks_of_kueues_file_may_be_named_and_a_pod_is_gated() -> None:
    async with running_plane() as plane, running_test_manager(plane, configuration(integrations=EVERY_FRAMEWORK)):
        client = plane.client("user")
        await queues(client, "1")
        metadata = {"name": "p", "namespace": "default", "labels": {QUEUE: "lq"}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod_spec("1")}
        made = await client.of(Pod.resource).create(pod)
        assert {"name": "kueue.x-k8s.io/admission"} in made["spec"]["schedulingGates"]
        key = ObjectKey("default", "p")
        await eventually(
            lambda: client.of(Pod.resource).get(key), lambda found: not found["spec"].get("schedulingGates")
        )
