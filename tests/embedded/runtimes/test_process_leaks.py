"""Many short pods in a row leave nothing behind: no process, no file descriptor, no directory, no memory."""

import asyncio
import gc
import os
from pathlib import Path

from embedded.runtimes.harness import RuntimeHarness, container, pod
from kohort.embedded.runtimes.process.shim.processes import all_processes, descendants

PODS = 100
AT_ONCE = 8


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def children() -> int:
    now = all_processes()
    return sum(not now[pid].is_dead for pid in descendants(os.getpid(), now))


def memory() -> int:
    """Bytes in RAM."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def short_life(harness: RuntimeHarness) -> None:
    found = container(script="echo out; echo err >&2", volumeMounts=[{"name": "scratch", "mountPath": "/kohort-test"}])
    run = harness.run(pod(found, volumes=[{"name": "scratch", "emptyDir": {}}]))
    end = await run.termination()
    assert end.exit_code == 0, end
    assert sorted((await run.log()).split()) == ["err", "out"]
    await run.running.close()
    harness.runs.remove(run)


async def many(harness: RuntimeHarness, count: int) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with gate:
            await short_life(harness)

    await asyncio.gather(*(one() for _ in range(count)))
    gc.collect()


async def test_a_hundred_short_pods_leave_nothing_behind(harness: RuntimeHarness) -> None:
    await many(harness, 20)
    before = open_files(), children(), memory()
    async with asyncio.timeout(180):
        await many(harness, PODS)
    after = open_files(), children(), memory()
    assert after[0] <= before[0] + 2
    assert after[1] == before[1]
    assert after[2] < before[2] + (8 << 20)
    for place in ("pods", "scratch"):
        assert list((harness.data / place).iterdir()) == []
    groups = harness.runtime.capabilities.groups  # type: ignore[attr-defined]
    assert groups is None or not [path for path in groups.top.iterdir() if path.is_dir()]
