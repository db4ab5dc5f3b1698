"""`kohort up -d`, `kohort status`, `kohort down`: clusters without a terminal, after crashes and beside each other."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kit.virtual_time import eventually, eventually_true
from kohort.api.core.batch import Job
from kohort.api.core.pods import Pod
from kohort.api.kueue.v1beta2 import Workload
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.http import HttpTransport
from kohort.kube.options import ListScope

PATIENCE = 240
UP_SECONDS = 5.0
"""The promise: from `kohort up` to the first admitted job."""
CODE = "from kohort.cli.main import main; main()"
QUEUE = "kueue.x-k8s.io/queue-name"
pytestmark = pytest.mark.waits


class Shell:
    """Runs commands with a data directory of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def kubeconfig(self) -> Path:
        """The file that kubectl uses."""
        return self.root / "home" / ".kube" / "config"

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        """Exit code, output and errors of a command."""
        environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            CODE,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**environment, "KOHORT_DATA": str(self.root), "HOME": str(self.root / "home")},
        )
        out, errors = await process.communicate()
        return process.returncode or 0, out.decode(), errors.decode()

    async def must(self, *arguments: str) -> str:
        """The output of a command that succeeds."""
        code, out, errors = await self.run(*arguments)
        assert code == 0, errors
        return out

    async def status(self) -> list[dict[str, Any]]:
        """The output of `kohort status` for all clusters."""
        found: list[dict[str, Any]] = json.loads(await self.must("status", "-o", "json"))["items"]
        return found


@pytest.fixture
async def shell(tmp_path: Path) -> AsyncIterator[Shell]:
    found = Shell(tmp_path / "data")
    yield found
    await found.run("down", "--all")


@asynccontextmanager
async def client_of(kubeconfig: str) -> AsyncIterator[Client]:
    client = Client(HttpTransport(load_client_config(ConfigOverrides(Path(kubeconfig)))))
    try:
        yield client
    finally:
        await client.close()


def job(name: str, script: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "command": ["sh", "-c", script]}
    container |= {"resources": {"requests": {"cpu": "100m"}}}  # type: ignore[dict-item]
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": name, "namespace": "default", "labels": {QUEUE: "default"}}
    return {"metadata": metadata, "spec": {"template": template, "backoffLimit": 0}}


async def output(client: Client, name: str) -> bytes:
    """What the pods of a job have written, all of them."""
    pods = (await client.of(Pod).list(ListScope("default", labels=f"job-name={name}"))).items
    started = [each for each in pods if each.status.phase != "Pending"]
    return b"".join([await client.of(Pod).log(("default", each.metadata.name)) for each in started])


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def eventually_equal(read: Callable[[], Awaitable[object]], expected: object) -> None:
    await eventually(read, lambda found: found == expected, timeout=PATIENCE)


async def eventually_crashed(shell: Shell) -> None:
    await eventually(shell.status, lambda clusters: clusters[0]["state"] == "Crashed", timeout=PATIENCE)


async def test_a_cluster_starts_is_seen_and_stops(shell: Shell) -> None:
    async with asyncio.timeout(PATIENCE):
        printed = await shell.must("up", "-d", "--starter", "--nodes=3", "--name=lab")
        (found,) = await shell.status()
        assert (found["name"], found["state"], found["nodes"]) == ("lab", "Running", 3)
        assert f"kohort-lab is ready at {found['address']}\n" in printed
        assert f"  export KUBECONFIG={found['kubeconfig']}\n" in printed
        assert "Stop it with `kohort down --name lab`" in printed
        code, _, refused = await shell.run("up", "-d", "--name=lab")
        assert code == 1
        assert refused.startswith(
            f"kohort: cluster lab is already running at {found['address']} (pid {found['pid']}, since "
        )
        assert refused.count("\n") == 1
        assert await shell.must("down", "--all") == "lab stopped; pods are simulated\n"
        assert (await shell.status())[0]["state"] == "Stopped"
        assert await shell.must("down", "--name=lab") == "lab is not running\n"


