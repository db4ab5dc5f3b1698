"""Stand-ins on an API server in memory, under their own user; tests do the work of scheduler and kubelet."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from embedded.controllers.jobs.job_harness import JobControllerHarness
from kit.apiserver import ADMIN, InMemoryApiServer, Object, running_apiserver
from kit.faults import InterceptingTransport
from kit.virtual_time import running_virtual_time
from kohort.embedded.auth.users import AUTHENTICATED, User
from kohort.embedded.controllers.jobs.controller import JobController
from kohort.embedded.controllers.startup import running_controllers
from kohort.embedded.controllers.statefulsets.controller import StatefulSetController
from kohort.embedded.garbage_collector.startup import running_cleanup
from kohort.kube.client import Client
from kohort.operators.builtin import stand_ins_of
from kohort.operators.definitions import install_definition
from kohort.operators.permissions import USER, role_objects
from kohort.operators.startup import running_stand_ins


class OperatorHarness(JobControllerHarness):
    """A server whose custom jobs some stand-ins reconcile."""

    def __init__(
        self, cluster: InMemoryApiServer, interceptor: InterceptingTransport, operators: tuple[str, ...]
    ) -> None:
        super().__init__(cluster, interceptor)
        self.operators = operators
        self._stack = AsyncExitStack()

    async def start(self) -> None:
        """Start the stand-ins."""
        await self._stack.enter_async_context(
            running_stand_ins(Client(self.interceptor, self.clock), stand_ins_of(self.operators))
        )
        await self.settle()

    async def stop(self) -> None:
        """Stop the stand-ins; `start` starts their successors."""
        async with running_virtual_time(self.clock):
            await self._stack.aclose()

    async def objects(self, path: str) -> dict[str, Object]:
        """Objects of namespace `default` by name; the path is group, version and plural."""
        root = "/api" if path.startswith("v1/") else "/apis"
        version, plural = path.rsplit("/", 1)
        listed = await self.items(f"{root}/{version}/namespaces/default/{plural}")
        return {each["metadata"]["name"]: each for each in listed}

    async def run_all(self) -> list[Object]:
        """Run the pods that no gate holds back until no new ones appear, and return all of them."""
        for _ in range(10):
            await self.settle()
            await self.remove_terminating_pods()
            new = [each for each in await self.pods() if each["status"]["phase"] == "Pending"]
            if not new:
                return await self.pods()
            await self.mark_running(*new)
        raise AssertionError("pods keep being created")

    async def change(self, found: Object, patch: Object) -> None:
        """Patch an object and let the stand-ins react."""
        await self.merge(found, patch)
        await self.settle()

    async def condition_statuses(self, found: Object) -> dict[str, str]:
        """Status of each condition."""
        listed = (await self.status(found)).get("conditions", ())
        return {each["type"]: each["status"] for each in listed}

    async def warnings(self) -> dict[str, str]:
        """Reason and message of Warning events."""
        listed = await self.items("/apis/events.k8s.io/v1/events")
        return {each["reason"]: each["note"] for each in listed if each["type"] == "Warning"}


@asynccontextmanager
async def running_operator_harness(*operators: str) -> AsyncIterator[OperatorHarness]:
    """Runs an API server with these stand-ins, and with controllers of Jobs, StatefulSets and garbage."""
    async with running_apiserver() as cluster, AsyncExitStack() as stack:
        admin = Client(cluster.core.transport(ADMIN), cluster.clock)
        stand_ins = stand_ins_of(operators)
        for stand_in in stand_ins:
            await install_definition(admin, stand_in)
        for resource, wanted in role_objects(stand_ins):
            await admin.of(resource).create(wanted)
        async with running_virtual_time(cluster.clock):
            await stack.enter_async_context(running_cleanup(admin))
            await stack.enter_async_context(running_controllers(admin, (JobController, StatefulSetController)))
        own = InterceptingTransport(cluster.core.transport(User(USER, (AUTHENTICATED,))))
        harness = OperatorHarness(cluster, own, operators)
        await harness.start()
        try:
            yield harness
        finally:
            await harness.stop()
            async with running_virtual_time(cluster.clock):
                await stack.aclose()


def container(**fields: Any) -> Object:
    return {"name": "main", "image": "registry.test/train:1", **fields}


def variables(pod: Object, container_name: str = "") -> dict[str, str]:
    """The environment of a container, by default the first; a later variable of the same name counts."""
    containers = pod["spec"]["containers"]
    found = next(each for each in containers if not container_name or each["name"] == container_name)
    return {each["name"]: each.get("value", "") for each in found.get("env", ())}
