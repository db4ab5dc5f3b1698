"""`kohort manager` from the command line: mistakes in one line, work until SIGTERM, a clean end in bounded time."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.ports import free_port
from kohort.api.config.loading import Loaded
from kohort.api.config.parsing import ParsingContext
from kohort.api.core.leases import Lease
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey
from kohort.cli import manager as command
from kohort.cli.main import cli, main
from kohort.embedded.control_plane import ControlPlane
from kohort.manager.crds import WhenMissing, ensure_crds
from manager.managers import LOOPBACK, NAMESPACE, admitted, create, running_plane

PATIENCE = 60.0


def test_the_help_has_examples() -> None:
    result = CliRunner().invoke(cli, ["manager", "--help"], prog_name="kohort")
    assert result.exit_code == 0
    assert "kohort manager --config controller_manager_config.yaml" in result.output


@pytest.mark.usefixtures("own_logging")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--kubeconfig", "/no/such/file"), "no kubeconfig found at /no/such/file"),
        (("--config", "/no/such/file"), "/no/such/file: No such file"),
        (("--feature-gates", "NoSuchGate=true"), "NoSuchGate"),
        (("--visibility-bind-address", "invalid"), '--visibility-bind-address: "invalid" is not a valid address'),
    ],
)
def test_a_mistake_is_reported_in_one_line(
    arguments: tuple[str, ...], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["manager", "--log-format", "json", *arguments])
    error = capsys.readouterr().err
    assert (left.value.code, error.count("\n")) == (2, 1)
    assert why in error


@pytest.mark.usefixtures("own_logging")
@pytest.mark.parametrize(("arguments", "compat"), [((), ""), (("--compat", "v0.19"), "v0.19")])
def test_the_configuration_is_read_with_the_defaults_of_the_release(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], compat: str
) -> None:
    asked: list[str] = []

    def load(_file: Path | None, surroundings: ParsingContext) -> Loaded:
        asked.append(surroundings.compat)
        raise ApiError("enough")

    monkeypatch.setattr(command, "load_configuration", load)
    with pytest.raises(SystemExit):
        main(["manager", *arguments])
    assert asked == [compat]


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with running_plane() as found:
        yield found


class Run:
    """The command as a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, webhook_port: int) -> None:
        self.process = process
        self.webhook_port = webhook_port
        self.lines: list[str] = []

    async def until(self, words: str) -> None:
        """Read what it logs up to a line with these words."""
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while line := (await self.process.stderr.readline()).decode():
                self.lines.append(line)
                if words in line:
                    return
        raise AssertionError("".join(self.lines))

    async def rest(self) -> str:
        """All that is left to read, and the end."""
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            self.lines.append((await self.process.stderr.read()).decode())
            await self.process.wait()
        return "".join(self.lines)


async def start(plane: ControlPlane, *arguments: str, kubeconfig: Path | None = None) -> Run:
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from kohort.cli.main import main; main()",
        *("manager", "--kubeconfig", str(kubeconfig or plane.server.kubeconfig), "--log-format", "console"),
        *("--webhook-port", str(port), "--webhook-url", f"https://{LOOPBACK}:{port}"),
        *("--metrics-bind-address", f"{LOOPBACK}:0", "--health-probe-bind-address", f"{LOOPBACK}:0"),
        *("--visibility-bind-address", f"{LOOPBACK}:{free_port()}"),
        *arguments,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    return Run(process, port)


OF_KUEUE = """
apiVersion: config.kueue.x-k8s.io/v1beta1
kind: Configuration
leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}
manageJobsWithoutQueueName: false
waitForPodsReady: {enable: false}
integrations: {frameworks: [batch/job, workload.codeflare.dev/appwrapper, sparkoperator.k8s.io/sparkapplication]}
"""


async def test_it_runs_with_the_configuration_file_of_kueue_until_it_is_stopped(
    plane: ControlPlane, tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(OF_KUEUE)
    run = await start(plane, "--install-crds", "--config", str(file))
    await run.until("sparkoperator.k8s.io/sparkapplication has no effect while feature gate")
    await run.until("started controllers")
    client = plane.client("user")
    await create(client, make_resource_flavor(), make_cluster_queue("q", "1"), make_local_queue("lq", "q"))
    await create(client, make_workload("w", "lq"))
    await admitted(client, "w")
    run.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(60):
        error = await run.rest()
    assert run.process.returncode == 0, error
    assert "Traceback" not in error
    lease = await client.of(Lease).get(ObjectKey(NAMESPACE, "c1f6bfd2.kueue.x-k8s.io"))
    assert lease.spec.holder_identity == "", "the next one need not wait"


async def test_it_can_be_stopped_while_it_waits(plane: ControlPlane) -> None:
    run = await start(plane, "--wait-for-crds")
    await run.until("waiting for CRDs")
    run.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(60):
        error = await run.rest()
    assert (run.process.returncode, "Traceback" in error) == (0, False), error


async def test_without_definitions_it_prints_what_to_run(plane: ControlPlane) -> None:
    run = await start(plane)
    error = await run.rest()
    assert run.process.returncode == 2
    assert "kohort: error: CRDs not found: AdmissionCheck" in error.splitlines()[-1]


async def test_missing_permissions_are_listed(plane: ControlPlane, tmp_path: Path) -> None:
    await ensure_crds(plane.client("admin"), NAMESPACE, "kueue-webhook-service", WhenMissing.INSTALL)
    config = yaml.safe_load(plane.server.kubeconfig.read_text())
    config["users"][0]["user"]["as"] = "bob"
    weak = tmp_path / "weak.conf"
    weak.write_text(yaml.safe_dump(config))
    run = await start(plane, kubeconfig=weak)
    error = await run.rest()
    assert run.process.returncode == 2
    assert "kohort: error: missing permissions: list admissionchecks.kueue.x-k8s.io" in error.splitlines()[-1]
