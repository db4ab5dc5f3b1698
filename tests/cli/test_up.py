"""`kohort up`: one command, and jobs run; what it is stopped and started over stays."""

import asyncio
import os
import pty
import signal
import socket
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kit.virtual_time import eventually
from kohort.api.core.apps import Deployment
from kohort.api.core.batch import Job
from kohort.api.core.nodes import Node
from kohort.api.core.pods import Pod
from kohort.cli.main import cli, main
from kohort.cli.runtimes import RuntimeName
from kohort.cli.up import RUNTIMES
from kohort.embedded.storage.records import APPLICATION
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.kube.options import ListScope
from kohort.local.directories import ClusterDirectory
from kohort.local.runs import ClusterState, cluster_status

PATIENCE = 60


def test_the_help_has_examples() -> None:
    result = CliRunner().invoke(cli, ["up", "--help"], prog_name="kohort")
    assert result.exit_code == 0
    assert "kohort up --nodes 640 --node-capacity" in result.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--nodes", "0"), "0 nodes: give a number from 1 to"),
        (("--nodes", "/no/such/file"), "/no/such/file: cannot read file"),
        (("--nodes", "2", "--node-capacity", "cpu=lots"), "capacity[cpu]: Invalid value"),
        (("--runtime", "podman"), "podman is not installed"),
    ],
)
def test_a_mistake_is_reported_in_one_line(
    arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit) as left:
        main(["up", "--ephemeral", *arguments])
    error = capsys.readouterr().err
    assert (left.value.code, error.count("\n")) == (2, 1)
    assert why in error


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--ephemeral", "--data=somewhere"), "--data and --ephemeral are mutually exclusive"),
        (("--no-manager", "--starter"), "--starter and --no-manager are mutually exclusive"),
        (("--no-manager", "--config=file"), "--config and --no-manager are mutually exclusive"),
        (("--no-use-context",), "--no-use-context requires --merge-kubeconfig"),
    ],
)
def test_options_that_contradict_each_other_are_refused(arguments: tuple[str, ...], why: str) -> None:
    result = CliRunner().invoke(cli, ["up", *arguments], prog_name="kohort")
    assert (result.exit_code, why in result.output) == (2, True)


def test_the_runtimes_to_choose_from_are_those_that_there_are() -> None:
    assert [each.value for each in RuntimeName] == list(RUNTIMES)


@pytest.mark.parametrize(
    "option", ["--node-labels=a=b", "--node-capacity=cpu=4", "--node-name=n{node}", "--node-taints=a"]
)
def test_node_options_without_nodes_are_rejected(option: str) -> None:
    result = CliRunner().invoke(cli, ["up", "--ephemeral", option], prog_name="kohort")
    shown = f"{option.partition('=')[0]} requires --nodes"
    assert (result.exit_code, shown in result.output) == (2, True)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which a start is refused."""
    with pytest.raises(SystemExit) as left:
        main(["up", "--nodes=1", *arguments])
    out, error = capsys.readouterr()
    assert (left.value.code, out, error.count("\n")) == (2, "", 1)
    return error


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        error = refusal(capsys, f"--data={tmp_path}", f"--port={port}")
    assert error == f"kohort: error: port {port} of 127.0.0.1 is in use: choose another --port, or omit --port\n"


def test_an_invalid_directory_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    error = refusal(capsys, f"--data={tmp_path / 'file' / 'data'}")
    assert "as cluster directory: Not a directory: grant access, or choose another folder" in error


def test_data_of_a_newer_version_is_reported_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(tmp_path / "store.db")) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute("PRAGMA user_version = 999")
        db.execute("CREATE TABLE t (x)")
    error = refusal(capsys, f"--data={tmp_path}")
    assert "written in format 999, this Kohort reads format" in error


def test_a_mistake_in_the_configuration_is_reported_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nnope: 1\n")
    assert f"{config}:3: nope" in refusal(capsys, f"--data={tmp_path}", f"--config={config}")


# For real


class UpRuns:
    """Runs of the command, one after the other, on one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shown = ""
        self._process: asyncio.subprocess.Process | None = None
        self._client: Client | None = None

    async def start(self, *arguments: str) -> Client:
        """Start it; returns when it reports that it is ready."""
        code = "from kohort.cli.main import main; main()"
        kubeconfig = self.folder / "kubeconfig"
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            code,
            "up",
            f"--kubeconfig={kubeconfig.name}",
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            cwd=self.folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "KOHORT_DATA": str(self.folder / "unused")},
        )
        assert self._process.stdout is not None
        self.shown = ""
        while "Press Ctrl-C to stop" not in self.shown:
            line = await self._process.stdout.readline()
            assert line, f"ended early: {self.shown}"
            self.shown += line.decode()
        # The printed commands must work in any other directory.
        assert f"  export KUBECONFIG={kubeconfig}\n" in self.shown
        self._client = Client(HttpTransport(load_client_config(ConfigOverrides(kubeconfig))))
        return self._client

    async def stop(self, number: int = signal.SIGINT) -> int:
        """Stop it as a user would, or as a crash."""
        if self._client is not None:
            await self._client.close()
            self._client = None
        if self._process is None or self._process.returncode is not None:
            return 0
        self._process.send_signal(number)
        return await self._process.wait()


