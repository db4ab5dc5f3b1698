"""Clients of an API server in memory, with all permissions or only some."""

from typing import Any

from kit.apiserver import ADMIN, InMemoryApiServer, Object
from kit.manager import ManagerHarness
from kohort.embedded.auth.users import AUTHENTICATED, User
from kohort.kube.client import Client

RBAC = "rbac.authorization.k8s.io/v1"


def client_of(cluster: InMemoryApiServer, user: User = ADMIN) -> Client:
    """A client of the cluster as a user."""
    return Client(cluster.core.transport(user), cluster.clock)


def unprivileged_user(name: str = "ann") -> User:
    """A user without permissions."""
    return User(name, (AUTHENTICATED,))


async def grant_read(cluster: InMemoryApiServer, user: User, *resources: str, namespace: str = "") -> None:
    """Grant a user read access to resources, cluster-wide or in a namespace."""
    groups = ["", "kueue.x-k8s.io", "batch", "node.k8s.io"]
    rules = [{"apiGroups": groups, "resources": list(resources), "verbs": ["get", "list", "watch"]}]
    name = f"{user.name}-{namespace or 'everywhere'}"
    place = {"namespace": namespace} if namespace else {}
    kind = "Role" if namespace else "ClusterRole"
    await cluster.create({"apiVersion": RBAC, "kind": kind, "metadata": {"name": name, **place}, "rules": rules})
    await cluster.create(
        {
            "apiVersion": RBAC,
            "kind": f"{kind}Binding",
            "metadata": {"name": name, **place},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user.name}],
        }
    )


def in_namespace(found: Object, name: str) -> Object:
    """The same object in another namespace."""
    return {**found, "metadata": {**found["metadata"], "namespace": name}}


async def wait_for_admission(harness: ManagerHarness, *names: str) -> None:
    """Wait until these Workloads are admitted."""
    for name in names:
        await harness.wait_for(lambda found: condition_status(found, "Admitted") == "True", "Workload", name)


def condition_status(found: Object, type_: str) -> str:
    """The status of a condition; empty if it is absent."""
    conditions: list[dict[str, Any]] = found.get("status", {}).get("conditions", [])
    return next((str(each["status"]) for each in conditions if each["type"] == type_), "")
