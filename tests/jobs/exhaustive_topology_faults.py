"""The manager crashes after every write between the admission of a gang and the replacement of a failed node.

Runs only when selected by name (`make test-faults`); `test_topology_faults` has a sample of it.
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


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("fails_while_down", [False, True])
@pytest.mark.parametrize("writes", range(WRITES))
async def test_the_manager_crashes_after_any_write(writes: int, fails_while_down: bool, failure: str) -> None:
    async with flow(failure, writes, fails_while_down=fails_while_down) as cluster:
        await assert_flow_ends_well(cluster)


@pytest.mark.parametrize("writes", range(URGENT_WRITES))
async def test_the_manager_crashes_between_preemption_and_replacement(writes: int) -> None:
    async with preemption(writes) as cluster:
        await assert_preemption_ends_well(cluster)
