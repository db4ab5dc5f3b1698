"""CustomResourceDefinitions: served at once, in every version, and gone with their objects."""

import asyncio

from embedded.server.objects import version, widget, widget_definition
from kit.apiserver import InMemoryApiServer, Object, WatchRecorder
from kit.virtual_time import settle

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = f"{CRDS}/widgets.example.com"


async def test_a_definition_is_served_at_once(cluster: InMemoryApiServer) -> None:
    created = await cluster.create(widget_definition())
    conditions = {each["type"]: each["status"] for each in created["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    made = await cluster.create(widget("w", 3))
    assert made["spec"] == {"size": 3, "color": "red"}
    assert made["metadata"]["generation"] == 1
    groups = await cluster.get("/apis")
    assert "example.com" in {each["name"] for each in groups["groups"]}
    assert "apis/example.com/v1" in (await cluster.get("/openapi/v3"))["paths"]


async def test_a_bad_definition_is_refused(cluster: InMemoryApiServer) -> None:
    broken = widget_definition()
    broken["metadata"]["name"] = "gadgets.example.com"
    reply = await cluster.try_create(broken)
    assert reply.status == 422
    assert "metadata.name" in reply.message


async def test_custom_objects_are_checked(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition())
    reply = await cluster.try_create(widget("w", 0))
    assert (reply.status, reply.reason) == (422, "Invalid")
    assert reply.message.startswith('Widget.example.com "w" is invalid: spec.size')
    odd = widget("w")
    odd["spec"]["sise"] = 1
    assert "sise" not in (await cluster.create(odd))["spec"]
    strict = await cluster.try_create(odd, fieldValidation="Strict")
    assert 'unknown field "spec.sise"' in strict.message


async def test_custom_objects_take_no_strategic_patch(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition())
    await cluster.create(widget("w"))
    kind = {"Content-Type": "application/strategic-merge-patch+json"}
    assert (await cluster.request("PATCH", f"{WIDGETS}/w", {"spec": {"size": 2}}, kind)).status == 415
    assert (await cluster.merge(f"{WIDGETS}/w", {"spec": {"size": 2}})).body["spec"]["size"] == 2


async def test_an_update_must_name_the_version_it_saw(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition())
    await cluster.create(widget("w"))
    reply = await cluster.update(widget("w", 2))
    assert reply.status == 422
    assert "metadata.resourceVersion: Invalid value: 0: must be specified for an update" in reply.message


async def test_status_has_its_own_endpoint(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition())
    await cluster.create({**widget("w"), "status": {"ready": True}})
    assert "status" not in await cluster.get(f"{WIDGETS}/w")
    reply = await cluster.merge(f"{WIDGETS}/w/status", {"status": {"ready": True}, "spec": {"size": 9}})
    assert (reply.body["status"], reply.body["spec"]["size"]) == ({"ready": True}, 1)


async def test_every_version_shows_the_same_object(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition(version("v1", storage=False), version("v2")))
    await cluster.create(widget("w", 4))
    stored = cluster.core.store.list("widgets.example.com").entries[0].object
    assert stored["apiVersion"] == "example.com/v2"
    for name in ("v1", "v2"):
        path = f"/apis/example.com/{name}/namespaces/default/widgets"
        one, many = await cluster.get(f"{path}/w"), await cluster.get(path)
        assert (one["apiVersion"], one["spec"]["size"]) == (f"example.com/{name}", 4)
        assert many["items"] == [one]
    watching = WatchRecorder(await cluster.stream("GET", WIDGETS, watch="true"))
    assert (await watching.next())[1]["apiVersion"] == "example.com/v1"


def without_color(name: str, *, storage: bool) -> Object:
    """A version without the field `color`."""
    made = version(name, storage=storage)
    del made["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"]
    return made


async def test_fields_unknown_to_the_stored_version_are_not_stored(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition(version("v1", storage=False), without_color("v2", storage=True)))
    assert (await cluster.create(widget("w")))["spec"] == {"size": 1}
    assert cluster.core.store.list("widgets.example.com").entries[0].object["spec"] == {"size": 1}
    assert (await cluster.get(f"{WIDGETS}/w"))["spec"] == {"size": 1}


async def test_the_stored_version_adds_its_defaults(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition(without_color("v1", storage=False), version("v2")))
    assert (await cluster.create(widget("w")))["spec"] == {"size": 1}
    newer = await cluster.get("/apis/example.com/v2/namespaces/default/widgets/w")
    assert newer["spec"] == {"size": 1, "color": "red"}


async def test_a_dry_run_shows_what_would_come_back_from_the_store(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition(version("v1", storage=False), without_color("v2", storage=True)))
    assert (await cluster.create(widget("w"), dryRun="All"))["spec"] == {"size": 1}
    await cluster.create(widget("w"))
    reply = await cluster.merge(f"{WIDGETS}/w", {"spec": {"size": 2, "color": "blue"}}, dryRun="All")
    assert reply.body["spec"] == {"size": 2}


async def test_a_write_through_a_version_with_fewer_fields_changes_none_of_the_others(
    cluster: InMemoryApiServer,
) -> None:
    await cluster.create(widget_definition(without_color("v1", storage=False), version("v2")))
    blue = widget("w", api_version="example.com/v2")
    blue["spec"]["color"] = "blue"
    made = await cluster.create(blue)
    seen = await cluster.get(f"{WIDGETS}/w")
    assert seen["spec"] == {"size": 1}
    again = (await cluster.update(seen)).body
    assert again["metadata"]["generation"] == made["metadata"]["generation"] == 1
    assert cluster.core.store.list("widgets.example.com").entries[0].object["spec"] == {"size": 1, "color": "red"}
    assert (await cluster.update(again)).body["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]


async def test_a_version_that_is_no_longer_served_is_gone(cluster: InMemoryApiServer) -> None:
    definition = await cluster.create(widget_definition(version("v1"), version("v2", storage=False)))
    definition["spec"]["versions"][1]["served"] = False
    assert (await cluster.update(definition)).status == 200
    assert (await cluster.request("GET", "/apis/example.com/v2/widgets")).status == 404


async def test_a_definition_is_deleted_with_its_objects(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition())
    await cluster.create(widget("w"))
    watching = WatchRecorder(
        await cluster.stream("GET", CRDS, watch="true", fieldSelector="metadata.name=widgets.example.com")
    )
    await cluster.request("DELETE", CRD)
    async with asyncio.timeout(60):
        while (await watching.next())[0] != "DELETED":
            pass
    await settle()
    assert not cluster.core.store.list("widgets.example.com").entries
    assert (await cluster.request("GET", WIDGETS)).status == 404


async def test_a_definition_waits_for_an_object_that_is_held(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition())
    held = widget("w")
    held["metadata"]["finalizers"] = ["x.example/held"]
    await cluster.create(held)
    watching = WatchRecorder(
        await cluster.stream("GET", CRDS, watch="true", fieldSelector="metadata.name=widgets.example.com")
    )
    await cluster.request("DELETE", CRD)
    async with asyncio.timeout(60):
        while not (await cluster.get(f"{WIDGETS}/w"))["metadata"].get("deletionTimestamp"):
            await asyncio.sleep(0)
        assert (await cluster.request("GET", CRD)).status == 200
        await cluster.merge(f"{WIDGETS}/w", {"metadata": {"finalizers": []}})
        while (await watching.next())[0] != "DELETED":
            pass


async def test_definitions_are_back_after_a_restart(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition())
    cluster.core.catalog.forget("widgets.example.com")
    cluster.core.definitions.load()
    assert (await cluster.request("GET", WIDGETS)).status == 200


async def test_metadata_has_types_that_no_definition_changes(cluster: InMemoryApiServer) -> None:
    await cluster.create(widget_definition())
    wrongs: tuple[Object, ...] = ({"name": 1.5}, {"finalizers": [7]}, {"labels": []})
    for wrong in wrongs:
        found = widget("w")
        found["metadata"] |= wrong
        reply = await cluster.try_create(found)
        assert (reply.status, reply.reason) == (400, "BadRequest"), reply
    odd = widget("w")
    odd["metadata"]["lables"] = {}
    strict = await cluster.try_create(odd, fieldValidation="Strict")
    assert 'unknown field "metadata.lables"' in strict.message
