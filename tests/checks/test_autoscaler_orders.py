"""An autoscaler that reports conditions in any order, between preemptions, stops and waits (MK-25 to MK-29)."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from checks.provisioning_harness import (
    CONDITIONS,
    ProvisioningHarness,
    make_config,
    running_provisioning_harness,
)
from controllers.scheduling_harness import conditions_of
from kohort.checks.provisioning.names import attempt_of
from kohort.engine.lifecycle.eviction import EvictionCause, evict

LIMIT = 2
STEPS = ("stop", "wait", "preempt", *CONDITIONS)


async def take(harness: ProvisioningHarness, step: str) -> None:
    if step == "stop":
        await harness.stop_jobs()
        await harness.advance(2)
    elif step == "wait":
        await harness.advance(130)
    elif step == "preempt":
        found = await harness.workload("w")
        await harness.write(
            found, evict(found, EvictionCause("Preempted", "for another"), harness.clock.wall()).workload
        )
        await harness.advance(2)
    elif await harness.requests():
        await harness.report(step, step)


async def check_invariants(harness: ProvisioningHarness) -> None:
    requests = [each for each in await harness.requests() if not each["metadata"].get("deletionTimestamp")]
    assert len(requests) <= 1
    assert all(1 <= attempt_of(each) <= LIMIT + 1 for each in requests)
    workload = await harness.get("Workload", "w")
    held = conditions_of(workload)
    entry = await harness.entry()
    reported = {each for request in requests for each, state in conditions_of(request).items() if state[0] == "True"}
    if entry["state"] == "Ready":
        assert "Provisioned" in reported
        assert entry["podSetUpdates"]
    if held.get("Evicted", ("",))[0] == "True":
        assert requests == [], "the capacity of an evicted workload is released"
        assert entry["state"] == "Pending"
    if held.get("Admitted", ("",))[0] == "True":
        assert "Failed" not in reported
        assert "CapacityRevoked" not in reported


async def play(steps: list[str]) -> None:
    async with running_provisioning_harness() as harness:
        await harness.open(make_config(retryStrategy={"backoffLimitCount": LIMIT, "backoffBaseSeconds": 60}))
        await harness.submit()
        for step in steps:
            await take(harness, step)
            await check_invariants(harness)
        await harness.advance(5)
        revision = harness.revision
        await harness.advance(10)
        assert harness.revision == revision, "nothing is written without a change"
        await harness.finish("w")
        await harness.advance(3)
        assert (await harness.requests(), await harness.templates()) == ([], [])


@settings(max_examples=15, deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=3, max_size=8))
def test_the_check_follows_an_autoscaler_that_reports_in_any_order(steps: list[str]) -> None:
    asyncio.run(play(steps))


def test_a_long_history_ends_without_a_trace() -> None:
    order = ["Accepted", "Failed", "stop", "wait", "Provisioned", "BookingExpired", "preempt", "stop", "wait"]
    asyncio.run(play([*order, "BookingExpired", "stop", "wait", "Provisioned", "CapacityRevoked", "stop"]))
