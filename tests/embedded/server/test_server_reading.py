"""Get and list: selectors, pages, forms, and what is not there."""

from typing import Any

import pytest

from kit.apiserver import InMemoryApiServer
from kit.builders.core import make_config_map, make_pod

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}


def names(found: dict[str, Any]) -> list[str]:
    return [each["metadata"]["name"] for each in found["items"] if each["metadata"]["name"] != "kube-root-ca.crt"]


async def test_what_was_created_can_be_got(cluster: InMemoryApiServer) -> None:
    created = await cluster.create(make_config_map("a", x="1"))
    assert await cluster.get(f"{MAPS}/a") == created
    assert created["data"] == {"x": "1"}
    assert created["metadata"]["uid"]
    assert created["metadata"]["resourceVersion"]
    assert created["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"


async def test_what_is_not_there_is_a_404_that_names_it(cluster: InMemoryApiServer) -> None:
    reply = await cluster.request("GET", f"{MAPS}/nope")
    assert (reply.status, reply.reason) == (404, "NotFound")
    assert reply.message == 'configmaps "nope" not found'
    assert reply.body["details"] == {"name": "nope", "kind": "configmaps"}


@pytest.mark.parametrize("path", ["/api/v1/nonsense", "/api/v1/configmaps/a", f"{MAPS}/a/b/c"])
async def test_a_resource_that_is_not_served_is_a_404(cluster: InMemoryApiServer, path: str) -> None:
    reply = await cluster.request("GET", path)
    assert (reply.status, reply.message) == (404, "the server could not find the requested resource")


@pytest.mark.parametrize("path", ["/nowhere", "/apis/foo.example", "/apis/foo.example/v1"])
async def test_a_unknown_path_is_a_plain_404(cluster: InMemoryApiServer, path: str) -> None:
    reply = await cluster.request("GET", path)
    assert (reply.status, reply.body) == (404, "404 page not found\n")


async def test_items_of_built_in_kinds_leave_out_what_the_list_specifies(cluster: InMemoryApiServer) -> None:
    found = await cluster.get("/api/v1/namespaces")
    assert found["kind"] == "NamespaceList"
    assert all("kind" not in each and each["metadata"]["name"] for each in found["items"])


async def test_a_trailing_slash_changes_nothing(cluster: InMemoryApiServer) -> None:
    assert await cluster.get(f"{MAPS}/") == await cluster.get(MAPS)
    assert (await cluster.get("/apis/")) == (await cluster.get("/apis"))


async def test_lists_select_by_labels_and_fields(cluster: InMemoryApiServer) -> None:
    for name, team in (("a", "x"), ("b", "y"), ("c", "x")):
        await cluster.create(make_config_map(name, labels={"team": team}))
    assert names(await cluster.get(MAPS, labelSelector="team=x")) == ["a", "c"]
    assert names(await cluster.get(MAPS, labelSelector="team in (y),team")) == ["b"]
    assert names(await cluster.get(MAPS, fieldSelector="metadata.name=b")) == ["b"]
    assert names(await cluster.get(MAPS, fieldSelector="metadata.name!=b", labelSelector="team")) == ["a", "c"]


async def test_pods_select_by_their_node(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_pod("here", nodeName="n1"))
    await cluster.create(make_pod("there", nodeName="n2"))
    found = await cluster.get("/api/v1/pods", fieldSelector="spec.nodeName=n1,status.phase!=Failed")
    assert names(found) == ["here"]


async def test_an_unknown_field_selector_is_rejected(cluster: InMemoryApiServer) -> None:
    reply = await cluster.request("GET", MAPS, fieldSelector="data.x=1")
    assert reply.status == 400
    assert reply.message.startswith('"data.x" is not a known field selector')
    reply = await cluster.request("GET", "/api/v1/pods", fieldSelector="data.x=1")
    assert reply.message == "field label not supported: data.x"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"limit": "ten"}, "invalid syntax"),
        ({"resourceVersion": "x"}, "invalid syntax"),
        ({"labelSelector": "a=="}, None),
        ({"labelSelector": "a b"}, "unable to parse requirement"),
        ({"continue": "???"}, "continue key is not valid"),
        ({"resourceVersionMatch": "Exact"}, "forbidden unless resourceVersion is provided"),
        ({"includeObject": "All"}, "must be 'Metadata', 'Object', 'None', or empty"),
    ],
)
async def test_options_that_make_no_sense_are_reported(
    cluster: InMemoryApiServer, query: dict[str, str], text: str | None
) -> None:
    reply = await cluster.request("GET", MAPS, None, TABLE, **query)
    if text is None:
        assert reply.status == 200
    else:
        assert reply.status in (400, 422)
        assert text in reply.message


