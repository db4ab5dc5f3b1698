"""A life with everything in it, to be played again and again while things go wrong."""

from controllers.stages import Manager, Stage, says, used
from kit.apiserver import Object
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_workload,
)


class Flow:
    """A life with everything in it, in a queue of its own: a check, a preemption, a refusal, an end."""

    def __init__(self, scene: Stage, tag: str) -> None:
        self.scene = scene
        self.tag = tag

    def name(self, short: str) -> str:
        return f"{short}-{self.tag}"

    async def play(self) -> Object:
        """All of it; what the Workloads say in the end."""
        queue, local = self.name("q"), self.name("lq")
        preempting = {"preemption": {"withinClusterQueue": "LowerPriority"}, **admission_checks("c")}
        await self.scene.open(make_cluster_queue(queue, "2", **preempting), make_local_queue(local, queue))
        await self.scene.create(make_workload(self.name("low"), local, "2", priority=0))
        await self.comes("low", QuotaReserved="True")
        await self.scene.answer(self.name("low"), "c", "Ready")
        await self.comes("low", Admitted="True")
        await self.scene.create(make_workload(self.name("high"), local, "2", priority=9))
        await self.comes("low", Evicted="True")
        await self.scene.stop_jobs()
        await self.comes("high", QuotaReserved="True")
        await self.scene.answer(self.name("high"), "c", "Ready")
        await self.comes("high", Admitted="True")
        await self.scene.create(make_workload(self.name("huge"), local, "3", priority=5))
        await self.comes("huge", QuotaReserved="False")
        await self.scene.finish(self.name("high"))
        await self.comes("low", QuotaReserved="True")
        await self.scene.answer(self.name("low"), "c", "Ready")
        await self.comes("low", Admitted="True")
        await self.scene.later(2)
        return await self.end()

    async def comes(self, short: str, **wanted: str) -> None:
        """Wait for conditions, and see at every moment that no quota is over."""
        holds = says(**wanted)
        for _ in range(500):
            everybody = await self.scene.workloads()
            assert used(everybody, self.name("q")) <= 2
            if holds(await self.scene.get("Workload", self.name(short))):
                return
            await self.scene.clock.advance(0.25)
        raise AssertionError(f"{short} does not come to {wanted}: {await self.end()}")

    async def end(self) -> Object:
        states = await self.scene.states()
        mine = {
            name.removesuffix(f"-{self.tag}"): each for name, each in states.items() if name.endswith(f"-{self.tag}")
        }
        return {name: {**each, "queue": each["queue"] is not None} for name, each in mine.items()}


async def opened(scene: Stage) -> Manager:
    await scene.open(make_resource_flavor(), make_admission_check("c"))
    return await scene.start()


def holders(manager: Manager) -> dict[str, list[str]]:
    queues = manager.world.engine.store.queues
    return {name: sorted(key.name for key in queue.holders) for name, queue in queues.items()}
