"""Greedy containers: what they may use is bounded, and the machine never notices.

Fork bombs run only where the kernel counts their processes by themselves: as a user of their own (for root), or
in a user namespace of their own; where neither is available, these tests are skipped with a reason.
"""

import asyncio
import json
import os
import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from embedded.runtimes.harness import RuntimeHarness, container, pod, running_process_runtime
from kit.virtual_time import eventually_true
from kohort.embedded.runtimes.process.container_setup import tasks_of
from kohort.embedded.runtimes.process.shim.output import BURST

UNUSED_USER = 61235 + secrets.randbelow(3000)
"""A user of this process alone: another clone counts another user's processes."""
LIMIT = 40
RATE = 8 << 20
TRIES = 3
"""How often something is measured by the clock: other programs may delay one measurement, but not each of them."""


NO_GROUP = Path("/no/control/group")


@pytest.fixture(params=[None, NO_GROUP], ids=["as the machine permits", "without control groups"])
async def narrow(request: pytest.FixtureRequest) -> AsyncIterator[RuntimeHarness]:
    """A runtime whose containers may have few processes."""
    settings = {"processes": LIMIT, "log_size": 1 << 20, "log_rate": RATE, "cgroup": request.param}
    with TemporaryDirectory(prefix="kohort-test-") as place:
        Path(place).chmod(0o711)
        async with running_process_runtime(Path(place) / "data", **settings) as harness:
            yield harness


def contained(harness: RuntimeHarness) -> dict[str, object]:
    """The user for a fork bomb; skips the test where a bomb could get out."""
    if os.geteuid() == 0:
        return {"runAsUser": UNUSED_USER}
    if not harness.runtime.capabilities.own_roots:  # type: ignore[attr-defined]
        pytest.skip("no way to contain a fork bomb here: not root, and user namespaces are not permitted")
    return {}


async def most_tasks(uid: int) -> int:
    """The most processes of a user that were seen after there were many."""
    await eventually_true(lambda: tasks_of(uid) > LIMIT // 2)
    most = 0
    for _ in range(30):
        most = max(most, tasks_of(uid))
        await asyncio.sleep(0.01)
    return most


@pytest.mark.exclusive
async def test_a_fork_bomb_stays_small_and_ends_with_its_pod(narrow: RuntimeHarness) -> None:
    user = contained(narrow)
    for _ in range(TRIES):
        if await seconds_to_end_a_bomb(narrow, user) < 5:
            return
    pytest.fail("no bomb ended within five seconds")


async def seconds_to_end_a_bomb(harness: RuntimeHarness, user: dict[str, object]) -> float:
    """Let a bomb grow, check that it stays small, and end its pod; returns when nothing of it is left."""
    # Each process forks as often as it may, and keeps trying in a subshell where a failure ends only that.
    bomb = "bomb() { while :; do (bomb & sleep 1000) 2>/dev/null; sleep 0.1; done; }; echo lit; bomb"
    run = harness.run(pod(container(script=bomb, securityContext=user)))
    await run.wait_for_log("lit")
    if user:
        assert LIMIT // 2 < await most_tasks(UNUSED_USER) <= LIMIT + 1
    began = time.monotonic()
    run.running.stop(0)
    await run.finished()
    await eventually_true(lambda: not tasks_of(UNUSED_USER))
    return time.monotonic() - began


def shim_of(harness: RuntimeHarness, pod_uid: str) -> int:
    book = json.loads((harness.data / "pods" / pod_uid / "state.json").read_text())
    return int(book["shim"]["pid"])


def transferred(pid: int | str) -> dict[str, int]:
    """Bytes that a process has read (`rchar`) and written (`wchar`) so far, from and to any file."""
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    return {name: int(count) for name, count in (line.split(": ") for line in lines)}


async def longest_stall(shim: int, written: int) -> float:
    """The longest time for which the event loop did nothing else, until the shim has written so many bytes."""
    longest, moment = 0.0, time.monotonic()
    async with asyncio.timeout(60):
        while transferred(shim)["wchar"] < written:
            await asyncio.sleep(0.01)
            now = time.monotonic()
            longest, moment = max(longest, now - moment), now
    return longest


async def test_a_program_that_prints_without_end_is_slowed_down(narrow: RuntimeHarness) -> None:
    run = narrow.run(pod(container(command=["yes", "x" * 1000])))
    await run.wait_started()
    uid = run.pod["metadata"]["uid"]
    logs, shim = narrow.data / "pods" / uid / "logs/main", shim_of(narrow, uid)
    began, first, ours = time.monotonic(), transferred(shim)["wchar"], transferred("self")
    stalls = [await longest_stall(shim, first + RATE)]
    after = transferred("self")
    allowed = first + RATE * (time.monotonic() - began + BURST) + (4 << 20)
    assert transferred(shim)["wchar"] < allowed
    assert sum(path.stat().st_size for path in logs.iterdir()) <= 2 * (1 << 20)
    assert max(after[way] - ours[way] for way in ("rchar", "wchar")) < RATE // 4, "the agent does none of the copying"
    while stalls[-1] >= 0.5 and len(stalls) < TRIES:
        stalls.append(await longest_stall(shim, transferred(shim)["wchar"] + RATE // 8))
    assert min(stalls) < 0.5
    run.running.stop(0)
    await run.finished()
    assert len(await run.log(tail_lines=3)) == 3 * 1001


async def test_a_container_gets_no_more_memory_than_its_limit(narrow: RuntimeHarness) -> None:
    script = 'python3 -c "x = bytearray(400 << 20)" 2>/dev/null; echo $?'
    found = container(script=script, resources={"limits": {"memory": "100Mi"}})
    run = narrow.run(pod(found))
    await run.termination()
    assert (await run.log()).strip() != "0"
    free = narrow.run(pod(container(script=script)))
    await free.termination()
    assert (await free.log()).strip() == "0"
