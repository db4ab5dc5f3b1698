"""An API server in memory that has Kueue's kinds, with core controllers at work on it, all in virtual time.

Webhooks are called as functions: what they refuse and change is the same, and no wire is needed.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache
from typing import Any

from kit.apiserver import ADMIN, ApiResponse, InMemoryApiServer, Object
from kit.faults import InterceptingTransport
from kit.virtual_time import running_virtual_time
from kohort.api.codec import Json
from kohort.api.crds import WebhookService, definitions
from kohort.api.errors import DecodeError
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.api.kinds import kind_of
from kohort.api.kueue.admission import is_undecodable
from kohort.api.kueue.conversion import V1BETA2, convert
from kohort.api.kueue.group import GROUP
from kohort.api.kueue.webhooks import MUTATED_ON_CREATE, mutate_on_create, webhook_errors
from kohort.api.schema import schema_of
from kohort.api.structural import default, validate
from kohort.controllers.context import ControllerContext, ManagerSettings, always_leads, running_context
from kohort.controllers.startup import running_core_controllers
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.server.core import ServerCore, ServerCoreParts
from kohort.embedded.storage import Store
from kohort.kube.certificates import new_key
from kohort.kube.client import Client
from kohort.kube.clock import VirtualClock
from kohort.kube.errors import StatusError, forbidden
from kohort.metrics.kueue import KueueMetrics
from kohort.metrics.registry import MetricsRegistry

USUAL = ManagerSettings()
Crew = Callable[[ControllerContext], AbstractAsyncContextManager[None]]
LONG = 30.0
STEP = 0.1
SETTLED = 3.0
"""Seconds after which nobody is about to look by himself: what happens next must wake him."""

_SINCE = "2026-01-01T00:00:00Z"
ANSWERING = {"type": "Active", "status": "True", "reason": "Active", "message": "", "lastTransitionTime": _SINCE}
FINISHED = {"type": "Finished", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": _SINCE}


class Webhooks(NoopPlugin):
    """Kueue's admission webhooks, in the place where an API server would call them."""

    def __init__(self, gates: FeatureGates = DEFAULT_GATES) -> None:
        self._gates = gates

    async def mutate(self, attributes: AdmissionAttributes) -> Object | None:
        found, resource = attributes.object, attributes.resource
        if resource.group != GROUP or attributes.verb != "CREATE" or found is None or attributes.subresource:
            return None
        kind = kind_of(found["apiVersion"], found["kind"])
        if kind is None or resource.kind not in MUTATED_ON_CREATE:
            return None
        unreadable = [error for error in validate(found, schema_of(kind)) if is_undecodable(error)]
        if unreadable:
            raise StatusError(400, "BadRequest", "; ".join(map(str, unreadable)))
        return dict(default(mutate_on_create(found, self._gates), schema_of(kind)))

    async def validate(self, attributes: AdmissionAttributes) -> None:
        found, resource = attributes.object, attributes.resource
        if resource.group != GROUP or found is None or attributes.verb not in ("CREATE", "UPDATE"):
            return
        if attributes.subresource and (resource.kind, attributes.subresource) != ("Workload", "status"):
            return
        old = None if attributes.old is None else convert(attributes.old, V1BETA2)
        try:
            errors = webhook_errors(convert(found, V1BETA2), old, self._gates)
        except DecodeError as error:
            raise StatusError(400, "BadRequest", str(error)) from None
        if errors:
            raise forbidden(attributes.about, "; ".join(map(str, errors)))


