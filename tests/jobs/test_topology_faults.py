"""Gang admitted, pods ungated, node fails, pods moved: after a crash at any write (TAS-93, TAS-105, TAS-108).

A sample of what `exhaustive_topology_faults` runs in full.
"""

import pytest

from jobs.topology_faults import (
    FAILURES,
    URGENT_WRITES,
    WRITES,
    assert_flow_ends_well,
    assert_preemption_ends_well,
    flow,
    preemption,
)
from kit.faults import StreamFault

NEVER = float("inf")
SAMPLE = (2, 7, 12, 17, 21, 24)


@pytest.mark.parametrize("failure", FAILURES)
async def test_the_flow_without_faults(failure: str) -> None:
    async with flow(failure, NEVER, fails_while_down=False) as cluster:
        await assert_flow_ends_well(cluster)
        assert len(cluster.processes) == 1
        assert cluster.writes <= WRITES


@pytest.mark.parametrize("writes", SAMPLE)
async def test_the_manager_crashes_after_some_write(writes: int) -> None:
    failure = list(FAILURES)[writes % len(FAILURES)]
    async with flow(failure, writes, fails_while_down=False) as cluster:
        await assert_flow_ends_well(cluster)
        assert len(cluster.processes) == 2


@pytest.mark.parametrize("writes", SAMPLE)
async def test_a_node_fails_while_no_manager_runs(writes: int) -> None:
    failure = list(FAILURES)[writes % len(FAILURES)]
    async with flow(failure, writes, fails_while_down=True) as cluster:
        await assert_flow_ends_well(cluster)
        assert len(cluster.processes) == 2


async def test_each_manager_crashes_after_one_write() -> None:
    async with flow("deleted", 1, fails_while_down=False, fragile=True) as cluster:
        await assert_flow_ends_well(cluster)
        assert len(cluster.processes) >= WRITES / 2


@pytest.mark.parametrize("fault", [StreamFault.RESET, StreamFault.MID_FRAME, StreamFault.EXPIRED])
@pytest.mark.parametrize("failure", FAILURES)
async def test_watches_end_again_and_again(failure: str, fault: StreamFault) -> None:
    """Nodes, pods and Workloads are listed anew, so that the same object is seen several times."""
    async with flow(failure, NEVER, fails_while_down=False, stream_fault=fault) as cluster:
        await assert_flow_ends_well(cluster)
        assert len(cluster.processes) == 1


async def test_a_gang_preempts_while_a_node_is_replaced() -> None:
    async with preemption(NEVER) as cluster:
        await assert_preemption_ends_well(cluster)
        assert cluster.writes <= URGENT_WRITES


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 5, 8, 13])
async def test_the_manager_crashes_between_preemption_and_replacement(writes: int) -> None:
    async with preemption(writes) as cluster:
        await assert_preemption_ends_well(cluster)
        assert len(cluster.processes) == 2
