"""The API server in memory with Kueue's kinds; their webhooks are called as functions, without a connection."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from kit.apiserver import InMemoryApiServer, Object
from kit.virtual_time import VirtualClock
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
from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.server.core import ServerCore, ServerCoreParts
from kohort.embedded.storage import Store
from kohort.kube.certificates import new_key
from kohort.kube.errors import StatusError, forbidden


class KueueWebhookPlugin(NoopPlugin):
    """Kueue's admission webhooks as an admission plugin."""

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


async def convert_review(_client: Mapping[str, Any], review: Json, _seconds: float) -> Json:
    """The response of the conversion webhook."""
    request = review["request"]
    objects = [convert(each, request["desiredAPIVersion"]) for each in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


@cache
def kueue_definitions() -> tuple[Object, ...]:
    return tuple(definitions(WebhookService()))


@asynccontextmanager
async def running_kueue_apiserver(gates: FeatureGates = DEFAULT_GATES) -> AsyncIterator[InMemoryApiServer]:
    """Runs a server with Kueue's kinds and webhooks, but without controllers, until the context exits."""
    clock = VirtualClock()
    store = await Store.open(None, clock=lambda: clock.wall().timestamp())
    core = ServerCore(
        ServerCoreParts(store, clock, Signer(new_key()), b"authority", plugins=(KueueWebhookPlugin(gates),))
    )
    core.webhook_client.post = convert_review  # type: ignore[assignment, method-assign]
    await core.start()
    server = InMemoryApiServer(core, clock)
    try:
        for definition in kueue_definitions():
            await server.create(definition)
        yield server
    finally:
        await core.close()
        await store.close()
