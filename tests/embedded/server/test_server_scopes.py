"""Permissions in one namespace end there, for any path of a request."""

import pytest

from embedded.server.objects import widget_definition
from embedded.server.scope_requests import FOREIGN, OWN, TENANT, ScopeRequest, scope_requests, tenancy
from kit.apiserver import InMemoryApiServer
from kit.builders.core import make_config_map

OPEN_TO_ALL = ("selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews")
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
async def tenant(cluster: InMemoryApiServer) -> InMemoryApiServer:
    custom = widget_definition()
    custom["metadata"]["name"] = "gadgets.example.com"
    custom["spec"] |= {"scope": "Cluster", "names": {"plural": "gadgets", "kind": "Gadget"}}
    for each in (*tenancy(), widget_definition(), custom):
        await cluster.create(each)
    return cluster.as_user(TENANT)


async def status_of(tenant: InMemoryApiServer, request: ScopeRequest) -> int:
    query = dict(pair.split("=") for pair in request.query.split("&") if pair)
    headers = {"Content-Type": request.media_type}
    response = await tenant.stream(request.method, request.path, request.body, headers, **query)
    await response.close()
    return response.status


async def test_rights_in_one_namespace_reach_no_object_outside(tenant: InMemoryApiServer) -> None:
    let_through = []
    for request in scope_requests(tenant.core.catalog.resources):
        if request.reaches_out and request.resource.plural not in OPEN_TO_ALL:
            status = await status_of(tenant, request)
            if status not in (403, 404, 405):
                let_through.append((status, request.method, request.path))
    assert let_through == []


async def test_a_path_of_another_scope_is_unknown_even_to_the_administrator(
    cluster: InMemoryApiServer, tenant: InMemoryApiServer
) -> None:
    found = []
    for request in scope_requests(cluster.core.catalog.resources):
        is_misplaced = bool(request.namespace) is not request.resource.namespaced and (
            request.namespace or request.name
        )
        if is_misplaced:
            status = await status_of(cluster, request)
            if status != 404:
                found.append((status, request.method, request.path))
    assert found == []


async def test_the_tenant_manages_what_is_in_its_namespace_and_the_namespace_itself(tenant: InMemoryApiServer) -> None:
    await tenant.create(make_config_map("mine", OWN))
    path = f"/api/v1/namespaces/{OWN}"
    assert (await tenant.get(path))["metadata"]["name"] == OWN
    assert (await tenant.get(f"{path}/status"))["metadata"]["name"] == OWN
    assert (await tenant.merge(path, {"metadata": {"labels": {"a": "b"}}})).status == 200
    found = await tenant.get(path)
    assert (await tenant.request("PUT", f"{path}/finalize", found)).status == 200
    assert (await tenant.request("GET", f"/api/v1/namespaces/{FOREIGN}")).status == 403
    assert (await tenant.request("DELETE", path)).status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"/api/v1/namespaces/{OWN}/namespaces"),
        ("GET", f"/api/v1/namespaces/{OWN}/namespaces/{FOREIGN}"),
        ("DELETE", f"/api/v1/namespaces/{OWN}/namespaces/{FOREIGN}"),
        ("PATCH", f"/api/v1/namespaces/{OWN}/namespaces/{FOREIGN}/status"),
        ("PATCH", f"/api/v1/namespaces/{OWN}/nodes/n/status"),
        ("PATCH", f"/apis/example.com/v1/namespaces/{OWN}/gadgets/g/status"),
    ],
)
async def test_cluster_objects_have_no_path_through_a_namespace(
    tenant: InMemoryApiServer, method: str, path: str
) -> None:
    reply = await tenant.request(method, path, {}, MERGE)
    assert (reply.status, reply.reason) == (404, "NotFound")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/api/v1/namespaces/{OWN}/../{FOREIGN}/configmaps", 400),
        (f"/api/v1/namespaces/{OWN}/%2e%2e/{FOREIGN}/configmaps", 400),
        (f"/api/v1/namespaces/{OWN}%2f..%2f{FOREIGN}/configmaps", 400),
        (f"/api/v1/namespaces/{OWN}/configmaps/.", 400),
        (f"/api/v1/namespaces/{OWN}/configmaps/%zz", 400),
        (f"/api/v1//namespaces/{OWN}/configmaps", 403),
        (f"/api/v1/namespaces//{OWN}/configmaps", 403),
        (f"/api/v1/namespaces/{OWN}//configmaps", 404),
        (f"//api/v1/namespaces/{OWN}/configmaps", 404),
        (f"/api/v1/namespaces/{OWN}%2Fconfigmaps", 200),
        (f"/api/v1/namespaces/{FOREIGN}%2Fconfigmaps", 403),
        (f"/api/v1/namespaces/{OWN}/configmaps/%2e%2e%2f{FOREIGN}", 400),
    ],
)
async def test_paths_have_one_reading(tenant: InMemoryApiServer, path: str, status: int) -> None:
    assert (await tenant.request("GET", path)).status == status


async def test_a_named_object_is_read_not_watched(tenant: InMemoryApiServer) -> None:
    await tenant.create(make_config_map("mine", OWN))
    path = f"/api/v1/namespaces/{OWN}/configmaps"
    assert (await tenant.get(f"{path}/mine", watch="true"))["kind"] == "ConfigMap"


async def test_deleting_by_field_selector_needs_the_right_to_delete_the_collection(cluster: InMemoryApiServer) -> None:
    for each in tenancy():
        if each["kind"] == "Role":
            each["rules"] = [
                {
                    "apiGroups": [""],
                    "resources": ["configmaps"],
                    "resourceNames": ["mine"],
                    "verbs": ["list", "deletecollection"],
                }
            ]
        await cluster.create(each)
    await cluster.create(make_config_map("mine", OWN))
    tenant = cluster.as_user(TENANT)
    path = f"/api/v1/namespaces/{OWN}/configmaps"
    assert (await tenant.request("GET", path, fieldSelector="metadata.name=mine")).status == 200
    assert (await tenant.request("DELETE", path, fieldSelector="metadata.name=mine")).status == 403


def test_every_request_of_the_enumeration_is_sent_once(cluster: InMemoryApiServer) -> None:
    requests = list(scope_requests(cluster.core.catalog.resources))
    assert len({(each.method, each.path, each.query) for each in requests}) == len(requests) > 6000
