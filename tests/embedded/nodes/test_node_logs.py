"""Logs: from an agent in the same process, over its endpoint, and the permissions to read there."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from embedded.nodes.harness import NodeAgentHarness, node, pod
from kit.virtual_time import eventually
from kohort.api.core.nodes import Node
from kohort.api.core.pods import Pod
from kohort.embedded.auth.certificates import FileCertificateAuthority
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.nodes.log_endpoint import LogEndpointAddress
from kohort.embedded.nodes.log_source import AgentLogs, RemoteLogs
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.embedded.nodes.startup import AgentSettings, running_nodes
from kohort.embedded.server.server import ApiServer, running_api_server
from kohort.embedded.server.settings import ServerSettings
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.kube.certificates import CertificatePair
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock
from kohort.kube.config.secrets import KeyPair
from kohort.kube.errors import StatusError
from kohort.kube.options import LogOptions

ADMIN = User("admin", (MASTERS, AUTHENTICATED))
UNPRIVILEGED = User("unprivileged", (AUTHENTICATED,))
FIRST = "kohort: pod default/a on node one, run 1 is simulated: no process runs, and the image is not used"
PATIENCE = 60.0


async def text(harness: NodeAgentHarness, name: str = "a", container: str = "main", **options: object) -> str:
    asked = PodLogOptions(container, **options)  # type: ignore[arg-type]
    return b"".join([part async for part in harness.agent.logs("default", name, asked)]).decode()


async def test_a_simulated_container_reports_what_it_simulates(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"run_seconds": 5}))
    assert (await text(harness)).splitlines() == [FIRST, "kohort: runs for 5 s, then exits with 0"]
    await harness.advance(5)
    assert (await text(harness)).splitlines()[2] == "kohort: exits with 0 (Completed)"


async def test_a_part_of_the_log_can_be_requested(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"run_seconds": 5}))
    await harness.advance(6)
    end = "kohort: exits with 0 (Completed)\n"
    assert await text(harness, tail_lines=1) == end
    assert await text(harness, since_seconds=2) == end
    assert await text(harness, limit_bytes=6) == "kohort"
    assert await text(harness, tail_lines=1, timestamps=True) == f"2026-01-01T00:00:05.000000Z {end}"
    assert await text(harness, tail_lines=0) == ""


async def test_the_log_of_the_previous_run_can_be_requested(harness: NodeAgentHarness) -> None:
    await harness.run(pod(restart="OnFailure", annotations={"run_seconds": 5, "fail_times": 1}))
    with pytest.raises(StatusError, match='previous terminated container "main" in pod "a" not found'):
        await text(harness, previous=True)
    await harness.advance(6)
    assert "kohort: exits with 1 (Error)" in await text(harness, previous=True)
    assert "run 2" in await text(harness)


async def test_a_followed_log_ends_with_its_container(harness: NodeAgentHarness) -> None:
    await harness.run(pod(annotations={"run_seconds": 5}))
    reading = asyncio.create_task(text(harness, follow=True))
    await harness.advance(4)
    assert not reading.done()
    await harness.advance(1)
    assert reading.done()
    assert (await reading).endswith("kohort: exits with 0 (Completed)\n")


async def test_a_followed_log_ends_with_its_reader(harness: NodeAgentHarness) -> None:
    await harness.run(pod(restart="Always"))
    output = harness.agent.logs("default", "a", PodLogOptions("main", follow=True))
    assert FIRST in (await anext(output)).decode()
    await output.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("container", "why"),
    [
        ("main", 'container "main" in pod "a" is waiting to start: ContainerCreating'),
        ("other", 'container "other" not found in pod "a"'),
    ],
)
async def test_a_container_without_a_log_reports_why(harness: NodeAgentHarness, container: str, why: str) -> None:
    await harness.run(pod(annotations={"start_seconds": 5}))
    with pytest.raises(StatusError) as caught:
        await text(harness, container=container)
    assert str(caught.value) == why


async def test_a_pod_without_a_node_or_of_an_unknown_one_has_no_log(harness: NodeAgentHarness) -> None:
    source = AgentLogs()
    with pytest.raises(StatusError, match="pod a does not have a host assigned"):
        source.open({"metadata": {"name": "a"}, "spec": {}}, PodLogOptions("main"))
    with pytest.raises(StatusError, match="node far is not run by this process"):
        source.open({"metadata": {"name": "a"}, "spec": {"nodeName": "far"}}, PodLogOptions("main"))


# Over the wire


class NodeLogsHarness:
    """A server over HTTPS, and an agent that serves logs to users with permission."""

    def __init__(self, server: ApiServer, source: AgentLogs, authority: FileCertificateAuthority, folder: Path) -> None:
        self.source = source
        self._authority = authority
        self._folder = folder
        self.client = Client(server.core.transport(ADMIN))
        self.pods = self.client.of(Pod.resource)

    def pair(self, user: User) -> CertificatePair:
        return self._authority.client(user, SystemClock().wall())

    async def run(self, **annotations: object) -> None:
        """Create a pod that runs."""
        await self.pods.create(pod(annotations=annotations))
        await eventually(lambda: self.pods.get(("default", "a")), lambda found: found["status"]["phase"] != "Pending")

    async def ask(self, user: User | None, path: str) -> tuple[int, str]:
        """The response of the endpoint to a user."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if user is not None:
            pair, file = self.pair(user), self._folder / "pair.pem"
            file.write_bytes(pair.certificate_pem + pair.key_pem)
            context.load_cert_chain(file)
        status = (await self.client.of(Node).get(("", "one"))).status
        url = f"https://127.0.0.1:{status.daemon_endpoints.kubelet_endpoint.port}{path}"
        async with aiohttp.ClientSession() as session, session.get(url, ssl=context) as answer:
            return answer.status, await answer.text()


