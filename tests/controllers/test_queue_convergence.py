"""After any events in any order: when all is quiet, every status is right, and nothing is left to write."""

from collections.abc import Awaitable, Callable
from types import SimpleNamespace

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kit.apiserver import Object
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_cohort,
    make_local_queue,
    make_resource_flavor,
    make_workload,
)
from kit.manager import ManagerHarness, running_manager_harness
from kohort.controllers.startup import queue_controllers, running_leader_controllers, supporting_controllers

Step = tuple[str, ...]

UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
"""A try takes a second; shrinking would take minutes."""

NAMES = st.sampled_from("ab")
STEPS = st.one_of(
    st.tuples(st.just("toggle"), st.sampled_from(["flavor", "check", "queue", "way", "cohort"]), NAMES),
    st.tuples(st.just("submit"), NAMES, st.sampled_from(["1", "2", "5"])),
    st.tuples(st.just("finish"), NAMES),
    st.tuples(st.just("stop"), NAMES, st.sampled_from(["None", "Hold", "HoldAndDrain"])),
    st.tuples(st.just("move"), NAMES, NAMES),
)


class RandomUsers:
    """Users who make random changes, some of which are rejected."""

    def __init__(self, harness: ManagerHarness) -> None:
        self._home = harness
        self._made = 0

    async def do(self, step: Step) -> None:
        """One step."""
        act: Callable[..., Awaitable[object]] = getattr(self, f"_{step[0]}")
        await act(*step[1:])

    async def _toggle(self, what: str, name: str) -> None:
        """Delete what is there, create what is not."""
        found = _objects(what, name)
        place = f"{self._home.server.collection_path(found)}/{found['metadata']['name']}"
        reply = await self._home.server.request("DELETE", place)
        if reply.status == 404:
            await self._home.server.try_create(found)

    async def _submit(self, queue: str, cpu: str) -> None:
        self._made += 1
        await self._home.create(make_workload(f"w{self._made}", f"l{queue}", cpu))

    async def _finish(self, queue: str) -> None:
        listed = (await self._home.server.get("/apis/kueue.x-k8s.io/v1beta2/workloads"))["items"]
        mine = (each for each in listed if each["spec"]["queueName"] == f"l{queue}")
        running = [each for each in mine if "admission" in each.get("status", {}) and not _is_finished(each)]
        if running:
            await self._home.finish(running[0]["metadata"]["name"])

    async def _stop(self, queue: str, policy: str) -> None:
        await self._home.server.merge(self._home.path("ClusterQueue", f"q{queue}"), {"spec": {"stopPolicy": policy}})

    async def _move(self, name: str, parent: str) -> None:
        """Perhaps into a circle."""
        await self._home.server.merge(self._home.path("Cohort", f"c{name}"), {"spec": {"parentName": f"c{parent}"}})


def _is_finished(found: Object) -> bool:
    return any(each["type"] == "Finished" for each in found["status"].get("conditions", ()))


def _objects(what: str, name: str) -> Object:
    match what:
        case "flavor":
            return make_resource_flavor(f"f{name}")
        case "check":
            return make_admission_check(f"k{name}")
        case "queue":
            checks = admission_checks("ka") if name == "a" else {}
            return make_cluster_queue(f"q{name}", "3", f"f{name}", cohortName=f"c{name}", **checks)
        case "way":
            return make_local_queue(f"l{name}", f"q{name}")
    return make_cohort(f"c{name}")


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow], phases=UNSHRUNK)
@given(st.lists(STEPS, min_size=4, max_size=14), st.booleans())
async def test_in_the_end_every_status_is_right(steps: list[Step], hurried: bool) -> None:
    async with running_manager_harness() as harness:
        hands = RandomUsers(harness)
        for what in ("flavor", "queue", "way"):
            await hands.do(("toggle", what, "b"))
        for step in steps:
            await hands.do(step)
            await harness.advance(0 if hurried else 0.5)
        await harness.advance(15)
        for keeper in (*queue_controllers(harness.context), *supporting_controllers(harness.context)):
            for found in keeper.informer.cache:
                assert keeper.desired(found) == found


async def test_nothing_is_released_before_the_caches_are_synced() -> None:
    async with running_manager_harness(controllers=running_leader_controllers) as harness:
        await harness.create(make_resource_flavor("f"))
        await harness.advance(3)
        feed, stale = harness.context.feed, SimpleNamespace(is_synced=False)
        harness.context.feed = stale  # type: ignore[assignment]
        await harness.delete("ResourceFlavor", "f")
        await harness.advance(10)
        await harness.get("ResourceFlavor", "f")
        harness.context.feed = feed
        await harness.wait_until_gone("ResourceFlavor", "f")
