"""What a client sees that requests something unsupported: the same on every API server with a manager."""

from dataclasses import replace
from functools import partial
from typing import Any

from kit.builders.kueue import make_cluster_queue
from kit.virtual_time import eventually
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.kube.client import Client
from kohort.kube.options import PLAIN, WriteOptions
from manager.managers import RESOURCES, create

Object = dict[str, Any]
NOT_SUPPORTED = "is not supported by this version of Kohort yet"
CHECKS = Resource("kueue.x-k8s.io", "v1beta2", "AdmissionCheck", "admissionchecks", namespaced=False)


class WarningRecorder:
    """A client, and the warnings in the responses to its requests."""

    def __init__(self, client: Client) -> None:
        self.texts: list[str] = []
        self.client = replace(client, on_warning=self.texts.append)

    async def create(self, resource: Resource, value: Object, options: WriteOptions = PLAIN) -> list[str]:
        """Warnings at the creation of an object."""
        self.texts.clear()
        await self.client.of(resource).create(value, options=options)
        return list(self.texts)


def kueue(resource: Resource, name: str, **spec: Any) -> Object:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


async def called_webhooks(client: Client) -> None:
    """Return once the API server calls the webhook of every kind that is used here; it loads them with a delay."""
    user, dry_run = WarningRecorder(client), WriteOptions(dry_run=True)
    requests = [
        (CHECKS, kueue(CHECKS, "probe", controllerName="kueue.x-k8s.io/multikueue")),
    ]
    for resource, value in requests:
        await eventually(partial(user.create, resource, value, dry_run), bool)


async def a_queue_with_an_unsupported_check_names_the_cause(client: Client) -> None:
    user = WarningRecorder(client)
    (text,) = await user.create(CHECKS, kueue(CHECKS, "far", controllerName="kueue.x-k8s.io/multikueue"))
    assert text.startswith(f"spec.controllerName: MultiKueue {NOT_SUPPORTED}")
    assert await user.create(CHECKS, kueue(CHECKS, "budget", controllerName="example.com/budget")) == []
    strategy = {"admissionChecks": [{"name": "far"}]}
    await create(client, make_cluster_queue("checked", "8", admissionChecksStrategy=strategy))

    async def message() -> str:
        found = await client.of(RESOURCES["ClusterQueue"]).get(ObjectKey("", "checked"))
        conditions = found.get("status", {}).get("conditions", ())
        return next((each["message"] for each in conditions if each["type"] == "Active"), "")

    await eventually(message, lambda found: f"far (MultiKueue {NOT_SUPPORTED})" in found)