@pytest.fixture
async def endpoint(tmp_path: Path) -> AsyncIterator[NodeLogsHarness]:
    source = AgentLogs()
    async with running_api_server(ServerSettings(data=tmp_path / "data", logs=source)) as server:
        authority = FileCertificateAuthority.at(tmp_path / "data" / "keys", SystemClock().wall())
        client = Client(server.core.transport(ADMIN))
        settings = AgentSettings(logs=LogEndpointAddress(authority.pem))
        async with running_nodes(
            client, NodeRegistration((node(),)), SimulatedRuntime(client.clock), settings
        ) as agent:
            source.agents.append(agent)
            yield NodeLogsHarness(server, source, authority, tmp_path)


LOG = "/containerLogs/default/a/main"


async def test_the_server_passes_logs_on_from_an_agent_of_its_own_process(endpoint: NodeLogsHarness) -> None:
    await endpoint.run(run_seconds="forever")
    assert (await endpoint.pods.log(("default", "a"))).decode().splitlines()[0] == FIRST
    assert await endpoint.pods.log(("default", "a"), LogOptions(limit_bytes=6)) == b"kohort"


async def test_the_server_passes_logs_on_from_another_process_over_the_endpoint(endpoint: NodeLogsHarness) -> None:
    endpoint.source.agents.clear()
    pair = endpoint.pair(ADMIN)
    endpoint.source.remote = RemoteLogs(endpoint.client, KeyPair(pair.certificate_pem, pair.key_pem))
    await endpoint.run(run_seconds=1)
    async with asyncio.timeout(PATIENCE):
        parts = [part async for part in endpoint.pods.follow_log(("default", "a"), LogOptions(tail_lines=1))]
    assert b"".join(parts).decode().splitlines()[-1] == "kohort: exits with 0 (Completed)"


async def test_the_endpoint_returns_what_a_kubelet_does(endpoint: NodeLogsHarness) -> None:
    await endpoint.run(run_seconds="forever")
    assert (await endpoint.ask(ADMIN, f"{LOG}?tailLines=1")) == (200, "kohort: runs until it is deleted\n")
    other = "/containerLogs/default/b/main"
    assert await endpoint.ask(ADMIN, other) == (404, 'pod "b" does not exist')
    missing = "/containerLogs/default/a/other"
    assert await endpoint.ask(ADMIN, missing) == (404, 'container "other" not found in pod "a"')
    assert (await endpoint.ask(ADMIN, f"{LOG}?tailLines=-1"))[0] == 400
    assert (await endpoint.ask(ADMIN, "/pods"))[0] == 404


async def test_a_certificate_alone_grants_no_access_to_logs(endpoint: NodeLogsHarness) -> None:
    await endpoint.run(run_seconds="forever")
    assert await endpoint.ask(UNPRIVILEGED, LOG) == (403, "Forbidden")


async def test_without_a_certificate_there_is_no_response(endpoint: NodeLogsHarness) -> None:
    with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
        await endpoint.ask(None, LOG)


async def test_a_client_with_an_unknown_certificate_gets_no_response(endpoint: NodeLogsHarness) -> None:
    await endpoint.run(run_seconds="forever")
    endpoint._authority = FileCertificateAuthority.create(SystemClock().wall())
    with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
        await endpoint.ask(ADMIN, LOG)
