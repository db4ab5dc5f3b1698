"""`kohort node` attaches nodes to an API server until it is stopped."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from kit.apiserver import Object
from kit.virtual_time import eventually
from kohort.api.core.nodes import Node
from kohort.api.core.pods import Pod
from kohort.cli.main import cli, main
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.server.server import ApiServer, running_api_server
from kohort.embedded.server.settings import ServerSettings
from kohort.kube.client import Client

PATIENCE = 60


def kohort(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["node", *map(str, arguments)], prog_name="kohort")


def test_the_help_has_examples() -> None:
    result = kohort("--help")
    assert result.exit_code == 0
    assert "kohort node --count 100" in result.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--count", "0"), "0 nodes: give a number from 1 to"),
        (("--count", "2", "--name", "same"), '2 nodes share the name "same"'),
        (("--labels", "rack=r{0..3"), '"r{0..3": unmatched brace'),
        (("--capacity", "cpu=lots"), "capacity[cpu]: Invalid value"),
        (("--file", "/no/such/file"), "/no/such/file: cannot read file"),
        (("--kubeconfig", "/no/such/file"), "no kubeconfig found at /no/such/file"),
    ],
)
def test_a_mistake_is_reported_in_one_line(
    arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["node", *arguments])
    error = capsys.readouterr().err
    assert (left.value.code, error.count("\n")) == (2, 1)
    assert why in error


def test_a_count_and_a_file_contradict_each_other() -> None:
    result = kohort("--count", "1", "--file", "nodes.yaml")
    assert (result.exit_code, "--count and --file are mutually exclusive" in result.output) == (2, True)


def test_a_machine_is_one_node() -> None:
    result = kohort("--count", "2", "--runtime", "process")
    assert (result.exit_code, "uses this machine as the node" in result.output) == (2, True)


def test_a_missing_server_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:9'}}]\n"
        "users: [{name: a, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
    )
    with pytest.raises(SystemExit) as left:
        main(["node", "--kubeconfig", str(file)])
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("kohort: error: ")


async def test_missing_permissions_are_reported_in_one_line(tmp_path: Path) -> None:
    async with running_api_server(ServerSettings(data=tmp_path)) as server:
        kubeconfig = yaml.safe_load(server.kubeconfig.read_text())
        kubeconfig["users"][0]["user"] = {}
        file = tmp_path / "kubeconfig"
        file.write_text(yaml.safe_dump(kubeconfig))
        code = "from kohort.cli.main import main; main()"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, "node", f"--kubeconfig={file}", stderr=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(PATIENCE):
            _, error = await process.communicate()
    assert process.returncode == 2
    assert error.decode().startswith(f"kohort: error: not authenticated at {server.url}: check the credentials in ")
    assert error.count(b"\n") == 1


# For real


class NodeServer:
    """An API server, and nodes attached to it by other processes."""

    def __init__(self, server: ApiServer) -> None:
        self.kubeconfig = server.kubeconfig
        client = Client(server.core.transport(User("admin", (MASTERS, AUTHENTICATED))))
        self.nodes, self.pods = client.of(Node), client.of(Pod.resource)
        self._processes: list[asyncio.subprocess.Process] = []

    async def attach(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start `kohort node`; returns when it reports that the nodes are registered."""
        code = "from kohort.cli.main import main; main()"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            code,
            "node",
            f"--kubeconfig={self.kubeconfig}",
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._processes.append(process)
        assert process.stdout is not None
        assert b"press Ctrl-C to stop" in await process.stdout.readline()
        return process

    async def end(self) -> None:
        """Leave no process behind, whether the test succeeds or fails."""
        for process in self._processes:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def names(self) -> dict[str, str]:
        """The nodes, and whether each is ready."""
        found = (await self.nodes.list()).items
        return {
            each.metadata.name: next(c.status for c in each.status.conditions if c.type == "Ready") for each in found
        }


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[NodeServer]:
    async with running_api_server(ServerSettings(data=tmp_path)) as server:
        found = NodeServer(server)
        yield found
        await found.end()


def is_phase(phase: str) -> Callable[[Object], bool]:
    return lambda pod: pod["status"]["phase"] == phase


async def test_nodes_come_run_pods_and_go(served: NodeServer) -> None:
    async with asyncio.timeout(PATIENCE):
        process = await served.attach("--count=3", "--labels=rack=r{0..2}")
        assert await served.names() == {"node-0": "True", "node-1": "True", "node-2": "True"}
        spec = {"nodeName": "node-1", "restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}
        metadata = {"name": "a", "namespace": "default", "annotations": {"kohort.dev/run-seconds": "0.1"}}
        await served.pods.create({"metadata": metadata, "spec": spec})
        await eventually(lambda: served.pods.get(("default", "a")), is_phase("Succeeded"))
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
        assert await served.names() == {}


async def test_kept_nodes_stay_and_are_not_ready(served: NodeServer) -> None:
    async with asyncio.timeout(PATIENCE):
        process = await served.attach("--keep", "--name=lab")
        assert await served.names() == {"lab": "True"}
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        assert await served.names() == {"lab": "False"}


async def test_this_machine_runs_pods_as_processes(served: NodeServer, tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        process = await served.attach("--runtime=process", f"--data={tmp_path / 'pods'}")
        ((name, ready),) = (await served.names()).items()
        assert ready == "True"
        container = {"name": "main", "image": "none", "command": ["sh", "-c", "echo hello; exit 7"]}
        spec = {"nodeName": name, "restartPolicy": "Never", "containers": [container]}
        await served.pods.create({"metadata": {"name": "a", "namespace": "default"}, "spec": spec})
        status = (await eventually(lambda: served.pods.get(("default", "a")), is_phase("Failed")))["status"]
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 7
        assert status["podIP"] == "127.0.0.1"
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0
