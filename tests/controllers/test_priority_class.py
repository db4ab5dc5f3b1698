"""The priority of Workloads follows the value of their class (API-136)."""

from kit.apiserver import Object
from kit.builders.kueue import (
    make_cluster_queue,
    make_local_queue,
    make_resource_flavor,
    make_workload,
    make_workload_priority_class,
)
from kit.manager import running_manager_harness

REF = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "c"}


def of_class(name: str, priority: int = 1) -> Object:
    return make_workload(name, "l", priority=priority, priorityClassRef=REF)


async def test_a_new_value_reaches_all_workloads_of_the_class() -> None:
    async with running_manager_harness() as harness:
        await harness.create(
            make_resource_flavor(),
            make_cluster_queue("q"),
            make_local_queue("l", "q"),
            make_workload_priority_class("c", 1),
        )
        names = [f"w{number}" for number in range(30)]
        await harness.create(*map(of_class, names), make_workload("other", "l", priority=1))
        await harness.advance(3)
        await harness.merge("WorkloadPriorityClass", "c", {"value": 9})
        for name in names:
            await harness.wait_for(lambda found: found["spec"]["priority"] == 9, "Workload", name)
        assert (await harness.get("Workload", "other"))["spec"]["priority"] == 1


async def test_a_class_that_comes_later_reaches_the_workloads_that_name_it() -> None:
    async with running_manager_harness() as harness:
        await harness.create(of_class("w"), make_workload_priority_class("c", 7))
        await harness.wait_for(lambda found: found["spec"]["priority"] == 7, "Workload", "w")


async def test_the_deletion_of_a_class_changes_nothing() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_workload_priority_class("c", 1), of_class("w"))
        await harness.advance(3)
        await harness.delete("WorkloadPriorityClass", "c")
        await harness.advance(10)
        assert (await harness.get("Workload", "w"))["spec"]["priority"] == 1


async def test_a_workload_that_others_write_meanwhile_is_reached_by_the_next_try() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_workload_priority_class("c", 1), of_class("w"))
        await harness.advance(3)
        harness.interceptor.reject("PATCH", "workloads/w", 409, 500)
        await harness.merge("WorkloadPriorityClass", "c", {"value": 9})
        await harness.wait_for(lambda found: found["spec"]["priority"] == 9, "Workload", "w")