@pytest.fixture
async def ups(tmp_path: Path) -> AsyncIterator[UpRuns]:
    found = UpRuns(tmp_path)
    yield found
    await found.stop(signal.SIGKILL)


def job(name: str, command: list[str] | None = None, **spec: Any) -> dict[str, Any]:
    container: dict[str, Any] = {"name": "main", "image": "none"}
    if command:
        container["command"] = command
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"template": template, **spec}}


async def until_done(client: Client, name: str) -> Job:
    def is_done(job: Job) -> bool:
        return any(each.type in ("Complete", "Failed") and each.status == "True" for each in job.status.conditions)

    return await eventually(lambda: client.of(Job).get(("default", name)), is_done)


async def output(client: Client, name: str) -> bytes:
    pods = (await client.of(Pod).list(ListScope("default", labels=f"job-name={name}"))).items
    return b"".join([await client.of(Pod).log(("default", each.metadata.name)) for each in pods])


async def test_a_job_runs_as_a_process(ups: UpRuns) -> None:
    async with asyncio.timeout(PATIENCE):
        client = await ups.start(f"--data={ups.folder / 'data'}")
        await client.of(Job.resource).create(job("hello", ["sh", "-c", "echo hello"]))
        done = await until_done(client, "hello")
        assert (done.status.succeeded, done.status.failed) == (1, 0)
        assert await output(client, "hello") == b"hello\n"
        assert await ups.stop() == 0


async def test_a_deployment_is_available_once_its_probes_pass(ups: UpRuns) -> None:
    go = ups.folder / "go"
    probe = {"exec": {"command": ["test", "-e", str(go)]}, "periodSeconds": 1, "timeoutSeconds": 10}
    container = {"name": "main", "image": "none", "command": ["sleep", "1000"], "readinessProbe": probe}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    async with asyncio.timeout(PATIENCE):
        client = await ups.start(f"--data={ups.folder / 'data'}", "--end-pods")
        await client.of(Deployment.resource).create({"metadata": {"name": "web"}, "spec": spec}, "default")
        await eventually(
            client.of(Pod).list, lambda listed: [pod.status.phase for pod in listed.items] == ["Running"] * 2
        )
        assert (await client.of(Deployment).get(("default", "web"))).status.available_replicas == 0
        go.touch()
        await eventually(
            lambda: client.of(Deployment).get(("default", "web")), lambda found: found.status.available_replicas == 2
        )
        assert await ups.stop() == 0


async def test_a_job_outlives_a_crash_of_the_control_plane(ups: UpRuns) -> None:
    go = ups.folder / "go"
    async with asyncio.timeout(PATIENCE):
        client = await ups.start(f"--data={ups.folder / 'data'}")
        waits = f"echo before; while ! test -e {go}; do sleep 0.05; done; echo after"
        await client.of(Job.resource).create(job("long", ["sh", "-c", waits], backoffLimit=0))
        await eventually(lambda: output_or_nothing(client))
        await ups.stop(signal.SIGKILL)
        go.touch()
        client = await ups.start(f"--data={ups.folder / 'data'}")
        done = await until_done(client, "long")
        assert (done.status.succeeded, done.status.failed) == (1, 0)
        assert await output(client, "long") == b"before\nafter\n"
        assert await ups.stop() == 0


async def output_or_nothing(client: Client) -> bytes:
    pods = (await client.of(Pod).list(ListScope("default", labels="job-name=long"))).items
    if not pods or pods[0].status.phase != "Running":
        return b""
    return await client.of(Pod).log(("default", pods[0].metadata.name))


async def test_simulated_nodes_by_number(ups: UpRuns) -> None:
    async with asyncio.timeout(PATIENCE):
        client = await ups.start("--ephemeral", "--nodes=20", "--node-labels=rack=r{0..3}", "--run-seconds=0.1")
        assert "20 nodes, each: cpu 8, memory 32Gi, pods 110; runtime simulated" in ups.shown
        nodes = (await client.of(Node).list()).items
        assert sorted({each.metadata.labels["rack"] for each in nodes}) == ["r0", "r1", "r2", "r3"]
        await client.of(Job.resource).create(job("wide", parallelism=40, completions=40))
        assert (await until_done(client, "wide")).status.succeeded == 40
        assert await ups.stop() == 0


def _read_until(terminal: int, text: bytes) -> None:
    """Read from a pseudoterminal, which returns what was written in any number of parts; its end is an error."""
    shown = b""
    while text not in shown:
        shown += os.read(terminal, 4096)


@pytest.mark.parametrize("way", [(), ("-d",)], ids=["in the foreground", "in the background"])
async def test_an_interrupted_start_is_reported_and_leaves_nothing_behind(tmp_path: Path, way: tuple[str, ...]) -> None:
    environment = {**os.environ, "KOHORT_DATA": str(tmp_path), "TERM": "xterm", "HOME": str(tmp_path)}
    ours, theirs = pty.openpty()
    code = "from kohort.cli.main import main; main()"
    async with asyncio.timeout(PATIENCE):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, "up", "--nodes=1", *way, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        await asyncio.to_thread(_read_until, ours, b"loading")
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130
        await asyncio.to_thread(_read_until, ours, b"stopped before the cluster was ready")
    os.close(ours)
    assert cluster_status(ClusterDirectory("kohort", tmp_path)).state is ClusterState.STOPPED
