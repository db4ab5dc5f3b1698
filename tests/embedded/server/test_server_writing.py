"""Create, update, patch, apply: what is stored, what is refused, and what others never lose."""

import asyncio

import pytest

from embedded.server.objects import deployment
from kit.apiserver import InMemoryApiServer
from kit.builders.core import make_config_map, make_pod
from kohort.embedded.storage import StorageEvent

MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}
JSON_PATCH = {"Content-Type": "application/json-patch+json"}


async def test_a_taken_name_is_refused(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a"))
    reply = await cluster.try_create(make_config_map("a"))
    assert (reply.status, reply.reason) == (409, "AlreadyExists")
    assert reply.message == 'configmaps "a" already exists'


async def test_names_are_generated(cluster: InMemoryApiServer) -> None:
    found = make_config_map("")
    found["metadata"] = {"generateName": "job-"}
    names = {(await cluster.create(found))["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("job-") and len(name) == 9 for name in names)


async def test_kind_and_version_may_be_left_out_and_not_be_wrong(cluster: InMemoryApiServer) -> None:
    assert (await cluster.request("POST", MAPS, {"metadata": {"name": "a"}})).status == 201
    wrong = await cluster.request("POST", MAPS, {"kind": "ConfigMap", "apiVersion": "v2", "metadata": {"name": "b"}})
    assert wrong.status == 400
    assert "does not match the expected API version (v1)" in wrong.message


async def test_path_and_object_must_agree(cluster: InMemoryApiServer) -> None:
    other = await cluster.request("POST", MAPS, make_config_map("a", namespace="kube-system"))
    assert other.message == "the namespace of the provided object does not match the namespace sent on the request"
    await cluster.create(make_config_map("a"))
    named = await cluster.request("PUT", f"{MAPS}/a", make_config_map("b"))
    assert named.message == "the name of the object (b) does not match the name on the URL (a)"


async def test_ids_and_times_come_from_the_server_alone(cluster: InMemoryApiServer) -> None:
    found = make_config_map("a")
    found["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "resourceVersion": "7"}
    created = await cluster.create(found)
    assert created["metadata"]["uid"] != "mine"
    assert created["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    updated = (await cluster.merge(f"{MAPS}/a", {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}})).body
    assert updated["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"


async def test_an_update_of_an_old_state_is_a_conflict(cluster: InMemoryApiServer) -> None:
    first = await cluster.create(make_config_map("a", x="1"))
    await cluster.merge(f"{MAPS}/a", {"data": {"x": "2"}})
    reply = await cluster.update({**first, "data": {"x": "3"}})
    assert (reply.status, reply.reason) == (409, "Conflict")
    assert reply.message.startswith('Operation cannot be fulfilled on configmaps "a": the object has been modified')
    first["metadata"].pop("resourceVersion")
    assert (await cluster.update({**first, "data": {"x": "3"}})).body["data"] == {"x": "3"}


async def test_an_update_of_another_incarnation_is_a_conflict(cluster: InMemoryApiServer) -> None:
    first = await cluster.create(make_config_map("a"))
    await cluster.request("DELETE", f"{MAPS}/a")
    await cluster.create(make_config_map("a"))
    first["metadata"].pop("resourceVersion")
    reply = await cluster.update(first)
    assert reply.reason == "Conflict"
    assert "Precondition failed: UID in precondition" in reply.message


async def test_what_changes_nothing_writes_nothing(cluster: InMemoryApiServer) -> None:
    created = await cluster.create(make_config_map("a", x="1"))
    again = (await cluster.merge(f"{MAPS}/a", {"data": {"x": "1"}})).body
    assert again["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_an_update_creates_only_where_the_kind_specifies_it(cluster: InMemoryApiServer) -> None:
    assert (await cluster.update(make_config_map("a"))).status == 404
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}
    assert (await cluster.update(lease)).status == 201


async def test_no_patch_is_lost_among_many_writers(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a"))
    patches = [cluster.merge(f"{MAPS}/a", {"data": {f"k{each}": "v"}}) for each in range(5)]
    assert [reply.status for reply in await asyncio.gather(*patches)] == [200] * 5
    assert len((await cluster.get(f"{MAPS}/a"))["data"]) == 5


async def test_a_patch_that_names_a_version_insists_on_it(cluster: InMemoryApiServer) -> None:
    old = (await cluster.create(make_config_map("a")))["metadata"]["resourceVersion"]
    assert (await cluster.merge(f"{MAPS}/a", {"metadata": {"resourceVersion": old}, "data": {"x": "1"}})).status == 200
    late = await cluster.merge(f"{MAPS}/a", {"metadata": {"resourceVersion": old}, "data": {"x": "2"}})
    assert late.reason == "Conflict"


async def test_patches_of_every_form(cluster: InMemoryApiServer) -> None:
    await cluster.create(deployment("d"))
    path = f"{DEPLOYMENTS}/d"
    added = {"spec": {"template": {"spec": {"containers": [{"name": "more", "image": "busybox:1"}]}}}}
    merged = await cluster.request("PATCH", path, added, STRATEGIC)
    assert {each["name"] for each in merged.body["spec"]["template"]["spec"]["containers"]} == {"main", "more"}
    replaced = await cluster.request(
        "PATCH", path, [{"op": "replace", "path": "/spec/replicas", "value": 7}], JSON_PATCH
    )
    assert replaced.body["spec"]["replicas"] == 7
    assert (await cluster.request("PATCH", path, {"spec": {}}, {"Content-Type": "text/plain"})).status == 415


async def test_what_came_to_be_empty_in_metadata_is_gone(cluster: InMemoryApiServer) -> None:
    path = "/api/v1/namespaces/default/configmaps/a"
    metadata = {"name": "a", "labels": {"x": "y"}, "finalizers": ["example.com/wait"], "annotations": {}}
    created = await cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert "annotations" not in created["metadata"]
    changed = await cluster.merge(path, {"metadata": {"labels": {"x": None}, "finalizers": [], "ownerReferences": []}})
    assert not {"labels", "finalizers", "ownerReferences", "annotations"} & set(changed.body["metadata"])


async def test_generations_count_changes_of_the_spec(cluster: InMemoryApiServer) -> None:
    created = await cluster.create(deployment("d"))
    assert created["metadata"]["generation"] == 1
    labelled = await cluster.merge(f"{DEPLOYMENTS}/d", {"metadata": {"labels": {"a": "b"}}})
    assert labelled.body["metadata"]["generation"] == 1
    scaled = await cluster.merge(f"{DEPLOYMENTS}/d", {"spec": {"replicas": 3}})
    assert scaled.body["metadata"]["generation"] == 2
    status = await cluster.merge(f"{DEPLOYMENTS}/d/status", {"status": {"replicas": 3}})
    assert status.body["metadata"]["generation"] == 2


async def test_status_and_spec_have_their_own_endpoints(cluster: InMemoryApiServer) -> None:
    await cluster.create({**deployment("d"), "status": {"replicas": 9}})
    path = f"{DEPLOYMENTS}/d"
    assert not (await cluster.get(path)).get("status")
    await cluster.merge(path, {"status": {"replicas": 9}})
    assert not (await cluster.get(path)).get("status")
    await cluster.merge(f"{path}/status", {"status": {"replicas": 2}, "spec": {"replicas": 50}})
    found = await cluster.get(path)
    assert (found["status"]["replicas"], found["spec"]["replicas"]) == (2, 1)


async def test_a_dry_run_returns_the_result_and_stores_nothing(cluster: InMemoryApiServer) -> None:
    assert (await cluster.try_create(make_config_map("a"), dryRun="All")).status == 201
    assert (await cluster.request("GET", f"{MAPS}/a")).status == 404
    await cluster.create(make_config_map("a"))
    assert (await cluster.merge(f"{MAPS}/a", {"data": {"x": "1"}}, dryRun="All")).body["data"] == {"x": "1"}
    assert "data" not in await cluster.get(f"{MAPS}/a") or not (await cluster.get(f"{MAPS}/a"))["data"]
    assert (await cluster.request("DELETE", f"{MAPS}/a", dryRun="All")).status == 200
    assert (await cluster.request("GET", f"{MAPS}/a")).status == 200
    assert (await cluster.try_create(make_config_map("b"), dryRun="Some")).status == 422


async def test_unknown_fields_are_rejected_reported_or_dropped(cluster: InMemoryApiServer) -> None:
    odd = {**make_config_map("a"), "dta": {}}
    strict = await cluster.try_create(odd, fieldValidation="Strict")
    assert strict.status == 400
    assert 'strict decoding error: unknown field "dta"' in strict.message
    warned = await cluster.try_create(odd, fieldValidation="Warn")
    assert warned.headers["Warning"] == '299 - "unknown field \\"dta\\""'
    assert "dta" not in warned.body
    silent = await cluster.try_create({**odd, "metadata": {"name": "b"}}, fieldValidation="Ignore")
    assert "Warning" not in silent.headers
    assert (await cluster.try_create(odd, fieldValidation="Maybe")).status == 422


async def test_a_field_given_twice_is_refused_when_strict(cluster: InMemoryApiServer) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"x":"1","x":"2"}}'
    reply = await cluster.request("POST", MAPS, body, fieldValidation="Strict")
    assert 'duplicate field "x"' in reply.message


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"metadata: {name: yam}", "application/yaml", 201),
        (b"a: b: c", "application/yaml", 400),
        (b"k8s\x00\xff\xff", "application/vnd.kubernetes.protobuf", 400),
        (b"{}", "text/html", 415),
        (b'{"metadata":[]}', "application/json", 400),
        (b'{"metadata":{"name":5}}', "application/json", 400),
    ],
)
async def test_bodies_that_are_no_objects(cluster: InMemoryApiServer, body: bytes, kind: str, status: int) -> None:
    reply = await cluster.request("POST", MAPS, body, {"Content-Type": kind})
    assert reply.status == status, reply


async def test_apply_creates_and_then_owns(cluster: InMemoryApiServer) -> None:
    first = await cluster.apply(make_config_map("a", x="1"), "one")
    assert first.status == 201
    entry = first.body["metadata"]["managedFields"][0]
    assert (entry["manager"], entry["operation"]) == ("one", "Apply")
    clash = await cluster.apply(make_config_map("a", x="2"), "two")
    assert (clash.status, clash.reason) == (409, "Conflict")
    assert 'conflict with "one"' in clash.message
    forced = await cluster.apply(make_config_map("a", x="2"), "two", force="true")
    assert (forced.status, forced.body["data"]) == (200, {"x": "2"})


async def test_apply_removes_fields_that_its_manager_no_longer_applies(cluster: InMemoryApiServer) -> None:
    await cluster.apply(make_config_map("a", x="1", y="1"), "one")
    await cluster.apply(make_config_map("a", z="1"), "two")
    reply = await cluster.apply(make_config_map("a", x="1"), "one")
    assert reply.body["data"] == {"x": "1", "z": "1"}


async def test_apply_needs_a_manager(cluster: InMemoryApiServer) -> None:
    kind = {"Content-Type": "application/apply-patch+yaml"}
    reply = await cluster.request("PATCH", f"{MAPS}/a", make_config_map("a"), kind)
    assert reply.status == 422
    assert "fieldManager: Required value: is required for apply patch" in reply.message


async def test_invalid_objects_report_what_is_wrong(cluster: InMemoryApiServer) -> None:
    broken = make_pod("p")
    broken["spec"]["containers"] = []
    reply = await cluster.try_create(broken)
    assert (reply.status, reply.reason) == (422, "Invalid")
    assert reply.message.startswith('Pod "p" is invalid: spec.containers: Required value')
    assert reply.body["details"]["causes"][0]["field"] == "spec.containers"


async def test_only_what_can_be_done_is_done(cluster: InMemoryApiServer) -> None:
    assert (await cluster.request("POST", "/api/v1/configmaps", make_config_map("a"))).status == 405
    assert (await cluster.request("PUT", MAPS, make_config_map("a"))).status == 405
    assert (await cluster.request("DELETE", "/api/v1/namespaces")).status == 405
    assert (await cluster.request("POST", "/version", {})).status == 405
    assert (await cluster.request("BREW", MAPS)).status == 405


async def test_a_write_that_is_done_is_reported_as_done(
    cluster: InMemoryApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: StorageEvent) -> None:
        raise RuntimeError("can't follow")

    cluster.core.store_writer.add_hook("configmaps", fail)
    assert (await cluster.try_create(make_config_map("a"))).status == 201
    assert [record.getMessage() for record in caplog.records] == ["post-commit hook failed"]


async def test_a_patch_can_not_change_the_identity(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a"))
    reply = await cluster.merge(f"{MAPS}/a", {"metadata": {"uid": "other"}})
    assert reply.message == 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable'


async def test_the_manager_that_scales_owns_the_count_without_a_time(cluster: InMemoryApiServer) -> None:
    await cluster.create(deployment("d"))
    await cluster.merge(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 4}})
    owners = (await cluster.get(f"{DEPLOYMENTS}/d"))["metadata"]["managedFields"]
    assert [("time" in each, each.get("subresource")) for each in owners] == [(False, "scale"), (True, None)]


async def test_an_apply_fails_on_unknown_fields_however_lenient_it_is(cluster: InMemoryApiServer) -> None:
    reply = await cluster.apply({**make_config_map("a"), "dta": {}}, fieldValidation="Ignore")
    assert (reply.status, reply.message) == (
        500,
        "failed to create typed patch object (default/a; /v1, Kind=ConfigMap): .dta: field not declared in schema",
    )