async def test_a_job_in_its_queue_outlives_a_killed_daemon_and_runs_once(shell: Shell, tmp_path: Path) -> None:
    go, runs = tmp_path / "go", tmp_path / "runs"
    script = f"echo before; touch {runs}; while ! test -e {go}; do sleep 0.05; done; echo after"
    async with asyncio.timeout(PATIENCE):
        await shell.must("up", "-d", "--starter")
        (found,) = await shell.status()
        async with client_of(found["kubeconfig"]) as client:
            await client.of(Job.resource).create(job("long", script))
            # No requests meanwhile: the longer that takes, the more of the cluster's time would go into responses.
            await eventually_true(runs.exists, timeout=PATIENCE)
            # From nothing to a first job that runs, in seconds of CPU: what a quiet machine takes.
            assert cpu_seconds(found["pid"]) < UP_SECONDS
            await eventually_equal(lambda: output(client, "long"), b"before\n")
        os.kill(found["pid"], signal.SIGKILL)
        await eventually_crashed(shell)
        go.touch()
        await shell.must("up", "-d")
        (again,) = await shell.status()
        assert again["address"] == found["address"]
        async with client_of(again["kubeconfig"]) as client:

            async def finished() -> list[bool]:
                workloads = (await client.of(Workload).list()).items
                conditions = [{each.type: each.status for each in one.status.conditions} for one in workloads]
                return [each.get("Finished") == "True" for each in conditions]

            await eventually_equal(finished, [True])
            done = await client.of(Job).get(("default", "long"))
            assert (done.status.succeeded, done.status.failed) == (1, 0)
            assert await output(client, "long") == b"before\nafter\n"
        assert await shell.must("down") == "kohort stopped; no running pods\n"


async def test_a_failed_start_is_reported_in_one_line_by_the_foreground_command(shell: Shell) -> None:
    async with asyncio.timeout(PATIENCE):
        code, out, errors = await shell.run("up", "-d", "--nodes=0")
        assert (code, out) == (2, "")
        assert errors == "kohort: error: 0 nodes: give a number from 1 to 50000\n"
        assert (await shell.status())[0]["state"] == "Stopped"


async def test_a_cluster_that_was_never_started_can_not_be_stopped(shell: Shell) -> None:
    async with asyncio.timeout(PATIENCE):
        code, _, errors = await shell.run("down", "--name=lab")
        assert (code, "cluster lab not found in" in errors) == (1, True)
        assert await shell.must("down", "--all") == "no running clusters\n"
        assert await shell.must("status") == "no local clusters found (start one with `kohort up`)\n"


async def test_one_that_keeps_nothing_runs_in_the_background_too_and_leaves_nothing(shell: Shell) -> None:
    async with asyncio.timeout(PATIENCE):
        printed = await shell.must("up", "-d", "--ephemeral", "--starter", "--name=try")
        assert "Stop it with `kohort down --name try`; state and pods are deleted on exit" in printed
        (found,) = await shell.status()
        async with client_of(found["kubeconfig"]) as client:
            await client.of(Job.resource).create(job("long", "echo before; sleep 1000"))
            await eventually_equal(lambda: output(client, "long"), b"before\n")
        message = "try stopped; 1 pod terminated; data deleted\n"
        assert await shell.must("down", "--name=try") == message
        assert await shell.status() == []
        assert not Path(found["kubeconfig"]).exists()
        code, _, errors = await shell.run("down", "--name=try")
        assert (code, "cluster try not found in" in errors) == (1, True)


async def test_one_that_keeps_nothing_leaves_what_another_of_its_name_has_kept(shell: Shell) -> None:
    async with asyncio.timeout(PATIENCE):
        await shell.must("up", "-d", "--starter", "--nodes=1")
        await shell.must("down")
        assert "created Topology, ResourceFlavor" in await shell.must(
            "up", "-d", "--ephemeral", "--starter", "--nodes=1"
        )
        code, _, errors = await shell.run("up", "-d")
        assert (code, "cluster kohort is already running at" in errors) == (1, True)
        await shell.must("down")
        assert (await shell.status())[0]["state"] == "Stopped"
        assert "already exists" in await shell.must("up", "-d", "--starter", "--nodes=1")


