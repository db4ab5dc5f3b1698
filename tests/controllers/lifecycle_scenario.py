"""The lifecycle of several Workloads, which tests run again and again with faults."""

from controllers.scheduling_harness import SchedulingHarness, SchedulingReplica, has_conditions, reserved_cpus
from kit.apiserver import Object
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_workload,
)


class LifecycleScenario:
    """A check, a preemption, a rejection and a completion, in a queue of its own."""

    def __init__(self, harness: SchedulingHarness, tag: str) -> None:
        self.harness = harness
        self.tag = tag

    def name(self, short: str) -> str:
        return f"{short}-{self.tag}"

    async def play(self) -> Object:
        """Run all steps; the final states of the Workloads."""
        queue, local = self.name("q"), self.name("lq")
        preempting = {"preemption": {"withinClusterQueue": "LowerPriority"}, **admission_checks("c")}
        await self.harness.create_active(make_cluster_queue(queue, "2", **preempting), make_local_queue(local, queue))
        await self.harness.create(make_workload(self.name("low"), local, "2", priority=0))
        await self.comes("low", QuotaReserved="True")
        await self.harness.set_check(self.name("low"), "c", "Ready")
        await self.comes("low", Admitted="True")
        await self.harness.create(make_workload(self.name("high"), local, "2", priority=9))
        await self.comes("low", Evicted="True")
        await self.harness.stop_jobs()
        await self.comes("high", QuotaReserved="True")
        await self.harness.set_check(self.name("high"), "c", "Ready")
        await self.comes("high", Admitted="True")
        await self.harness.create(make_workload(self.name("huge"), local, "3", priority=5))
        await self.comes("huge", QuotaReserved="False")
        await self.harness.finish(self.name("high"))
        await self.comes("low", QuotaReserved="True")
        await self.harness.set_check(self.name("low"), "c", "Ready")
        await self.comes("low", Admitted="True")
        await self.harness.advance(2)
        return await self.end()

    async def comes(self, short: str, **wanted: str) -> None:
        """Wait for conditions, and assert at each step that no quota is exceeded."""
        holds = has_conditions(**wanted)
        for _ in range(500):
            all_workloads = await self.harness.workloads()
            assert reserved_cpus(all_workloads, self.name("q")) <= 2
            if holds(await self.harness.get("Workload", self.name(short))):
                return
            await self.harness.clock.advance(0.25)
        raise AssertionError(f"{short} does not come to {wanted}: {await self.end()}")

    async def end(self) -> Object:
        states = await self.harness.states()
        mine = {
            name.removesuffix(f"-{self.tag}"): each for name, each in states.items() if name.endswith(f"-{self.tag}")
        }
        return {name: {**each, "queue": each["queue"] is not None} for name, each in mine.items()}


async def started_manager(harness: SchedulingHarness) -> SchedulingReplica:
    await harness.create_active(make_resource_flavor(), make_admission_check("c"))
    return await harness.start()


def quota_holders(manager: SchedulingReplica) -> dict[str, list[str]]:
    queues = manager.context.engine.store.queues
    return {name: sorted(key.name for key in queue.holders) for name, queue in queues.items()}
