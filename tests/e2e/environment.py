"""A control plane with nodes and the manager, and clients of its users; real time, but short."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from kohort.api.config.common import Integrations
from kohort.api.resource import Resource
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.options import DeletionOptions, ListScope
from kohort.kube.patches import MergePatch
from kohort.kube.rest_mapper import RestMapper

TIMEOUT = 60.0
GPU = "nvidia.com/gpu"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"
ALL_KINDS = Integrations(frameworks=("batch/job", "pod", "deployment", "statefulset"))

Json = Any
Object = dict[str, Any]
Check = Callable[[], Awaitable[object]]


def gpu_nodes() -> tuple[DeclaredNode, ...]:
    """Six nodes of eight GPUs."""
    offered = {"cpu": "96", "memory": "512Gi", "pods": "110", GPU: "8"}
    return tuple(DeclaredNode(f"gpu-{number}", offered, labels={"gpu-type": "a100"}) for number in range(6))


@dataclass(frozen=True)
class Environment:
    """A cluster that scenarios run on."""

    admin: Client
    as_user: Callable[[str], Client]
    """A client with the permissions that RBAC grants to the user of that name."""

    def user(self, client: Client | None = None) -> "UserClient":
        """A user of the cluster; by default the administrator."""
        return UserClient(client or self.admin)


@dataclass(frozen=True)
class UserClient:
    """Requests of one user."""

    client: Client

    async def create(self, *objects: Object) -> None:
        """Create objects of any kind and version, in order."""
        for each in objects:
            await self.client.of(await self._resource(each["apiVersion"], each["kind"])).create(each)

    async def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Object | None:
        """An object; None if it does not exist."""
        try:
            return await self.client.of(await self._resource(api_version, kind)).get((namespace, name))
        except StatusError as error:
            if error.is_not_found:
                return None
            raise

    async def all_of(self, api_version: str, kind: str, namespace: str = "", labels: str = "") -> list[Object]:
        """Objects of a kind."""
        scope = ListScope(namespace=namespace, labels=labels)
        return list((await self.client.of(await self._resource(api_version, kind)).list(scope)).items)

    async def patch(
        self, api_version: str, kind: str, name: str, namespace: str, change: Json, subresource: str = ""
    ) -> Object:
        """Change a part of an object."""
        return await self.client.of(await self._resource(api_version, kind)).patch(
            (namespace, name), MergePatch(change), subresource=subresource
        )

    async def delete(self, api_version: str, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object and its dependents."""
        await self.client.of(await self._resource(api_version, kind)).delete(
            (namespace, name), DeletionOptions("Background")
        )

    async def job(self, name: str, namespace: str) -> Object:
        """A Job that exists."""
        found = await self.get("batch/v1", "Job", name, namespace)
        assert found is not None, f"Job {namespace}/{name} is gone"
        return found

    async def workload_of(self, job: str, namespace: str) -> Object | None:
        """The Workload of a Job."""
        made = await self.all_of("kueue.x-k8s.io/v1beta2", "Workload", namespace)
        return next((each for each in made if _owner(each) == job), None)

    async def pods_of(self, job: str, namespace: str) -> list[Object]:
        """Pods of a Job that are not being deleted."""
        found = await self.all_of("v1", "Pod", namespace, f"batch.kubernetes.io/job-name={job}")
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    async def event_reasons(self, kind: str, name: str, namespace: str) -> list[str]:
        """Reasons of the events about an object."""
        events = await self.all_of("events.k8s.io/v1", "Event", namespace)
        about = [each for each in events if (each["regarding"]["kind"], each["regarding"]["name"]) == (kind, name)]
        return [each["reason"] for each in about]

    async def _resource(self, api_version: str, kind: str) -> Resource:
        return await RestMapper(self.client).resource(api_version, kind)


def _owner(workload: Object) -> str:
    owners = workload["metadata"].get("ownerReferences") or [{}]
    return str(owners[0].get("name", ""))


def condition(found: Object | None, type_: str) -> tuple[str, str]:
    """Status and reason of a condition; empty if it is absent."""
    conditions = (found or {}).get("status", {}).get("conditions") or ()
    return next(((each["status"], each["reason"]) for each in conditions if each["type"] == type_), ("", ""))


def message(found: Object | None, type_: str) -> str:
    """The message of a condition; empty if it is absent."""
    conditions = (found or {}).get("status", {}).get("conditions") or ()
    return next((str(each["message"]) for each in conditions if each["type"] == type_), "")


def running(pods: Iterable[Object]) -> int:
    """How many pods run."""
    return sum(each.get("status", {}).get("phase") == "Running" for each in pods)
