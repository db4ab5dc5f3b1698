"""`kohort top` draws quota as bars that fit the terminal, follows the cluster, and gives programs data."""

import asyncio
import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import pytest
import yaml

from insight.cluster_access import grant_read, unprivileged_user
from kit.apiserver import InMemoryApiServer
from kit.builders.kueue import make_cluster_queue, make_cohort, make_local_queue, make_resource_flavor, make_workload
from kit.commands import running_command_runner
from kit.kueue_apiserver import running_kueue_apiserver
from kohort.cli.top_table import chosen, render_quota
from kohort.engine.quota import FlavorResource
from kohort.insight.quota import QuotaTreeNode, QuotaUsage
from kohort.terminal.glyphs import ASCII, UNICODE
from kohort.terminal.screen import Screen
from kohort.terminal.style import COLOURED, columns

PATIENCE = 60
PICTURES = Path(__file__).parent / "pictures"
GPU, CPU = FlavorResource("a100", "nvidia.com/gpu"), FlavorResource("a100", "cpu")
VISION = QuotaTreeNode(
    "queue",
    "vision",
    (QuotaUsage(CPU, 64_000, 48_000, 0, 16_000, 40_000), QuotaUsage(GPU, 8, 12, 4, 0, 40)),
    2,
    1,
    is_active=True,
)
LANGUAGE = QuotaTreeNode("queue", "language", (QuotaUsage(GPU, 16, 10, 0, 4, 0),), 2, 0, is_active=False)
TREE = QuotaTreeNode(
    "cohort", "research", (QuotaUsage(GPU, 12, 12, 0, 0, 0),), 4, 1, is_active=True, children=(LANGUAGE, VISION)
)


@pytest.mark.parametrize("width", [60, 80, 110, 160, 240])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = render_quota([TREE], Screen(width, glyphs=UNICODE))
    assert all(columns(line) <= width for line in lines)
    assert any("▓" in line for line in lines)


@pytest.mark.parametrize(
    ("name", "screen"),
    [
        ("top-80.txt", Screen(80, glyphs=UNICODE)),
        ("top-160.txt", Screen(160, glyphs=UNICODE)),
        ("top-in-a-file.txt", Screen(glyphs=ASCII)),
    ],
)
def test_pictures_match_the_golden_files(name: str, screen: Screen) -> None:
    assert render_quota([TREE], screen) == (PICTURES / name).read_text(encoding="utf-8").splitlines()


def test_colours_leave_the_columns_where_they_are() -> None:
    plain = render_quota([TREE], Screen(100, glyphs=UNICODE))
    painted = render_quota([TREE], Screen(100, style=COLOURED, glyphs=UNICODE))
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in painted] == plain


def test_nodes_and_resources_can_be_chosen() -> None:
    (only,) = chosen([TREE], ["vision"], "gpu")
    assert (only.name, [each.fr for each in only.usages]) == ("vision", [GPU])


def test_a_queue_without_bounds_has_a_full_bar_of_what_is_used() -> None:
    unlimited = QuotaTreeNode("queue", "free", (QuotaUsage(CPU, 2**66, 3000, 0, 0, 0),), 1, 0, is_active=True)
    line = render_quota([unlimited], Screen(glyphs=ASCII))[1]
    assert "unlimited" in line
    assert "#" * 20 in line


def test_a_cluster_without_queues_is_reported() -> None:
    assert render_quota([], Screen()) == ["No ClusterQueues found (create one with `kohort up --starter`)"]


async def create_queues(cluster: InMemoryApiServer) -> None:
    for each in (
        make_resource_flavor(),
        make_cohort("all"),
        make_cluster_queue("cq", "8", cohortName="all"),
        make_local_queue("lq", "cq"),
    ):
        await cluster.create(each)
    await cluster.create(make_workload("late", "lq", "3"))


async def test_data_and_pictures_of_a_cluster(tmp_path: Path) -> None:
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        await create_queues(cluster)
        shown, data = await user.run("top"), await user.run("top", "-o", "json")
        as_yaml, wrong = await user.run("top", "-o", "yaml"), await user.run("top", "al")
    assert (shown.code, shown.lines[1].split()[0]) == (0, "all")
    (tree,) = json.loads(data.out)
    assert yaml.safe_load(as_yaml.out) == [tree]
    (queue,) = tree["members"]
    assert (queue["name"], queue["waiting"], queue["quota"][0]["waiting"]) == ("cq", 1, "3")
    assert wrong.err == "kohort: error: Cohort or ClusterQueue al not found: did you mean all?\n"


async def test_missing_permission_to_list_queues_is_reported_in_one_line(tmp_path: Path) -> None:
    ann = unprivileged_user()
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path, ann) as user:
        await grant_read(cluster, ann, "workloads", namespace="default")
        ended = await user.run("top")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "cannot show quota without listing all Workload objects" in ended.err


SEEN = ("workloads", "clusterqueues", "localqueues", "cohorts", "resourceflavors")


async def test_on_a_terminal_it_follows_the_cluster_until_q_as_far_as_rights_reach(tmp_path: Path) -> None:
    ann = unprivileged_user()
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path, ann) as user:
        await create_queues(cluster)
        await grant_read(cluster, ann, *SEEN)
        far, near = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        program = "from kohort.cli.main import main; main()"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, "top", "--kubeconfig", str(user.kubeconfig)),
            stdin=near,
            stdout=near,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "1"},
        )
        os.close(near)
        try:
            async with asyncio.timeout(PATIENCE):
                await _seen(far, "0 running, 1 pending")
                await cluster.create(make_workload("later", "lq", "3"))
                await _seen(far, "0 running, 2 pending")
                os.write(far, b"q")
                assert await process.wait() == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            os.close(far)


async def _seen(far: int, text: str) -> None:
    seen = ""
    while text not in seen:
        ready = asyncio.Event()
        asyncio.get_running_loop().add_reader(far, ready.set)
        try:
            await ready.wait()
        finally:
            asyncio.get_running_loop().remove_reader(far)
        seen += os.read(far, 65536).decode()
