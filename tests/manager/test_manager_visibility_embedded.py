"""The visibility API behind the embedded server: by aggregation, for users with RBAC permission (API-99…104)."""

from typing import Any

import msgspec

from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.virtual_time import eventually
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.control_plane import ControlPlane
from kohort.kube.transport import Request
from manager.managers import LOOPBACK, NAMESPACE, admitted, create, fetch, running_plane, running_test_manager

Object = dict[str, Any]
ADMIN = User("admin", (MASTERS, AUTHENTICATED))
ANN = User("ann", (AUTHENTICATED,))
GROUP = "visibility.kueue.x-k8s.io"
PENDING = f"/apis/{GROUP}/v1beta2/clusterqueues/q/pendingworkloads"
RBAC = "rbac.authorization.k8s.io"
WAIT = 60.0


async def ask(plane: ControlPlane, user: User, path: str, body: Object | None = None) -> tuple[int, Object]:
    """Status and body of a response; a body creates."""
    data = b"" if body is None else msgspec.json.encode(body)
    request = Request("POST" if data else "GET", path, (), {"Content-Type": "application/json"}, data)
    response = await plane.server.core.transport(user).send(request, WAIT)
    return response.status, msgspec.json.decode(await response.read())


def service() -> Object:
    metadata = {"namespace": NAMESPACE, "name": "kueue-visibility-server"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 443}]}}


def endpoints(port: int) -> Object:
    """What serves the Service: a port of this machine."""
    labels = {"kubernetes.io/service-name": "kueue-visibility-server"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"namespace": NAMESPACE, "name": "visibility", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [LOOPBACK]}],
        "ports": [{"port": port}],
    }


def api_service() -> Object:
    spec = {"group": GROUP, "version": "v1beta2", "groupPriorityMinimum": 100, "versionPriority": 100}
    behind = {"namespace": NAMESPACE, "name": "kueue-visibility-server"}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1beta2.{GROUP}"},
        "spec": {**spec, "service": behind, "insecureSkipTLSVerify": True},
    }


async def register(plane: ControlPlane, port: int) -> None:
    for path, body in (
        (f"/api/v1/namespaces/{NAMESPACE}/services", service()),
        (f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices", endpoints(port)),
        ("/apis/apiregistration.k8s.io/v1/apiservices", api_service()),
    ):
        status, body_text = await ask(plane, ADMIN, path, body)
        assert status == 201, body_text


async def let_ann_look(plane: ControlPlane) -> None:
    rule = {"apiGroups": [GROUP], "resources": ["clusterqueues/pendingworkloads"], "verbs": ["get"]}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": [rule]}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "r"},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": "ann"}],
    }
    for plural, body in (("clusterroles", role), ("clusterrolebindings", binding)):
        assert (await ask(plane, ADMIN, f"/apis/{RBAC}/v1/{plural}", body))[0] == 201


async def test_pending_workloads_are_listed_for_permitted_users() -> None:
    """API-99…104: as the user that the embedded server authenticated."""
    async with running_plane() as plane, running_test_manager(plane) as manager:
        await register(plane, manager.addresses["visibility"].port)
        client = plane.client("user")
        await create(client, make_resource_flavor(), make_cluster_queue("q", "1"), make_local_queue("lq", "q"))
        await create(client, make_workload("a", "lq", priority=9))
        await admitted(client, "a")
        await create(client, make_workload("b", "lq", priority=0), make_workload("c", "lq", priority=5))
        _, body = await eventually(
            lambda: ask(plane, ADMIN, PENDING), lambda found: len(found[1].get("items", ())) == 2
        )
        assert [each["metadata"]["name"] for each in body["items"]] == ["c", "b"]
        assert (await ask(plane, ANN, PENDING))[0] == 403
        await let_ann_look(plane)
        assert (await ask(plane, ANN, PENDING))[0] == 200


async def test_headers_are_trusted_from_the_embedded_server_only() -> None:
    """API-104: headers of a client do not make it an administrator."""
    async with running_plane() as plane, running_test_manager(plane) as manager:
        await register(plane, manager.addresses["visibility"].port)
        url = f"https://{LOOPBACK}:{manager.addresses['visibility'].port}{PENDING}"
        body_text = {"X-Remote-User": "admin", "X-Remote-Group": MASTERS}
        assert (await fetch(url, **body_text))[0] == 401
