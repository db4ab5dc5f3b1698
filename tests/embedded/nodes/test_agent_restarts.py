"""An agent that follows another one: what it finds, what it continues, and what it leaves alone."""

from embedded.nodes.harness import PODS, container, pod, running_agent
from embedded.nodes.scripted import ScriptedRuntime
from kit.apiserver import InMemoryApiServer, running_apiserver
from kit.virtual_time import START
from kohort.embedded.nodes.runtime import PodState, Running, RuntimeContainerStatus
from kohort.embedded.server.subresources.logs import PodLogOptions


async def state(cluster: InMemoryApiServer, name: str = "a") -> dict[str, object]:
    found = await cluster.get(f"{PODS}/{name}")
    return dict(found["status"]["containerStatuses"][0]["state"])


async def test_a_simulated_pod_ends_when_it_would_have_ended() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod(annotations={"run_seconds": 100}))
        await cluster.clock.advance(60)
        async with running_agent(cluster) as second:
            await second.advance(39)
            assert await second.phase("a") == "Running"
            await second.advance(1)
            assert await second.phase("a") == "Succeeded"
            ended = (await second.status("a"))["containerStatuses"][0]["state"]["terminated"]
            assert (ended["startedAt"], ended["finishedAt"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:01:40Z")


async def test_a_pod_whose_time_ran_out_meanwhile_ends_at_once() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod(annotations={"run_seconds": 10}))
        await cluster.clock.advance(60)
        async with running_agent(cluster) as second:
            await second.advance(0)
            assert await second.phase("a") == "Succeeded"


async def test_a_crash_loop_continues_where_it_was() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod(restart="Always", annotations={"run_seconds": 1, "exit_code": 1}))
            await first.advance(1 + 1 + 10 + 1)
            assert "waiting" in await state(cluster)
        async with running_agent(cluster) as second:
            await second.advance(0)
            main = (await second.status("a"))["containerStatuses"][0]
            assert main["restartCount"] == 2
            await second.advance(20)
            assert (await second.status("a"))["containerStatuses"][0]["restartCount"] == 3


async def test_a_restart_writes_nothing_to_pods_that_are_as_they_were() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod("runs", annotations={"run_seconds": 100}))
            await first.run(pod("waits", annotations={"start_seconds": 100}))
            await first.run(pod("ended", annotations={"run_seconds": 1}))
            await first.advance(5)
        before = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in await pods(cluster)}
        async with running_agent(cluster) as second:
            await second.advance(0)
            after = {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in await pods(cluster)}
            assert after == before
            assert len(second.agent) == 3


async def pods(cluster: InMemoryApiServer) -> list[dict[str, dict[str, str]]]:
    return list((await cluster.get(PODS))["items"])


async def test_pods_deleted_while_no_agent_ran_are_ended_by_the_next_agent() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod("runs", annotations={"run_seconds": 100}))
            await first.run(pod("ended", annotations={"run_seconds": 1}))
            await first.advance(5)
        await cluster.create(pod("new"))
        for name in ("runs", "ended", "new"):
            await cluster.request("DELETE", f"{PODS}/{name}")
        async with running_agent(cluster) as second:
            await second.advance(0)
            assert await pods(cluster) == []


async def test_running_pods_are_counted_before_new_pods() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod("z", restart="Always"))
        await cluster.create(pod("a", containers=[container("main", resources={"requests": {"cpu": "3500m"}})]))
        async with running_agent(cluster) as second:
            await second.advance(0)
            assert await second.phase("z") == "Running"
            assert (await second.status("a"))["reason"] == "OutOfcpu"


async def test_a_runtime_continues_from_the_status_written_by_a_former_agent() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod(annotations={"run_seconds": 100}))
            address = (await first.status("a"))["podIP"]
        runtime = ScriptedRuntime()
        async with running_agent(cluster, runtime=runtime) as second:
            await second.advance(0)
            found = runtime.pods["a"]
            assert found.body["status"]["containerStatuses"][0]["state"] == await state(cluster)
            found.reports.state(PodState((RuntimeContainerStatus("main", Running(START), restarts=1, ready=True),)))
            await second.advance(0)
            status = await second.status("a")
            assert (status["podIP"], status["startTime"]) == (address, "2026-01-01T00:00:00Z")


async def test_a_deadline_counts_from_the_first_start() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod(annotations={"run_seconds": 1000}, activeDeadlineSeconds=50))
        await cluster.clock.advance(40)
        async with running_agent(cluster) as second:
            await second.advance(10)
            assert (await second.status("a"))["reason"] == "DeadlineExceeded"


async def test_the_log_of_what_ended_before_can_still_be_read_and_the_pod_deleted() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod(annotations={"run_seconds": 5}))
            await first.advance(5)
        async with running_agent(cluster) as second:
            await second.advance(0)
            parts = [part async for part in second.agent.logs("default", "a", PodLogOptions("main", tail_lines=1))]
            assert b"".join(parts) == b"kohort: exits with 0 (Completed)\n"
            await second.delete("a")
            assert await pods(cluster) == []
            assert len(second.agent) == 0


async def test_a_pod_that_failed_though_its_policy_would_restart_it_is_not_started_again() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod(restart="Always", activeDeadlineSeconds=5))
            await first.advance(5)
        runtime = ScriptedRuntime()
        async with running_agent(cluster, runtime=runtime) as second:
            await second.advance(60)
            assert runtime.pods == {}
            assert await second.phase("a") == "Failed"
