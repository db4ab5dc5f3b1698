"""Gang admitted, pods ungated, node fails, pods moved: after a crash at any write (TAS-93, TAS-105, TAS-108).

A sample of what `exhaustive_topology_faults` runs in full.
"""

import pytest

from jobs.topology_faults import FAILURES, WRITES, assert_flow_ends_well, flow

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
