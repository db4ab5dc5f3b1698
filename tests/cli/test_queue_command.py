"""`kohort queue` lists pending and running workloads as text and JSON, and suggests corrections of misspelt names."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from insight.cluster_access import grant_read, in_namespace, unprivileged_user, wait_for_admission
from kit.apiserver import running_apiserver
from kit.builders.core import make_namespace
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.commands import CommandRunner, running_command_runner
from kit.kueue_apiserver import running_kueue_apiserver
from kit.manager import running_manager_harness
from kohort.api.meta import ObjectKey
from kohort.cli.options import OutputFormat
from kohort.cli.queue_table import QueueTableFormat, render_queues
from kohort.insight.list_views import VisibilityPosition
from kohort.insight.queues import OwningJob, QueueListing, WorkloadRow, WorkloadState
from kohort.terminal.glyphs import UNICODE
from kohort.terminal.screen import Screen

PATIENCE = 60
PROGRAM = "from kohort.cli.main import main; main()"
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
GPUS = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "2"}
WAITS = WorkloadRow(
    ObjectKey("ml", "job-train-llama-7b-5d3a1"),
    OwningJob("batch/v1", "Job", "train-llama-7b"),
    "team-a",
    "gpus",
    WorkloadState.WAITING,
    100,
    GPUS,
    (),
    NOON - timedelta(minutes=3),
    VisibilityPosition(4, 0),
    "Pending",
    "insufficient unused quota for nvidia.com/gpu in flavor a100, 2 more needed",
    "2 more gpu needed in a100",
)
RUNS = WorkloadRow(
    ObjectKey("ml", "job-etl-1b2c3"),
    OwningJob("batch/v1", "Job", "etl"),
    "team-a",
    "gpus",
    WorkloadState.ADMITTED,
    0,
    {"cpu": "500m"},
    ("a100",),
    NOON - timedelta(hours=2),
)
BOTH = QueueListing((WAITS,), (RUNS,))


def drawn(found: QueueListing, width: int | None, output: OutputFormat | None = None) -> list[str]:
    return list(
        render_queues(found, QueueTableFormat(output, shows_namespace=False), NOON)(Screen(width, glyphs=UNICODE))
    )


def test_at_80_columns_only_what_is_long_is_cut() -> None:
    assert drawn(BOTH, 80) == [
        "QUEUE   PENDING         #  PRIO  REQUESTS              AGE  REASON",
        "team-a  train-llama-7b  1   100  8 cpu, 32Gi mem, 2 …   3m  2 more gpu needed i…",
        "",
        "QUEUE    RUNNING   PRIO   USAGE      FLAVOR   DURATION   STATE",
        "team-a   etl          0   500m cpu   a100         120m   admitted",
    ]


def test_in_a_file_nothing_is_cut() -> None:
    assert drawn(BOTH, None)[1] == (
        "team-a   train-llama-7b   1    100   8 cpu, 32Gi mem, 2 gpu    3m   2 more gpu needed in a100"
    )


def test_wide_output_has_both_positions_and_whole_names() -> None:
    line = drawn(BOTH, None, OutputFormat.WIDE)[1]
    assert "job/train-llama-7b" in line
    assert "job-train-llama-7b-5d3a1" in line
    assert "1 (5)" in line
    assert "2 nvidia.com/gpu" in line


def test_an_empty_list_names_what_was_searched() -> None:
    assert drawn(QueueListing((), (), {ObjectKey("ml", "team-a"): "gpus"}), 80) == ["No workloads found in team-a"]
    assert drawn(QueueListing((), ()), 80) == ["No LocalQueues found (try -A for all namespaces)"]


async def test_all_workloads_of_the_namespace_are_listed(tmp_path: Path) -> None:
    async with running_manager_harness() as harness, running_command_runner(harness.server, tmp_path) as user:
        await harness.create(
            make_resource_flavor(),
            make_cluster_queue("cq", "2"),
            make_local_queue("lq", "cq"),
            make_workload("first", "lq", "2"),
        )
        await wait_for_admission(harness, "first")
        await harness.create(make_workload("second", "lq"), make_workload("third", "lq", priority=3))
        await harness.advance(3)
        shown = await user.run("queue")
        as_json, as_yaml = await user.run("queue", "-o", "json"), await user.run("queue", "-o", "yaml")
        names = await user.run("queue", "-o", "name", "lq")
    assert (shown.code, shown.err) == (0, "")
    assert [line.split()[:3] for line in shown.lines[1:3]] == [["lq", "third", "1"], ["lq", "second", "2"]]
    assert shown.lines[5].split()[:2] == ["lq", "first"]
    data = json.loads(as_json.out)
    assert data == yaml.safe_load(as_yaml.out)
    assert [each["name"] for each in data["waiting"]] == ["third", "second"]
    assert data["waiting"][1]["position"] == {"inLocalQueue": 2, "inClusterQueue": 2}
    assert data["running"][0]["resources"] == {"cpu": "2"}
    assert names.lines == [f"workload.kueue.x-k8s.io/{name}" for name in ("third", "second", "first")]


async def test_other_namespaces_are_listed_on_request(tmp_path: Path) -> None:
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        await cluster.create(make_namespace("other"))
        for each in (
            make_resource_flavor(),
            make_cluster_queue("cq"),
            make_cluster_queue("cq2"),
            make_local_queue("lq", "cq"),
        ):
            await cluster.create(each)
        await cluster.create(in_namespace(make_local_queue("theirs", "cq"), "other"))
        await cluster.create(in_namespace(make_local_queue("apart", "cq2"), "other"))
        await cluster.create(make_workload("mine", "lq"))
        await cluster.create(in_namespace(make_workload("his", "theirs"), "other"))
        await cluster.create(in_namespace(make_workload("hers", "apart"), "other"))
        here, everywhere = await user.run("queue"), await user.run("queue", "-A")
        there, behind = await user.run("queue", "-n", "other"), await user.run("queue", "--cluster-queue", "cq")
    assert "his" not in here.out
    assert all(name in everywhere.out for name in ("mine", "his", "hers"))
    assert "NAMESPACE" in everywhere.out
    assert ("his" in there.out, "mine" in there.out) == (True, False)
    assert ("his" in behind.out, "mine" in behind.out, "hers" in behind.out) == (True, True, False)


async def test_a_mistyped_queue_leads_to_the_one_meant(tmp_path: Path) -> None:
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        await cluster.create(make_local_queue("team-a", "gpus"))
        queue, behind = await user.run("queue", "taem-a"), await user.run("queue", "--cluster-queue", "gpu")
    assert (queue.code, queue.err) == (
        2,
        "kohort: error: LocalQueue taem-a not found in namespace default: did you mean team-a?\n",
    )
    assert behind.err == "kohort: error: no LocalQueue references ClusterQueue gpu: did you mean gpus?\n"


async def test_missing_permissions_are_reported_in_one_line(tmp_path: Path) -> None:
    async with (
        running_kueue_apiserver() as cluster,
        running_command_runner(cluster, tmp_path, unprivileged_user()) as user,
    ):
        ended = await user.run("queue")
        async with following(user) as process:
            assert await process.wait() == 2, "and does not wait without a limit for output that never comes"
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert 'workloads.kueue.x-k8s.io is forbidden: User "ann" cannot list' in ended.err


async def test_a_batch_user_sees_the_own_namespace(tmp_path: Path) -> None:
    ann = unprivileged_user()
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path, ann) as user:
        await grant_read(cluster, ann, "workloads", "localqueues", namespace="default")
        await cluster.create(make_local_queue("lq", "cq"))
        await cluster.create(make_workload("mine", "lq"))
        ended = await user.run("queue")
    assert ended.code == 0
    assert ended.lines[1].split()[:3] == ["lq", "mine", "-"], "without the visibility API no position is shown"


async def test_a_cluster_without_kohort_is_reported_with_how_to_install_it(tmp_path: Path) -> None:
    async with running_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        ended = await user.run("queue")
    assert ended.code == 2
    assert ended.err.startswith("kohort: error: Kohort is not installed on http://127.0.0.1:")
    assert "`kohort install | kubectl apply --server-side -f -`" in ended.err


async def test_an_unreachable_server_is_reported_in_one_line(tmp_path: Path) -> None:
    async with running_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        pass
    ended = await user.run("queue")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "cannot connect" in ended.err
    assert "context 'here'" in ended.err


@pytest.mark.parametrize("arguments", [("-w", "-o", "json"), ("-o", "csv")])
async def test_what_makes_no_sense_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    async with running_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        assert (await user.run("queue", *arguments)).code == 2


async def test_followed_in_a_pipe_what_is_new_is_added(tmp_path: Path) -> None:
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        await cluster.create(make_local_queue("lq", "cq"))
        await cluster.create(make_workload("first", "lq"))
        async with following(user, "-o", "name") as process:
            assert process.stdout is not None
            assert await process.stdout.readline() == b"workload.kueue.x-k8s.io/first\n"
            await cluster.create(make_workload("second", "lq"))
            assert await process.stdout.readline() == b"workload.kueue.x-k8s.io/second\n"
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0


@asynccontextmanager
async def following(user: CommandRunner, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """`kohort queue -w` in a process of its own, which does not outlive the test."""
    words = ("queue", "-w", "--kubeconfig", str(user.kubeconfig), *arguments)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, *words, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(PATIENCE):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
