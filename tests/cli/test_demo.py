"""`kohort demo`: two teams wait, start, borrow, return quota and finish, and nothing is left behind."""

import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import cast

import pytest
from click.testing import CliRunner

from kit.virtual_time import eventually
from kohort.api.core.batch import Job
from kohort.api.resource import Resource
from kohort.cli.main import cli
from kohort.kube.client import Client
from kohort.kube.errors import LostResponseError, StatusError
from kohort.local.demo.folder import demo_folder, remove_killed_demos
from kohort.local.demo.script import create_after_stalls

PATIENCE = 300
CODE = "from kohort.cli.main import main; main()"
pytestmark = pytest.mark.waits


async def start(folder: Path) -> asyncio.subprocess.Process:
    """The demo without a terminal, with a home and a place for temporary files of its own."""
    (folder / "tmp").mkdir(exist_ok=True)
    (folder / "home").mkdir(exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(folder / "tmp"), "HOME": str(folder / "home")}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", CODE, "demo", stdout=asyncio.subprocess.PIPE, env=environment, cwd=folder
    )


async def wait_for_output(process: asyncio.subprocess.Process, text: str) -> None:
    """Read what the demo prints up to a line with this text."""
    assert process.stdout is not None
    while text.encode() not in (line := await process.stdout.readline()):
        assert line, "ended early"


def files_of(folder: Path) -> list[str]:
    """Files of the demo."""
    return [str(each) for place in ("tmp", "home") for each in (folder / place).iterdir()]


def processes_of(folder: Path) -> list[str]:
    """Processes that were started by the demo."""
    return [each.name for each in Path("/proc").glob("[0-9]*") if str(folder) in _environment(each)]


async def nothing_is_left(folder: Path) -> None:
    """Files are gone at once; processes that have recorded the end of their pods end on their own."""
    assert files_of(folder) == []

    async def processes() -> list[str]:
        return processes_of(folder)

    await eventually(processes, lambda found: not found, "processes were left behind")


def _environment(process: Path) -> str:
    try:
        return (process / "environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_the_help_describes_the_command() -> None:
    result = CliRunner().invoke(cli, ["demo", "--help"], prog_name="kohort")
    assert (result.exit_code, "kohort demo | cat" in result.output) == (0, True)


async def test_two_teams_borrow_return_quota_and_finish(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        process = await start(tmp_path)
        assert process.stdout is not None
        text = (await process.stdout.read()).decode()
        assert await process.wait() == 0
    borrowed, rest = text.partition("product submits two jobs")[::2]
    given_back, borrowed_again = rest.partition("The jobs of product finish.")[::2]
    assert borrowed.count(" admitted, starting\n") == 4
    assert "research/train-5   queued" in borrowed
    assert given_back.count("preempted, back in the queue") == 2
    assert (given_back.count(" admitted, starting\n"), given_back.count(" finished\n")) == (2, 0)
    assert (borrowed_again.count(" admitted, starting\n"), borrowed_again.count(" finished\n")) == (3, 7)
    assert "All seven jobs have finished." in borrowed_again
    await nothing_is_left(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_nothing_is_left_after_an_interruption(tmp_path: Path, number: signal.Signals) -> None:
    async with asyncio.timeout(PATIENCE):
        process = await start(tmp_path)
        await wait_for_output(process, "train-4")
        process.send_signal(number)
        rest = await process.stdout.read()  # type: ignore[union-attr]
        assert await process.wait() == 130
    assert b"stopped; cluster, jobs and files removed\n" in rest
    await nothing_is_left(tmp_path)


async def test_what_a_killed_demo_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        killed = await start(tmp_path)
        await wait_for_output(killed, "admitted, starting")
        killed.kill()
        await killed.wait()
        assert files_of(tmp_path) != []
        following = await start(tmp_path)
        await wait_for_output(following, "Two teams")
        following.send_signal(signal.SIGINT)
        assert await following.wait() == 130
    await nothing_is_left(tmp_path)


class ScriptedClient:
    """A client whose creates end as listed."""

    def __init__(self, *outcomes: Exception | None) -> None:
        self.outcomes = list(outcomes)

    def of(self, _resource: Resource) -> "ScriptedClient":
        return self

    async def create(self, _wanted: object) -> None:
        if error := self.outcomes.pop(0):
            raise error


TIMED_OUT = StatusError(500, "InternalError", 'failed calling webhook "mjob.kb.io": context deadline exceeded')
EXISTS = StatusError(409, "AlreadyExists", "it is there")
REFUSED = StatusError(422, "Invalid", "no")


@pytest.mark.parametrize("outcomes", [(TIMED_OUT, None), (LostResponseError("no answer"), EXISTS)])
async def test_a_stall_longer_than_the_timeout_of_a_webhook_repeats_the_create(
    outcomes: tuple[Exception | None, ...],
) -> None:
    client = ScriptedClient(*outcomes)
    await create_after_stalls(cast("Client", client), Job.resource, {})
    assert client.outcomes == []


@pytest.mark.parametrize("outcomes", [(REFUSED,), (TIMED_OUT,) * 5])
async def test_a_create_is_retried_a_limited_number_of_times(outcomes: tuple[Exception, ...]) -> None:
    with pytest.raises(StatusError, match=str(outcomes[-1])):
        await create_after_stalls(cast("Client", ScriptedClient(*outcomes)), Job.resource, {})


async def test_a_demo_that_runs_keeps_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with demo_folder() as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        await remove_killed_demos()
        folder.release("research")
    assert list(tmp_path.iterdir()) == []
