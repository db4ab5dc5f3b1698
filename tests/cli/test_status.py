"""`kohort status` on terminals of any width, and for clusters that do not run."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from kohort.cli.main import cli
from kohort.cli.status import table_lines
from kohort.local.cluster_list import ClusterStats, ListedCluster
from kohort.local.directories import ClusterDirectory, cluster_directory
from kohort.local.runs import CleanShutdown, ClusterLock, ClusterRun, ClusterState, ClusterStatus, PodsAfterStop, now
from kohort.terminal.screen import Screen

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)


def running(name: str) -> ListedCluster:
    run = ClusterRun(pid=1, since=NOW - timedelta(minutes=4), url="https://127.0.0.1:46361")
    return ListedCluster(
        ClusterDirectory(name, Path("/data")), ClusterStatus(ClusterState.RUNNING, run), ClusterStats(1, 2, 7)
    )


def test_on_a_wide_screen_everything_is_there() -> None:
    assert table_lines([running("lab")], NOW, Screen(120)) == [
        "NAME   STATE     ADDRESS                   CONTEXT      SINCE   NODES   RUNNING   PENDING",
        "lab    Running   https://127.0.0.1:46361   kohort-lab      4m       1         2         7",
    ]


@pytest.mark.parametrize(("keeps", "more"), [(True, ""), (False, " --ephemeral")])
def test_the_command_to_start_it_again_is_printed_as_it_is_typed(
    keeps: bool, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOHORT_DATA", str(tmp_path))
    claim = ClusterLock.take(cluster_directory("lab"))
    claim.release()
    claim.write(ClusterRun(pid=1, since=now(), keeps=keeps))
    result = CliRunner().invoke(cli, ["status"], prog_name="kohort")
    assert result.stderr.endswith(f"; start it with `kohort up -d --name lab{more}`\n")


def test_on_a_narrow_screen_the_address_is_whole_and_the_context_left_out() -> None:
    lines = table_lines([running("lab")], NOW, Screen(80))
    assert lines[1].startswith("lab    Running   https://127.0.0.1:46361")
    assert (max(map(len, lines)) <= 80, "CONTEXT" in lines[0]) == (True, False)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (ClusterRun(pid=1, since=now(), ended=CleanShutdown(now(), 0)), ""),
        (
            ClusterRun(pid=1, since=now(), ended=CleanShutdown(now(), 2)),
            "lab: 2 pods left running\n",
        ),
        (
            ClusterRun(pid=1, since=now(), ended=CleanShutdown(now(), 2), boot="another"),
            "lab: machine rebooted since, so running pods are lost\n",
        ),
        (
            ClusterRun(pid=1, since=now(), pods=PodsAfterStop.SIMULATED),
            "lab: ended unexpectedly; pods are simulated; ",
        ),
        (
            ClusterRun(pid=1, since=now()),
            "lab: ended unexpectedly; pods are left running and adopted at the next start",
        ),
        (
            ClusterRun(pid=1, since=now(), keeps=False),
            "lab: ended unexpectedly; pods are left running and terminated at the next start",
        ),
    ],
)
def test_the_state_of_pods_is_printed(
    run: ClusterRun, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KOHORT_DATA", str(tmp_path))
    claim = ClusterLock.take(cluster_directory("lab"))
    claim.release()
    claim.write(run)
    result = CliRunner().invoke(cli, ["status"], prog_name="kohort")
    assert (result.exit_code, result.stderr.startswith(message), bool(result.stderr)) == (0, True, bool(message))
