"""An API server with built-in controllers in virtual time; tests do the work of the kubelet."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kit.apiserver import ADMIN, ApiResponse, InMemoryApiServer, Object, running_apiserver
from kit.faults import InterceptingTransport
from kit.virtual_time import running_virtual_time, settle
from kohort.api.times import format_time
from kohort.embedded.controllers.builtin import BuiltinController
from kohort.embedded.controllers.startup import BuiltinControllers
from kohort.kube.client import Client
from kohort.kube.informer import SharedInformerFactory

STEPS = 400
STEP = 0.05
IDLE_STEPS = 5
"""Steps without a write after which the controllers are idle."""

ControllerFactory = Callable[[Client, SharedInformerFactory], BuiltinController[Any]]


async def wait_until_started(controllers: BuiltinControllers) -> None:
    """Return once the informers have synced and the controllers have started."""
    await controllers.informers.wait_for_sync()
    await settle()


class ControllerHarness:
    """An API server whose objects some controllers reconcile."""

    def __init__(self, cluster: InMemoryApiServer, interceptor: InterceptingTransport) -> None:
        self.cluster = cluster
        self.clock = cluster.clock
        self.interceptor = interceptor

    async def create(self, found: Object) -> Object:
        return await self.cluster.create(found)

    def path(self, found: Object) -> str:
        return f"{self.cluster.collection_path(found)}/{found['metadata']['name']}"

    async def get(self, found: Object) -> Object:
        return await self.cluster.get(self.path(found))

    async def exists(self, found: Object) -> bool:
        """Whether the same object, not one that replaced it, still exists."""
        reply = await self.cluster.request("GET", self.path(found))
        return reply.status == 200 and reply.body["metadata"]["uid"] == found["metadata"]["uid"]

    async def merge(self, found: Object, patch: Object, subresource: str = "") -> ApiResponse:
        """Patch an object; any status but 200 fails the test."""
        path = self.path(found) + (f"/{subresource}" if subresource else "")
        reply = await self.cluster.merge(path, patch)
        assert reply.status == 200, reply
        return reply

    async def delete(self, found: Object, **options: Any) -> ApiResponse:
        body = {"kind": "DeleteOptions", "apiVersion": "v1", **options}
        return await self.cluster.request("DELETE", self.path(found), body)

    async def items(self, path: str) -> list[Object]:
        return list((await self.cluster.get(path))["items"])

    async def pods(self) -> list[Object]:
        """The pods of namespace `default`, by name."""
        found = await self.items("/api/v1/namespaces/default/pods")
        return [{"apiVersion": "v1", "kind": "Pod", **each} for each in found]

    async def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in await self.pods()]

    async def events(self) -> list[tuple[str, str]]:
        """Reason and message of all events."""
        found = await self.items("/apis/events.k8s.io/v1/events")
        return [(event["reason"], event["note"]) for event in found]

    async def settle(self) -> None:
        """Advance time until the controllers are idle."""
        quiet, revision = 0, -1
        for _ in range(STEPS):
            await self.clock.advance(STEP)
            quiet = quiet + 1 if self.cluster.core.store.revision == revision else 0
            revision = self.cluster.core.store.revision
            if quiet == IDLE_STEPS:
                return
        raise AssertionError("the controllers keep writing")

    async def advance(self, seconds: float) -> None:
        """Advance time, then wait until the controllers are idle."""
        await self.clock.advance(seconds)
        await self.settle()

    # The work of the kubelet

    async def set_status(self, found: Object, **status: Any) -> None:
        await self.merge(found, {"status": status}, "status")

    async def mark_running(self, *pods: Object) -> None:
        """Report pods as running and ready."""
        for pod in pods:
            if not pod["spec"].get("nodeName"):
                await self.bind(pod, "node")
            await self.set_status(pod, phase="Running", conditions=[self.condition("Ready", "True")])

    async def bind(self, pod: Object, node: str) -> None:
        binding = {"metadata": {"name": pod["metadata"]["name"]}, "target": {"kind": "Node", "name": node}}
        reply = await self.cluster.request("POST", f"{self.path(pod)}/binding", binding)
        assert reply.status == 201, reply

    async def run_all_pods(self) -> None:
        """Run pending pods and remove terminating ones until nothing changes."""
        for _ in range(30):
            await self.settle()
            pods = await self.pods()
            terminating = [pod for pod in pods if pod["metadata"].get("deletionTimestamp")]
            new = [pod for pod in pods if pod["status"]["phase"] == "Pending" and pod not in terminating]
            if not terminating and not new:
                return
            for pod in terminating:
                await self.delete(pod, gracePeriodSeconds=0)
            await self.mark_running(*new)
        raise AssertionError("pods keep being created or deleted")

    def condition(self, kind: str, status: str, **more: str) -> Object:
        moment = format_time(self.clock.wall())
        return {"type": kind, "status": status, "lastTransitionTime": moment, **more}


@asynccontextmanager
async def running_controller_harness(*makes: ControllerFactory) -> AsyncIterator[ControllerHarness]:
    """Runs an empty API server with these controllers until the context exits."""
    async with running_apiserver() as cluster:
        interceptor = InterceptingTransport(cluster.core.transport(ADMIN))
        client = Client(interceptor, cluster.clock)
        informers = SharedInformerFactory(client)
        controllers = [make(client, informers) for make in makes]
        informers.start()
        await informers.wait_for_sync()
        for controller in controllers:
            controller.start()
        try:
            yield ControllerHarness(cluster, interceptor)
        finally:
            async with running_virtual_time(cluster.clock):
                for controller in controllers:
                    await controller.stop()
            await informers.stop()


def node(name: str, *taints: Object, ready: str = "True", **spec: Any) -> Object:
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"taints": list(taints), **spec},
        "status": {"conditions": conditions},
    }


def with_labels(found: Object, **labels: str) -> Object:
    return {**found, "metadata": {**found["metadata"], "labels": labels}}


def with_controller(found: Object, owner: Object) -> Object:
    """The object with an existing object as its controller."""
    head = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
    reference = {**head, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [reference]}}
