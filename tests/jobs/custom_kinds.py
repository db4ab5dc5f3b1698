"""Definitions of custom kinds that accept any field, and a cluster with a manager of some frameworks for them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jobs.job_manager_harness import JobManagerHarness, queue_objects, running_job_harness
from jobs.webhook_caller import WebhookCaller, pods_by_name
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.api.merge import difference, merge
from kohort.api.resource import Resource
from kohort.controllers.context import ManagerSettings
from kohort.controllers.served_kinds import is_kubernetes_kind
from kohort.jobs.contract import Framework

Json = Any

ANY: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
QUEUE = "kueue.x-k8s.io/queue-name"


def custom_definition(resource: Resource) -> Json:
    """The CustomResourceDefinition of a kind."""
    singular = resource.kind.lower()
    names = {
        "plural": resource.plural,
        "singular": singular,
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
    }
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": ANY, "status": ANY}}},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{resource.group}"},
        "spec": {"group": resource.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def make_object(resource: Resource, name: str, spec: Json, queue: str = "q", **annotations: str) -> Json:
    """An object as a user sends it."""
    head: Json = {"name": name, "namespace": "default", "labels": {QUEUE: queue} if queue else {}}
    if annotations:
        head["annotations"] = annotations
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": head, "spec": spec}


def controller_of(owner: Json) -> Json:
    """The reference to an object that controls another."""
    head = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": head["name"], "uid": head["uid"]}
    return [{**reference, "controller": True}]


class CustomKindsHarness:
    """A cluster with queue `q`, and the webhooks of all frameworks."""

    def __init__(self, manager: JobManagerHarness, frameworks: tuple[Framework, ...]) -> None:
        self.manager = manager
        self.webhooks = WebhookCaller(manager, frameworks)

    async def submit(self, obj: Json) -> Json:
        """Create an object as a user or an operator does; the stored object after all controllers have settled."""
        await self.webhooks.send(obj)
        await self.manager.settle()
        return await self.read(obj)

    async def read(self, obj: Json) -> Json:
        """The current state of an object."""
        return await self.manager.server.get(path_of(obj))

    async def change(self, obj: Json, patch: Json) -> list[str]:
        """Change an object through its webhooks; the errors if it is rejected."""
        old = await self.read(obj)
        new, errors = await self.webhooks.review(merge(old, patch), old)
        if not errors:
            response = await self.manager.server.merge(path_of(obj), difference(old, new))
            assert response.status == 200, response
            await self.manager.settle()
        return errors

    async def report(self, obj: Json, **status: Json) -> None:
        """Write the status of an object, as its operator does."""
        response = await self.manager.server.merge(f"{path_of(obj)}/status", {"status": status})
        assert response.status == 200, response
        await self.manager.settle()

    async def delete(self, obj: Json) -> None:
        """Delete an object."""
        response = await self.manager.server.request("DELETE", path_of(obj))
        assert response.status in (200, 202), response
        await self.manager.settle()

    async def pods(self) -> dict[str, Json]:
        """All pods by name."""
        return await pods_by_name(self.manager)

    async def reasons(self) -> list[str]:
        """Reasons of all events."""
        return [reason for reason, _ in await self.manager.events()]

    async def requests_of_a_quiet_minute(self) -> list[str]:
        """What the manager requests although nothing happens."""
        before = len(self.manager.manager.transport.sent)
        await self.manager.advance(60.0)
        sent = self.manager.manager.transport.sent[before:]
        return [each.path for each in sent if "watch" not in dict(each.query)]


def path_of(obj: Json) -> str:
    """The path of an object."""
    plurals = {"StatefulSet": "statefulsets", "Pod": "pods", "Job": "jobs", "Deployment": "deployments"}
    plural = plurals.get(obj["kind"], f"{obj['kind'].lower()}s")
    root = f"/apis/{obj['apiVersion']}" if "/" in obj["apiVersion"] else f"/api/{obj['apiVersion']}"
    return f"{root}/namespaces/default/{plural}/{obj['metadata']['name']}"


@asynccontextmanager
async def running_custom_kinds(
    *frameworks: Framework, cpu: str = "4", queue_spec: Json = None, definitions: tuple[Resource, ...] = ()
) -> AsyncIterator[CustomKindsHarness]:
    """Runs a manager with these frameworks, all of which are enabled, and their definitions."""
    names = tuple(each.name for each in frameworks)
    settings = ManagerSettings(Configuration(integrations=Integrations(frameworks=names)))
    custom = [each.resource for each in frameworks if not is_kubernetes_kind(each.resource)]
    async with running_job_harness(settings, *frameworks) as manager:
        flavor, queue, local = queue_objects(cpu)
        queue["spec"] |= queue_spec or {}
        await manager.create(flavor, queue, local, *map(custom_definition, (*custom, *definitions)))
        await manager.settle()
        yield CustomKindsHarness(manager, frameworks)