async def answer_conversion(_client: Mapping[str, Any], review: Json, _seconds: float) -> Json:
    """What the conversion webhook would answer."""
    request = review["request"]
    objects = [convert(each, request["desiredAPIVersion"]) for each in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


@cache
def kueue_kinds() -> tuple[Object, ...]:
    return tuple(definitions(WebhookService()))


@asynccontextmanager
async def kueue_cluster(gates: FeatureGates = DEFAULT_GATES) -> AsyncIterator[InMemoryApiServer]:
    """A server with Kueue's kinds and their webhooks, and nobody at work on it."""
    clock = VirtualClock()
    store = await Store.open(None, clock=lambda: clock.wall().timestamp())
    core = ServerCore(ServerCoreParts(store, clock, Signer(new_key()), b"authority", plugins=(Webhooks(gates),)))
    core.webhook_client.post = answer_conversion  # type: ignore[assignment, method-assign]
    await core.start()
    cluster = InMemoryApiServer(core, clock)
    try:
        for definition in kueue_kinds():
            await cluster.create(definition)
        yield cluster
    finally:
        await core.close()
        await store.close()


class House:
    """A cluster and the controllers that keep it."""

    def __init__(self, cluster: InMemoryApiServer, world: ControllerContext, meddler: InterceptingTransport) -> None:
        self.cluster = cluster
        self.world = world
        self.meddler = meddler
        self.clock = cluster.clock

    async def create(self, *found: Object) -> None:
        for each in found:
            await self.cluster.create(each)

    def path(self, kind: str, name: str, namespace: str = "default", version: str = V1BETA2) -> str:
        head = {"apiVersion": version, "kind": kind, "metadata": {"namespace": namespace}}
        return f"{self.cluster.collection_path(head)}/{name}"

    async def ask(self, kind: str, name: str, namespace: str = "default") -> ApiResponse:
        return await self.cluster.request("GET", self.path(kind, name, namespace))

    async def get(self, kind: str, name: str, namespace: str = "default") -> Object:
        return await self.cluster.get(self.path(kind, name, namespace))

    async def merge(self, kind: str, name: str, patch: Object, subresource: str = "") -> None:
        place = self.path(kind, name) + (f"/{subresource}" if subresource else "")
        reply = await self.cluster.merge(place, patch)
        assert reply.status == 200, reply

    async def delete(self, kind: str, name: str) -> None:
        reply = await self.cluster.request("DELETE", self.path(kind, name))
        assert reply.status == 200, reply

    async def later(self, seconds: float) -> None:
        """Let time pass, in steps small enough for all to do their work."""
        for _ in range(round(seconds / STEP)):
            await self.clock.advance(STEP)

    async def finish(self, name: str) -> None:
        """End a Workload, as its job would."""
        found = await self.get("Workload", name)
        conditions = [*found["status"].get("conditions", ()), FINISHED]
        await self.merge("Workload", name, {"status": {"conditions": conditions}}, "status")

    async def until(self, holds: Callable[[Object], bool], kind: str, name: str, *, patience: float = LONG) -> Object:
        """The object as soon as something holds of it; fails the test when that does not come about."""
        found: Object = {}
        for _ in range(round(patience / STEP)):
            reply = await self.ask(kind, name)
            found = reply.body
            if reply.status == 200 and holds(found):
                await self.later(SETTLED)
                return found
            await self.clock.advance(STEP)
        raise AssertionError(f"{kind} {name} does not come to what was awaited: {found}")

    async def gone(self, kind: str, name: str) -> None:
        """Wait until there is no such object."""
        for _ in range(round(LONG / STEP)):
            if (await self.ask(kind, name)).status == 404:
                return
            await self.clock.advance(STEP)
        raise AssertionError(f"{kind} {name} stays")

    @property
    def revision(self) -> int:
        return self.cluster.core.store.revision


def active(found: Object) -> tuple[str, str] | None:
    """Status and reason of the condition Active."""
    for condition in found.get("status", {}).get("conditions", ()):
        if condition["type"] == "Active":
            return condition["status"], condition["reason"]
    return None


def figures(found: Object) -> tuple[int, int, int]:
    """How many wait, hold quota, are admitted, as the status says."""
    status = found.get("status", {})
    return tuple(status.get(f"{each}Workloads", -1) for each in ("pending", "reserving", "admitted"))


def is_active(status: str, reason: str) -> Callable[[Object], bool]:
    return lambda found: active(found) == (status, reason)


@asynccontextmanager
async def house(
    settings: ManagerSettings = USUAL, leads: Callable[[], bool] = always_leads, crew: Crew = running_core_controllers
) -> AsyncIterator[House]:
    """A fresh cluster with all core controllers at work, or some of them."""
    async with kueue_cluster(settings.gates) as cluster, AsyncExitStack() as stack:
        meddler = InterceptingTransport(cluster.core.transport(ADMIN))
        metrics = KueueMetrics(MetricsRegistry(), settings.configuration, settings.gates, lambda: "standalone")
        manager = running_context(Client(meddler, cluster.clock), settings, metrics, leads)
        world = await stack.enter_async_context(manager)
        await stack.enter_async_context(crew(world))
        try:
            yield House(cluster, world, meddler)
        finally:
            async with running_virtual_time(cluster.clock):
                await stack.aclose()