async def test_pages_hold_together_while_others_write(cluster: InMemoryApiServer) -> None:
    for name in "abcde":
        await cluster.create(make_config_map(name, labels={"page": "yes"}))
    first = await cluster.get(MAPS, limit="2", labelSelector="page")
    await cluster.create(make_config_map("aa", labels={"page": "yes"}))
    await cluster.request("DELETE", f"{MAPS}/e")
    token = first["metadata"]["continue"]
    second = await cluster.get(MAPS, **{"limit": "2", "continue": token, "labelSelector": "page"})
    token = second["metadata"]["continue"]
    third = await cluster.get(MAPS, **{"limit": "2", "continue": token, "labelSelector": "page"})
    assert [names(each) for each in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert "continue" not in third["metadata"]
    assert {each["metadata"]["resourceVersion"] for each in (first, second, third)} == {
        first["metadata"]["resourceVersion"]
    }


async def test_a_page_reports_how_many_follow(cluster: InMemoryApiServer) -> None:
    for name in "abc":
        await cluster.create(make_config_map(name))
    page = await cluster.get(MAPS, limit="1")
    assert page["metadata"]["remainingItemCount"] == 3


async def test_a_continue_token_of_a_compacted_revision_is_gone(cluster: InMemoryApiServer) -> None:
    for name in "abc":
        await cluster.create(make_config_map(name))
    token = (await cluster.get(MAPS, limit="1"))["metadata"]["continue"]
    await cluster.create(make_config_map("d"))
    await cluster.core.store.compact(cluster.core.store.revision)
    reply = await cluster.request("GET", MAPS, **{"limit": "1", "continue": token})
    assert (reply.status, reply.reason) == (410, "Expired")
    assert "The provided continue parameter is too old" in reply.message


async def test_a_version_of_the_future_times_out(cluster: InMemoryApiServer) -> None:
    future = str(cluster.core.store.revision + 1000)
    reply = await cluster.request("GET", MAPS, resourceVersion=future)
    assert reply.status == 504
    assert "Too large resource version" in reply.message


async def test_an_exact_version_shows_the_past(cluster: InMemoryApiServer) -> None:
    created = await cluster.create(make_config_map("a"))
    await cluster.request("DELETE", f"{MAPS}/a")
    version = created["metadata"]["resourceVersion"]
    past = await cluster.get(MAPS, resourceVersion=version, resourceVersionMatch="Exact")
    assert names(past) == ["a"]
    assert names(await cluster.get(MAPS, resourceVersion=version)) == []


async def test_a_list_can_be_a_table(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a", x="1", y="2"))
    reply = await cluster.request("GET", MAPS, None, TABLE, fieldSelector="metadata.name=a")
    assert reply.body["kind"] == "Table"
    assert reply.body["rows"][0]["cells"][:2] == ["a", 2]
    assert reply.body["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_a_refusal_is_no_table(cluster: InMemoryApiServer) -> None:
    assert (await cluster.request("GET", f"{MAPS}/nope", None, TABLE)).body["kind"] == "Status"


async def test_a_list_can_be_metadata_alone(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a", x="1"))
    found = (await cluster.request("GET", MAPS, None, PARTIAL)).body
    assert found["kind"] == "PartialObjectMetadataList"
    assert "data" not in found["items"][0]
    assert "a" in names(found)


async def test_an_object_can_be_yaml(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a", x="1"))
    reply = await cluster.request("GET", f"{MAPS}/a", None, {"Accept": "application/yaml"})
    assert "apiVersion: v1" in reply.body


async def test_a_form_that_is_unsupported_is_not_acceptable(cluster: InMemoryApiServer) -> None:
    assert (await cluster.request("GET", MAPS, None, {"Accept": "image/png"})).status == 406
    assert (await cluster.request("GET", MAPS, None, {"Accept": "application/vnd.kubernetes.protobuf"})).status == 200


async def test_events_are_one_store_with_two_shapes(cluster: InMemoryApiServer) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": "default"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": involved,
        "reason": "Tested",
        "message": "hello",
        "type": "Normal",
    }
    await cluster.create(event)
    new = await cluster.get("/apis/events.k8s.io/v1/namespaces/default/events/e")
    assert (new["apiVersion"], new["note"], new["regarding"]["name"]) == ("events.k8s.io/v1", "hello", "p")
    path = "/apis/events.k8s.io/v1/events"
    assert names(await cluster.get(path, fieldSelector="regarding.name=p")) == ["e"]
    assert names(await cluster.get("/api/v1/events", fieldSelector="involvedObject.name=q")) == []


async def test_of_a_group_that_is_not_served_not_even_a_status_is_decoded(cluster: InMemoryApiServer) -> None:
    reply = await cluster.request("GET", "/apis/foo.example/v1/bars")
    assert (reply.status, reply.body) == (404, "404 page not found\n")


async def test_one_object_is_found_by_name_across_namespaces(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a"))
    found = await cluster.get("/api/v1/configmaps", fieldSelector="metadata.name=a")
    assert names(found) == ["a"]
