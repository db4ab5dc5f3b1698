"""A manager with the ProvisioningRequest check on an API server in memory, and a scripted autoscaler."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from controllers.scheduling_harness import SchedulingHarness, timestamp
from kit.apiserver import Object
from kit.builders.kueue import (
    admission_checks,
    make_cluster_queue,
    make_kueue_object,
    make_local_queue,
    make_resource_flavor,
    make_workload,
)
from kit.kueue_apiserver import running_kueue_apiserver
from kohort.api.kueue.v1beta2.checks import PROVISIONING_CONTROLLER
from kohort.checks.startup import running_admission_checks
from kohort.controllers.context import ManagerSettings

Json = Any
DEFAULT_SETTINGS = ManagerSettings()
REQUESTS = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"
PRESERVED = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
CONDITIONS = ("Accepted", "Provisioned", "Failed", "BookingExpired", "CapacityRevoked")


def definition() -> Object:
    """The CustomResourceDefinition of ProvisioningRequests, without its schema."""
    schema = {"type": "object", "properties": {"spec": PRESERVED, "status": PRESERVED}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    names = {
        "plural": "provisioningrequests",
        "singular": "provisioningrequest",
        "kind": "ProvisioningRequest",
        "listKind": "ProvisioningRequestList",
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "provisioningrequests.autoscaling.x-k8s.io",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/autoscaler/pull/5848"},
        },
        "spec": {
            "group": "autoscaling.x-k8s.io",
            "names": names,
            "scope": "Namespaced",
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def make_config(name: str = "config", **spec: Json) -> Object:
    return make_kueue_object("ProvisioningRequestConfig", name, {"provisioningClassName": "queued", **spec})


def make_provisioning_check(name: str = "prov", config: str = "config", **parameters: str) -> Object:
    reference = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": config, **parameters}
    return make_kueue_object(
        "AdmissionCheck", name, {"controllerName": PROVISIONING_CONTROLLER, "parameters": reference}
    )


class ProvisioningHarness(SchedulingHarness):
    """A server with one manager, and requests of an autoscaler."""

    async def start_checks(self, settings: ManagerSettings = DEFAULT_SETTINGS) -> None:
        manager = await self.start(settings)
        await manager.stack.enter_async_context(running_admission_checks(manager.context))

    async def open(self, config: Object | None = None, **flavor: Json) -> None:
        """Queue `lq` whose ClusterQueue has check `prov`."""
        queue = make_cluster_queue("q", "8", **admission_checks("prov"))
        await self.create(make_resource_flavor(**flavor), config or make_config(), make_provisioning_check())
        await self.create_active(queue, make_local_queue("lq", "q"))

    async def submit(self, name: str = "w", **spec: Json) -> None:
        await self.create(make_workload(name, "lq", **spec))
        await self.advance(4)

    async def create_with_annotations(self, annotations: Object) -> None:
        """Create Workload `w` with annotations, as a job reconciler copies them."""
        found = make_workload("w", "lq")
        found["metadata"]["annotations"] = annotations
        await self.create(found)
        await self.advance(4)

    async def requests(self) -> list[Object]:
        listed = await self.server.get(REQUESTS)
        return sorted(listed["items"], key=lambda each: each["metadata"]["name"])

    async def only_request(self) -> Object:
        (found,) = [each for each in await self.requests() if not each["metadata"].get("deletionTimestamp")]
        return dict(found)

    async def templates(self) -> list[Object]:
        return list((await self.server.get(TEMPLATES))["items"])

    async def collect_garbage(self) -> None:
        """Delete templates whose request is gone, as the garbage collector does."""
        uids = {each["metadata"]["uid"] for each in await self.requests()}
        for each in await self.templates():
            (owner,) = each["metadata"]["ownerReferences"]
            if owner["kind"] == "ProvisioningRequest" and owner["uid"] not in uids:
                await self.server.request("DELETE", f"{TEMPLATES}/{each['metadata']['name']}")

    async def report(self, condition: str, message: str = "", status: str = "True", **more: Json) -> None:
        """The autoscaler sets a condition of the only request."""
        found = await self.only_request()
        name = found["metadata"]["name"]
        conditions = [each for each in (found.get("status") or {}).get("conditions", ()) if each["type"] != condition]
        reported = {"type": condition, "status": status, "reason": condition, "message": message}
        status_now = {"conditions": [*conditions, {**reported, "lastTransitionTime": timestamp(self.clock)}], **more}
        response = await self.server.merge(f"{REQUESTS}/{name}/status", {"status": status_now})
        assert response.status == 200, response
        await self.advance(3)

    async def entry(self, name: str = "w") -> Object:
        (found,) = (await self.get("Workload", name))["status"]["admissionChecks"]
        return dict(found)


@asynccontextmanager
async def running_provisioning_harness(
    settings: ManagerSettings = DEFAULT_SETTINGS,
) -> AsyncIterator[ProvisioningHarness]:
    """Runs a manager on a fresh server that serves ProvisioningRequests."""
    async with running_kueue_apiserver(settings.gates) as server:
        harness = ProvisioningHarness(server)
        await harness.create(definition())
        await harness.start_checks(settings)
        try:
            yield harness
        finally:
            for manager in list(harness.managers):
                await harness.stop(manager)
