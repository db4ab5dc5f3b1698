"""Shell completion, and kubectl's plugins: the same commands under other names."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cli.clusters import Cluster
from kit.commands import run_command
from kohort.cli import plugin
from kohort.cli.kueuectl.main import kueuectl
from kohort.cli.main import main
from kohort.cli.name_completion import complete_queues

BASH = shutil.which("bash")


@pytest.mark.parametrize(
    ("shell", "words"), [("bash", "complete -o nosort -F"), ("zsh", "compdef"), ("fish", "complete ")]
)
def test_each_shell_gets_its_lines(shell: str, words: str) -> None:
    answer = run_command(main, ["completion", shell])
    assert (answer.code, answer.err) == (0, "")
    assert words in answer.out
    assert "_KOHORT_COMPLETE" in answer.out


def completed(line: str, **environment: str) -> list[str]:
    """What bash would offer behind a line."""
    words = line.split(" ")
    given = {"_KOHORT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    code = "from kohort.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **given, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    return [each.partition(",")[2] for each in done.stdout.split()]


def test_commands_and_options_are_completed() -> None:
    assert completed("kohort su") == ["submit"]
    assert completed("kohort submit --pri") == ["--priority"]
    assert completed("kohort completion ") == ["bash", "zsh", "fish"]


def test_names_come_from_the_cluster(queues: Cluster) -> None:
    config = str(queues.kubeconfig)
    assert completed("kohort submit --queue team-", KUBECONFIG=config) == ["team-a", "team-b", "team-c"]
    assert completed(f"kohort submit --kubeconfig {config} --priority h") == ["high"]


def test_without_a_cluster_nothing_is_completed_and_nothing_is_printed(tmp_path: Path) -> None:
    broken = tmp_path / "kubeconfig"
    broken.write_text("nonsense: [")
    assert completed("kohort submit --queue ", KUBECONFIG=str(broken)) == []


def test_a_completion_never_fails() -> None:
    context = click.Context(click.Command("submit"))
    context.params = {"kubeconfig": Path("/no/such/file")}
    assert complete_queues(context, click.Option(["--queue"]), "") == []


@pytest.mark.skipif(BASH is None, reason="no bash here")
def test_bash_takes_the_lines(tmp_path: Path) -> None:
    script = tmp_path / "kohort"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from kohort.cli.main import main; main()" "$@"\n')
    script.chmod(0o755)
    lines = run_command(main, ["completion", "bash"]).out
    ask = f"{lines}\nCOMP_WORDS=(kohort ca); COMP_CWORD=1; _kohort_completion kohort; echo ${{COMPREPLY[@]}}"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([str(BASH), "-c", ask], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "cancel\n", done


# Plugins


def test_the_plugin_is_the_same_under_another_name() -> None:
    answer = run_command(plugin.main, ["submit", "--help"])
    assert answer.out.startswith("Usage: kubectl kohort submit [OPTIONS]")
    assert "  kubectl kohort submit --queue team-a" in answer.out
    assert run_command(main, ["submit", "--help"]).out.count("kubectl kohort") == 0
    assert run_command(plugin.main, ["submit", "--dry-run=client", "--cpu", "x", "--", "true"]).err.startswith(
        "no --image"
    )
    assert "submit" in run_command(plugin.main, ["--help"]).out


def test_kubectl_gets_the_completions_of_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    plugin.print_completions(plugin.plugin, ["ho"])
    assert capsys.readouterr().out == "hold\tHold jobs or queues\n:4\n"
    plugin.print_completions(kueuectl, ["list", "cl"])
    assert capsys.readouterr().out == "clusterqueue\tList ClusterQueues\n:4\n"
    plugin.print_completions(plugin.plugin, [])
    assert "submit\tSubmit a command as a Job\n" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here")
def test_kubectl_finds_the_plugin(queues: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "kubectl-kohort"
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from kohort.cli.plugin import main; main()" "$@"\n')
    file.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "KUBECONFIG": str(queues.kubeconfig)}
    line = ["kubectl", "kohort", "submit", "-q", "taem-a", "--cpu", "1", "--", "true"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert "kubectl kohort: error: LocalQueue 'taem-a' not found" in done.stderr
