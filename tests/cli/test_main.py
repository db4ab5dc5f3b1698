"""The `kohort` command starts fast, and every failure is one line with an exit code, never a traceback."""

import os
import subprocess
import sys

import click
import pytest

from kohort import __version__
from kohort.api.errors import ApiError
from kohort.cli.main import COMMANDS, LazyCommand, main

SLOW_TO_IMPORT = {
    "aiohttp",
    "cryptography",
    "importlib.metadata",
    "yaml",
    "kohort.api.config.loading",
    "kohort.api.manifests.checking",
    "kohort.controllers.context",
    "kohort.embedded.server",
    "kohort.engine.engine",
    "kohort.jobs.builtin",
}
PROGRAM = "from kohort.cli.main import main; main"
BUFFERED = """
import click
from kohort.cli.main import COMMANDS, LazyCommand, main
COMMANDS["talk"] = LazyCommand("__main__:talk", "Prints and leaves the rest to others.")
talk = click.command("talk")(lambda: print("a word"))
main(["talk"])
"""


def exit_code(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return left.value.code


# Commands that end badly, as `kohort <name>`


@click.command()
def refusal() -> None:
    raise ApiError("ClusterQueue a:\n spec is wrong")


@click.command()
def full_disk() -> None:
    raise OSError(28, "No space left on device", "/var/out.yaml")


@click.command()
def misfortune() -> None:
    raise click.ClickException("no cluster lab")


@click.command()
def impatience() -> None:
    raise KeyboardInterrupt


@click.command()
def verdict() -> None:
    sys.exit(7)


@pytest.fixture(autouse=True)
def _bad_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("refusal", "full_disk", "misfortune", "impatience", "verdict"):
        monkeypatch.setitem(COMMANDS, name, LazyCommand(f"{__name__}:{name}", "Ends badly."))


def test_an_error_of_the_users_is_one_line_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("refusal") == 2
    assert capsys.readouterr() == ("", "kohort: error: ClusterQueue a: spec is wrong\n")


def test_an_error_of_the_system_names_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("full_disk") == 2
    assert capsys.readouterr().err == "kohort: error: /var/out.yaml: No space left on device\n"


def test_errors_found_by_a_command_have_the_same_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("misfortune") == 1
    assert capsys.readouterr().err == "kohort: error: no cluster lab\n"


def test_signs_that_a_terminal_lacks_are_no_reason_to_fail() -> None:
    program = f"{PROGRAM}(['up', '--help'])"
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"RESOURCE=AMOUNT,?" in done.stdout


def test_ctrl_c_ends_with_130_and_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("impatience") == 130
    assert capsys.readouterr().err.strip() == ""


def test_the_exit_code_of_a_command_is_kept() -> None:
    assert exit_code("verdict") == 7


def test_an_unknown_command_gets_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("nonsense") == 2
    assert "No such command 'nonsense'" in capsys.readouterr().err


@pytest.mark.parametrize("program", [f"{PROGRAM}(['--help'])", BUFFERED], ids=["flushed", "buffered"])
def test_a_closed_pipe_is_not_reported(program: str) -> None:
    env = {**os.environ, "PYTHONUNBUFFERED": ""}
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as broken_pipe:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=broken_pipe, stderr=subprocess.PIPE, env=env, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--version") == 0
    assert capsys.readouterr().out == f"kohort {__version__}\n"


def test_help_lists_every_command_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--help") == 0
    output = capsys.readouterr().out
    assert all(name in output and command.summary in output for name, command in COMMANDS.items())


def test_help_imports_nothing_that_only_commands_need() -> None:
    program = "import sys\nfrom kohort.cli.main import main\ntry:\n main(['--help'])\nfinally:\n print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "click" in loaded
    assert {"msgspec", "yaml", "kohort.api.schema", "kohort.cli.crds", "kohort.cli.validate"} & loaded == set()


def test_commands_on_jobs_import_neither_the_engine_nor_servers() -> None:
    names = ("cancel", "hold", "logs", "move", "queue", "resume", "status", "submit", "up")
    program = (
        "import sys\nfrom kohort.cli.main import COMMANDS\n"
        f"for name in {names}:\n COMMANDS[name].load()\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "kohort.cli.submit" in loaded
    assert SLOW_TO_IMPORT & loaded == set()


@pytest.mark.parametrize("name", ["crds", "validate"])
def test_every_command_can_be_loaded(name: str) -> None:
    assert COMMANDS[name].load().name == name
