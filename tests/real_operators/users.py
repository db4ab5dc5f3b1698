"""Requests of a user, and waits for what the server is to show."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from cluster.client import JsonClient, JsonResponse
from kohort.api.resource import Resource

Json = Any
T = TypeVar("T")
WAIT_SECONDS: Final = 120.0
"""Operators retry with a backoff of up to half a minute."""
INTERVAL: Final = 0.1
FLAVOR: Final = "spot"
"""A ResourceFlavor whose nodes have the label `tier: spot`."""
URGENT: Final = "urgent"
"""A WorkloadPriorityClass, and the job that has it."""
BRIEF: Final = "brief"
"""A job that finishes by itself."""
WORKLOADS: Final = Resource("kueue.x-k8s.io", "v1beta2", "Workload", "workloads", namespaced=True)
CLUSTER_QUEUES: Final = Resource("kueue.x-k8s.io", "v1beta2", "ClusterQueue", "clusterqueues", namespaced=False)
PODS: Final = Resource("", "v1", "Pod", "pods", namespaced=True)


@dataclass(frozen=True, slots=True)
class User:
    """A client of the API server that asserts that it is understood."""

    client: JsonClient

    def create(self, resource: Resource, content: Json) -> Json:
        """Create an object."""
        return _accepted(self.client.post(resource.path(content["metadata"].get("namespace", "")), content))

    def get(self, resource: Resource, namespace: str, name: str) -> Json:
        """An object; None if it does not exist."""
        response = self.client.get(resource.path(namespace, name))
        return None if response.code == 404 else _accepted(response)

    def list(self, resource: Resource, namespace: str, labels: str = "") -> list[Json]:
        """Objects of a namespace."""
        query = {"labelSelector": labels} if labels else {}
        return list(_accepted(self.client.get(resource.path(namespace), **query))["items"])

    def patch(self, resource: Resource, namespace: str, name: str, change: Json) -> Json:
        """Change an object by a merge patch."""
        return _accepted(self.client.patch(resource.path(namespace, name), change))

    def delete(self, resource: Resource, namespace: str, name: str) -> None:
        """Delete an object and then its dependents."""
        _accepted(self.client.delete(resource.path(namespace, name), propagationPolicy="Background"))


def _accepted(response: JsonResponse) -> Json:
    assert response.accepted, response.body
    return response.body


def observed(observe: Callable[[], T], is_met: Callable[[T], object], description: str) -> T:
    """The first observation that meets a condition; fails with the last one."""
    end = time.monotonic() + WAIT_SECONDS
    while not is_met(found := observe()):
        assert time.monotonic() < end, f"{description}: still {found}"
        time.sleep(INTERVAL)
    return found


def condition(found: Json, type_: str) -> tuple[str, str]:
    """Status and reason of a condition; empty if it is absent."""
    conditions = ((found or {}).get("status") or {}).get("conditions") or ()
    return next(((each["status"], each["reason"]) for each in conditions if each["type"] == type_), ("", ""))
