"""An agent whose way to the server is bad: nothing is lost, nothing happens twice."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from embedded.nodes.harness import PODS, NodeAgentHarness, pod, running_agent
from kit.apiserver import ADMIN, running_apiserver
from kit.faults import Rejection
from kohort.kube.transport import Request, Response, Transport


class RejectingTransport:
    """A transport that refuses the next requests of a kind."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.refusals: list[tuple[str, int]] = []
        self.answers: list[tuple[str, int]] = []
        self.before_patch: Callable[[], Awaitable[None]] | None = None

    def refuse(self, method: str, *codes: int) -> None:
        self.refusals += [(method, code) for code in codes]

    async def send(self, request: Request, timeout: float) -> Response:
        for rejection in self.refusals:
            if rejection[0] == request.method and request.path.startswith(PODS):
                self.refusals.remove(rejection)
                return Rejection(rejection[1]).response()
        if request.method == "PATCH" and request.path.startswith(PODS) and self.before_patch is not None:
            action, self.before_patch = self.before_patch, None
            await action()
        response = await self.inner.send(request, timeout)
        self.answers.append((request.method, response.status))
        return response

    async def close(self) -> None:
        await self.inner.close()


@asynccontextmanager
async def badly_connected() -> AsyncIterator[tuple[NodeAgentHarness, RejectingTransport]]:
    async with running_apiserver() as cluster:
        network = RejectingTransport(cluster.core.transport(ADMIN))
        async with running_agent(cluster, transport=network) as harness:
            yield harness, network


async def test_refused_writes_are_tried_again_until_the_pod_has_ended_and_gone() -> None:
    async with badly_connected() as (harness, network):
        network.refuse("PATCH", 500, 409, 422)
        await harness.run(pod(annotations={"run_seconds": 30}))
        await harness.advance(10)
        assert await harness.phase("a") == "Running"
        network.refuse("PATCH", 500, 500)
        await harness.advance(30)
        assert await harness.phase("a") == "Succeeded"
        network.refuse("DELETE", 500, 403)
        await harness.delete("a")
        await harness.advance(10)
        assert not await harness.exists(f"{PODS}/a")


async def test_a_refusal_is_reported_even_if_the_first_try_fails() -> None:
    async with badly_connected() as (harness, network):
        network.refuse("PATCH", 403, 403)
        await harness.run(pod(nodeSelector={"speed": "high"}))
        await harness.advance(5)
        assert (await harness.status("a"))["reason"] == "NodeAffinity"


async def test_the_status_of_a_pod_is_never_written_to_another_one_of_its_name() -> None:
    async with badly_connected() as (harness, network):

        async def replace() -> None:
            await harness.cluster.request("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0, "kind": "DeleteOptions"})
            await harness.cluster.create(pod(annotations={"start_seconds": 60}))

        network.before_patch = replace
        network.answers.clear()
        await harness.run(pod())
        refused, taken = [code for method, code in network.answers if method == "PATCH"]
        assert (refused in (409, 422), taken) == (True, 200)
        assert await harness.phase("a") == "Pending"
