"""What a client sees that requests something unsupported: the same on every API server with a manager."""

from dataclasses import replace
from functools import partial
from typing import Any

from kit.builders.kueue import make_cluster_queue
from kit.virtual_time import eventually
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.insight.doctor.runner import run_checks, take_doctor_snapshot
from kohort.kube.client import Client
from kohort.kube.options import PLAIN, WriteOptions
from manager.managers import RESOURCES, create

Object = dict[str, Any]
QUEUE = "kueue.x-k8s.io/queue-name"
NOT_SUPPORTED = "is not supported by this version of Kohort yet"
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
APPLICATIONS = Resource("sparkoperator.k8s.io", "v1beta2", "SparkApplication", "sparkapplications", namespaced=True)
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


def application_definition() -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta2", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {
        "group": APPLICATIONS.group,
        "scope": "Namespaced",
        "names": {
            "kind": "SparkApplication",
            "plural": "sparkapplications",
            "singular": "sparkapplication",
            "listKind": "SparkApplicationList",
        },
        "versions": [version],
    }
    # The group is protected by the project of Kubernetes, whose approval its definitions name.
    approved = {"api-approved.kubernetes.io": "unapproved, for a test"}
    metadata = {"name": "sparkapplications.sparkoperator.k8s.io", "annotations": approved}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def application(name: str, **labels: str) -> Object:
    metadata = {"name": name, "namespace": "default", "labels": labels}
    return {"apiVersion": APPLICATIONS.api_version, "kind": "SparkApplication", "metadata": metadata, "spec": {}}


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


async def served_applications(client: Client) -> None:
    """Define SparkApplications, and return once they are served."""
    await client.of(DEFINITIONS).create(application_definition())

    async def names() -> list[str]:
        found = (await client.get_json("/apis"))["groups"]
        return [each["name"] for each in found]

    await eventually(names, lambda found: APPLICATIONS.group in found)


async def jobs_of_an_unsupported_framework_are_warned_of(client: Client) -> None:
    user = WarningRecorder(client)
    await served_applications(client)
    (text,) = await user.create(APPLICATIONS, application("queued", **{QUEUE: "lq"}))
    assert f"SparkApplication {NOT_SUPPORTED}: no Workload is created for it" in text
    assert await user.create(APPLICATIONS, application("free")) == []
    found = run_checks(await take_doctor_snapshot(client)).findings
    reported = [each.affected.problem for each in found if each.check.id == "framework-unsupported"]
    assert [text.partition(";")[0] for text in reported] == ["1 SparkApplication references a queue: queued"]


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
