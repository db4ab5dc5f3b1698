"""`kohort demo`: two teams wait, start, borrow, give back and finish, and nothing stays behind."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.main import cli

PATIENCE = 300
CODE = "from kohort.cli.main import main; main()"


async def start(folder: Path) -> asyncio.subprocess.Process:
    """The demo without a terminal, with a home and a place for temporary files of its own."""
    (folder / "tmp").mkdir()
    (folder / "home").mkdir()
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(folder / "tmp"), "HOME": str(folder / "home")}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", CODE, "demo", stdout=asyncio.subprocess.PIPE, env=environment, cwd=folder
    )


def left_behind(folder: Path) -> list[str]:
    """Files of the demo, and processes that were started by it."""
    files = [str(each) for place in ("tmp", "home") for each in (folder / place).iterdir()]
    return files + [each.name for each in Path("/proc").glob("[0-9]*") if str(folder) in _environment(each)]


def _environment(process: Path) -> str:
    try:
        return (process / "environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_the_help_says_what_it_does() -> None:
    result = CliRunner().invoke(cli, ["demo", "--help"], prog_name="kohort")
    assert (result.exit_code, "kohort demo | cat" in result.output) == (0, True)


async def test_two_teams_borrow_give_back_and_finish(tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE):
        process = await start(tmp_path)
        assert process.stdout is not None
        told = (await process.stdout.read()).decode()
        assert await process.wait() == 0
    borrowed, given_back = told.partition("product queues two jobs")[::2]
    assert borrowed.count(" starts\n") == 4
    assert "research/train-5   waits" in borrowed
    assert given_back.count("stops, gives its quota back and waits again") == 2
    assert told.count(" is finished\n") == 7
    assert "All seven jobs are finished." in told
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_nothing_stays_when_it_is_stopped_half_way(tmp_path: Path, number: signal.Signals) -> None:
    async with asyncio.timeout(PATIENCE):
        process = await start(tmp_path)
        assert process.stdout is not None
        while b"train-4" not in (line := await process.stdout.readline()):
            assert line, "ended early"
        process.send_signal(number)
        rest = await process.stdout.read()
        assert await process.wait() == 130
    assert b"stopped; the cluster, its jobs and its files are removed\n" in rest
    assert left_behind(tmp_path) == []