async def test_a_start_reports_how_the_previous_run_ended(shell: Shell) -> None:
    async with asyncio.timeout(PATIENCE):
        await shell.must("up", "-d", "--starter")
        (found,) = await shell.status()
        async with client_of(found["kubeconfig"]) as client:
            await client.of(Job.resource).create(job("long", "echo before; sleep 1000"))
            await eventually_equal(lambda: output(client, "long"), b"before\n")
        await shell.must("down")
        _, _, remark = await shell.run("status")
        assert remark == "kohort: 1 pod left running\n"
        assert "  pods of the previous run: 1 running\n" in await shell.must("up", "-d")
        os.kill((await shell.status())[0]["pid"], signal.SIGKILL)
        printed = await shell.must("up", "-d", "--end-pods")
        assert "  previous run ended unexpectedly: process killed\n  pods of the previous run: 1 running\n" in printed


ELSEWHERE = """\
apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: prod
  cluster: {server: "https://127.0.0.1:9"}
contexts:
- name: prod
  context: {cluster: prod, user: me}
users:
- name: me
  user: {token: "0123"}
"""


def use_elsewhere(shell: Shell) -> None:
    """A user whose kubeconfig points to another cluster."""
    shell.kubeconfig.parent.mkdir(parents=True)
    shell.kubeconfig.write_text(ELSEWHERE)


async def test_commands_after_a_merge_reach_the_new_cluster_until_it_is_stopped(shell: Shell) -> None:
    use_elsewhere(shell)
    async with asyncio.timeout(PATIENCE):
        printed = await shell.must("up", "-d", "--starter", "--nodes=1", "--merge-kubeconfig")
        assert "  kohort is now the current context of kubectl; prod is restored on exit\n" in printed
        assert "  kubectl get nodes\n  kohort submit --cpu 1 --follow -- echo hello\n" in printed
        assert "job.batch/hello created" in await shell.must("submit", "--cpu=1", "--name=hello", "--", "true")
        message = "kohort stopped; pods are simulated\nthe current context of kubectl is prod\n"
        assert await shell.must("down") == message
        assert load_client_config(ConfigOverrides(shell.kubeconfig, "kohort")).server
        printed = await shell.must("up", "-d", "--nodes=1", "--merge-kubeconfig", "--no-use-context")
        assert "  kubectl --context kohort get nodes\n" in printed
        assert load_client_config(ConfigOverrides(shell.kubeconfig)).server == "https://127.0.0.1:9"


async def test_a_killed_cluster_restores_the_current_context_when_it_is_stopped(shell: Shell) -> None:
    use_elsewhere(shell)
    async with asyncio.timeout(PATIENCE):
        await shell.must("up", "-d", "--nodes=1", "--merge-kubeconfig")
        os.kill((await shell.status())[0]["pid"], signal.SIGKILL)
        await eventually_crashed(shell)
        assert await shell.must("down") == "kohort is not running\nthe current context of kubectl is prod\n"
        # One that keeps nothing, killed and started anew under another name: nothing of it stays.
        await shell.must("up", "-d", "--nodes=1", "--merge-kubeconfig", "--ephemeral", "--name=try")
        pid = next(each["pid"] for each in await shell.status() if each["name"] == "try")
        os.kill(pid, signal.SIGKILL)
        await shell.must("up", "-d", "--nodes=1", "--ephemeral", "--name=try")
        assert "kohort-try" not in shell.kubeconfig.read_text()
        assert load_client_config(ConfigOverrides(shell.kubeconfig)).server == "https://127.0.0.1:9"


async def test_a_context_of_another_cluster_is_a_reason_not_to_start(shell: Shell) -> None:
    use_elsewhere(shell)
    before = ELSEWHERE.replace("prod", "kohort")
    shell.kubeconfig.write_text(before)
    async with asyncio.timeout(PATIENCE):
        code, out, errors = await shell.run("up", "-d", "--nodes=1", "--merge-kubeconfig")
        assert (code, out, errors.count("\n")) == (2, "", 1)
        assert "context kohort already exists and belongs to another cluster: choose another --name" in errors
        assert shell.kubeconfig.read_text() == before
