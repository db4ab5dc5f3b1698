"""Watches: from any moment, through any selector, in any form, to an orderly end."""

import asyncio

from kit.apiserver import InMemoryApiServer, WatchRecorder
from kit.builders.core import make_config_map, make_namespace
from kit.virtual_time import settle

MAPS = "/api/v1/namespaces/default/configmaps"


async def watch(cluster: InMemoryApiServer, **query: str) -> WatchRecorder:
    return WatchRecorder(await cluster.stream("GET", MAPS, watch="true", **query))


async def version(cluster: InMemoryApiServer) -> str:
    return str((await cluster.get(MAPS))["metadata"]["resourceVersion"])


async def test_changes_come_in_their_order(cluster: InMemoryApiServer) -> None:
    watching = await watch(cluster, resourceVersion=await version(cluster))
    await cluster.create(make_config_map("a"))
    await cluster.merge(f"{MAPS}/a", {"data": {"x": "1"}})
    await cluster.request("DELETE", f"{MAPS}/a")
    assert await watching.names(3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_without_a_version_a_watch_begins_with_what_is_there(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a"))
    watching = await watch(cluster)
    await cluster.create(make_config_map("b"))
    assert await watching.names(3) == [("ADDED", "a"), ("ADDED", "kube-root-ca.crt"), ("ADDED", "b")]


async def test_initial_events_end_with_a_bookmark(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a"))
    watching = await watch(
        cluster, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
    )
    assert await watching.names(2) == [("ADDED", "a"), ("ADDED", "kube-root-ca.crt")]
    kind, found = await watching.next()
    assert kind == "BOOKMARK"
    assert found["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert found["metadata"]["resourceVersion"] == await version(cluster)


async def test_what_leaves_the_selection_is_deleted_and_what_enters_is_added(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a", labels={"team": "x"}))
    watching = await watch(cluster, labelSelector="team=x", resourceVersion=await version(cluster))
    for team in ("y", "z", "x"):
        await cluster.merge(f"{MAPS}/a", {"metadata": {"labels": {"team": team}}})
    await cluster.merge(f"{MAPS}/a", {"data": {"k": "v"}})
    assert await watching.names(3) == [("DELETED", "a"), ("ADDED", "a"), ("MODIFIED", "a")]


async def test_a_watch_ends_when_its_time_is_over(cluster: InMemoryApiServer) -> None:
    watching = await watch(cluster, timeoutSeconds="30", resourceVersion=await version(cluster))
    ended = asyncio.create_task(watching.has_ended())
    await cluster.clock.advance(29)
    assert not ended.done()
    await cluster.clock.advance(2)
    assert await asyncio.wait_for(ended, 60)


async def test_bookmarks_show_that_nothing_was_missed(cluster: InMemoryApiServer) -> None:
    watching = await watch(cluster, allowWatchBookmarks="true", resourceVersion=await version(cluster))
    await cluster.create(make_namespace("elsewhere"))
    waiting = asyncio.create_task(watching.next())
    await settle()
    await cluster.clock.advance(61)
    kind, found = await asyncio.wait_for(waiting, 60)
    assert kind == "BOOKMARK"
    assert int(found["metadata"]["resourceVersion"]) == cluster.core.store.revision


async def test_a_version_that_is_too_old_is_an_error_in_the_stream(cluster: InMemoryApiServer) -> None:
    old = await version(cluster)
    await cluster.create(make_config_map("a"))
    await cluster.core.store.compact(cluster.core.store.revision)
    kind, found = await (await watch(cluster, resourceVersion=old)).next()
    assert (kind, found["code"], found["reason"]) == ("ERROR", 410, "Expired")
    assert "too old resource version" in found["message"]


async def test_a_watch_can_be_a_table(cluster: InMemoryApiServer) -> None:
    accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    await cluster.create(make_config_map("a"))
    response = await cluster.stream("GET", MAPS, None, accept, watch="1", fieldSelector="metadata.name=a")
    kind, found = await WatchRecorder(response).next()
    assert (kind, found["kind"], found["rows"][0]["cells"][0]) == ("ADDED", "Table", "a")


async def test_a_closed_watch_leaves_nothing_behind(cluster: InMemoryApiServer) -> None:
    before = len(asyncio.all_tasks())
    response = await cluster.stream("GET", MAPS, watch="true")
    await WatchRecorder(response).next()
    await response.close()
    await settle()
    assert len(asyncio.all_tasks()) == before


async def test_a_watch_takes_no_exact_version(cluster: InMemoryApiServer) -> None:
    reply = await cluster.request("GET", "/api/v1/configmaps", watch="true", resourceVersionMatch="Exact")
    reasons = [cause["reason"] for cause in reply.body["details"]["causes"]]
    assert reasons == ["FieldValueForbidden", "FieldValueNotSupported"]
