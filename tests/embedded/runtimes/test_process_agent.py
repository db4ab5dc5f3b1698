"""The process runtime behind a node agent, seen through the API only, as kubectl would see it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from embedded.runtimes.harness import Object, container, process_runtime
from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kit.builders.core import make_config_map
from kit.virtual_time import eventually, eventually_true
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.nodes.manifests import AgentDefaults
from kohort.embedded.nodes.registration import NodeRegistration, NodeShutdownPolicy
from kohort.embedded.runtimes.settings import AtStop
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock

PODS = "/api/v1/namespaces/default/pods"
NODE = DeclaredNode("here", {"cpu": "4", "memory": "8Gi", "pods": "10"})


@asynccontextmanager
async def running_agent(
    cluster: InMemoryApiServer, data: Path, at_stop: AtStop = AtStop.LEAVE
) -> AsyncIterator[NodeAgent]:
    client = Client(cluster.core.transport(ADMIN), SystemClock())
    runtime = process_runtime(cluster, data, {"at_stop": at_stop})
    agent = NodeAgent(client, NodeRegistration((NODE,), leaving=NodeShutdownPolicy.KEEP), runtime)
    await agent.start(AgentDefaults())
    try:
        yield agent
    finally:
        await agent.stop()


def bound(name: str, *containers: Object, restart: str = "Never") -> Object:
    spec = {"containers": list(containers), "restartPolicy": restart, "nodeName": "here"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


async def status_when(cluster: InMemoryApiServer, name: str, is_met: Callable[[Object], bool]) -> Object:
    """The status of a pod, once it meets a condition."""

    async def status() -> Object:
        return dict((await cluster.get(f"{PODS}/{name}"))["status"])

    return await eventually(status, is_met)


def is_phase(phase: str) -> Callable[[Object], bool]:
    return lambda status: status.get("phase") == phase


async def gone(cluster: InMemoryApiServer, name: str) -> None:
    await eventually(lambda: cluster.request("GET", f"{PODS}/{name}"), lambda response: response.status == 404)


async def log_of(agent: NodeAgent, name: str) -> bytes:
    return b"".join([piece async for piece in agent.logs("default", name, PodLogOptions("main"))])


async def test_the_lifecycle_of_pods_in_the_api(tmp_path: Path) -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster, tmp_path) as agent:
            await cluster.create(bound("fine", container(script="echo hello")))
            await cluster.create(bound("bad", container(script="exit 3")))
            await cluster.create(bound("absent", container(command=["no-such-program"])))
            await cluster.create(bound("waits", container(script="true", envFrom=[{"configMapRef": {"name": "late"}}])))
            await cluster.create(bound("stays", container(command=["sleep", "1000"])))
            fine = await status_when(cluster, "fine", is_phase("Succeeded"))
            assert fine["containerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"
            bad = await status_when(cluster, "bad", is_phase("Failed"))
            assert bad["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
            absent = await status_when(cluster, "absent", is_phase("Failed"))
            assert absent["containerStatuses"][0]["state"]["terminated"]["reason"] == "StartError"
            waits = await status_when(cluster, "waits", lambda status: "CreateContainerConfigError" in str(status))
            assert waits["containerStatuses"][0]["state"]["waiting"]["message"] == 'configmap "late" not found'
            await status_when(cluster, "stays", is_phase("Running"))
            assert await log_of(agent, "fine") == b"hello\n"
            await cluster.create(make_config_map("late", color="red"))
            await status_when(cluster, "waits", is_phase("Succeeded"))
        assert (await cluster.get(f"{PODS}/stays"))["status"]["phase"] == "Running"
        async with running_agent(cluster, tmp_path):
            for name in ("fine", "bad", "absent", "waits", "stays"):
                await cluster.request("DELETE", f"{PODS}/{name}")
            for name in ("fine", "bad", "absent", "waits", "stays"):
                await gone(cluster, name)
            await eventually_true(
                lambda: not any("stays" in path.read_text() for path in tmp_path.glob("pods/*/pod.json"))
            )


async def test_what_ended_as_the_agent_went_down_is_reported_by_the_next_one(tmp_path: Path) -> None:
    obeys = "trap 'echo bye; exit 3' TERM; touch up; while :; do sleep 0.02; done"
    async with running_apiserver() as cluster:
        async with running_agent(cluster, tmp_path, AtStop.END):
            for name, restart in (("once", "Never"), ("always", "Always")):
                await cluster.create(bound(name, container(script=obeys), restart=restart))
                await status_when(cluster, name, is_phase("Running"))
            await eventually_true(lambda: len(list(tmp_path.glob("scratch/*/containers/main/work/up"))) == 2)
        assert (await cluster.get(f"{PODS}/once"))["status"]["phase"] == "Running"
        node = (await cluster.get("/api/v1/nodes/here"))["status"]["conditions"]
        assert {each["type"]: each["status"] for each in node}["Ready"] == "False"
        async with running_agent(cluster, tmp_path) as agent:
            once = await status_when(cluster, "once", is_phase("Failed"))
            assert once["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
            assert await log_of(agent, "once") == b"bye\n"
            again = await status_when(
                cluster, "always", lambda status: status["containerStatuses"][0]["restartCount"] == 1
            )
            assert again["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 3
            await cluster.request("DELETE", f"{PODS}/always")
            await gone(cluster, "always")


async def test_pods_that_end_with_their_node_have_the_condition_of_a_disruption(tmp_path: Path) -> None:
    sleeping = container(command=["sleep", "1000"])
    async with running_apiserver() as cluster:
        async with running_agent(cluster, tmp_path, AtStop.END):
            await cluster.create(bound("fine", container(script="true")))
            await cluster.create(bound("once", sleeping))
            await cluster.create(bound("again", sleeping, restart="OnFailure"))
            await status_when(cluster, "fine", is_phase("Succeeded"))
            for name in ("once", "again"):
                await status_when(cluster, name, is_phase("Running"))
        async with running_agent(cluster, tmp_path, AtStop.END):
            ended = await status_when(cluster, "once", is_phase("Failed"))
            (condition,) = [each for each in ended["conditions"] if each["type"] == "DisruptionTarget"]
            assert (condition["status"], condition["reason"]) == ("True", "TerminationByKubelet")
            assert condition["message"] == "Pod was terminated in response to imminent node shutdown."
            await status_when(cluster, "again", lambda status: status["containerStatuses"][0]["restartCount"] == 1)
            for name in ("again", "fine"):
                found = (await cluster.get(f"{PODS}/{name}"))["status"]["conditions"]
                assert "DisruptionTarget" not in [each["type"] for each in found]
