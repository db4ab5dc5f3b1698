"""Delete: at once, held by finalizers, with grace, under conditions, many together."""

from kit.apiserver import InMemoryApiServer
from kit.builders.core import make_config_map, make_namespace, make_pod

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"


async def test_what_nothing_holds_is_gone(cluster: InMemoryApiServer) -> None:
    created = await cluster.create(make_config_map("a"))
    reply = await cluster.request("DELETE", f"{MAPS}/a")
    details = {"name": "a", "kind": "configmaps", "uid": created["metadata"]["uid"]}
    assert (reply.status, reply.body["status"], reply.body["details"]) == (200, "Success", details)
    assert (await cluster.request("GET", f"{MAPS}/a")).status == 404


async def test_finalizers_hold_an_object_until_the_last_is_gone(cluster: InMemoryApiServer) -> None:
    held = make_config_map("a")
    held["metadata"]["finalizers"] = ["x.example/one", "x.example/two"]
    await cluster.create(held)
    leaving = (await cluster.request("DELETE", f"{MAPS}/a")).body
    assert leaving["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    await cluster.merge(f"{MAPS}/a", {"metadata": {"finalizers": ["x.example/two"]}})
    assert (await cluster.request("GET", f"{MAPS}/a")).status == 200
    await cluster.merge(f"{MAPS}/a", {"metadata": {"finalizers": None}})
    assert (await cluster.request("GET", f"{MAPS}/a")).status == 404


async def test_a_failed_precondition_prevents_the_deletion(cluster: InMemoryApiServer) -> None:
    created = await cluster.create(make_config_map("a"))
    other = {"preconditions": {"uid": "another"}}
    reply = await cluster.request("DELETE", f"{MAPS}/a", other)
    assert reply.reason == "Conflict"
    assert "the UID in the precondition (another) does not match the UID in record" in reply.message
    version = {"preconditions": {"resourceVersion": created["metadata"]["resourceVersion"]}}
    assert (await cluster.request("DELETE", f"{MAPS}/a", version)).status == 200


async def test_the_propagation_policy_becomes_a_finalizer(cluster: InMemoryApiServer) -> None:
    for policy, finalizers in (("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])):
        await cluster.create(make_config_map(policy.lower()))
        reply = await cluster.request("DELETE", f"{MAPS}/{policy.lower()}", {"propagationPolicy": policy})
        assert reply.body["metadata"]["finalizers"] == finalizers
    assert (await cluster.request("DELETE", f"{MAPS}/orphan", {"propagationPolicy": "Sideways"})).status == 422


async def test_a_pod_on_a_node_gets_its_time(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_pod("p", nodeName="n1", terminationGracePeriodSeconds=20))
    leaving = (await cluster.request("DELETE", f"{PODS}/p")).body["metadata"]
    assert (leaving["deletionTimestamp"], leaving["deletionGracePeriodSeconds"]) == ("2026-01-01T00:00:20Z", 20)
    longer = (await cluster.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 60})).body["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 20
    assert (await cluster.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})).status == 200
    assert (await cluster.request("GET", f"{PODS}/p")).status == 404


async def test_a_pod_without_a_node_is_deleted_at_once(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_pod("p"))
    await cluster.request("DELETE", f"{PODS}/p")
    assert (await cluster.request("GET", f"{PODS}/p")).status == 404


async def test_a_job_warns_that_its_pods_stay(cluster: InMemoryApiServer) -> None:
    spec = {"template": {"spec": {**make_pod("p")["spec"], "restartPolicy": "Never"}}}
    await cluster.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec})
    reply = await cluster.request("DELETE", "/apis/batch/v1/namespaces/default/jobs/j")
    assert "child pods are preserved by default" in reply.headers["Warning"]
    assert reply.body["metadata"]["finalizers"] == ["orphan"]


async def test_a_collection_is_deleted_by_selector(cluster: InMemoryApiServer) -> None:
    for name, team in (("a", "x"), ("b", "x"), ("c", "y")):
        await cluster.create(make_config_map(name, labels={"team": team}))
    assert (await cluster.request("DELETE", MAPS, labelSelector="team=x")).status == 200
    left = await cluster.get(MAPS, labelSelector="team")
    assert [each["metadata"]["name"] for each in left["items"]] == ["c"]


async def test_a_namespace_is_deleted_when_it_is_finalized(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_namespace("team"))
    leaving = (await cluster.request("DELETE", "/api/v1/namespaces/team")).body
    assert leaving["status"]["phase"] == "Terminating"
    refused = await cluster.try_create(make_config_map("late", namespace="team"))
    assert refused.status == 403
    assert "because it is being terminated" in refused.message
    leaving["spec"]["finalizers"] = []
    assert (await cluster.request("PUT", "/api/v1/namespaces/team/finalize", leaving)).status == 200
    assert (await cluster.request("GET", "/api/v1/namespaces/team")).status == 404


async def test_events_go_after_an_hour(cluster: InMemoryApiServer) -> None:
    involved = {"kind": "Pod", "name": "p", "namespace": "default"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": involved}
    await cluster.create({**event, "lastTimestamp": "2026-01-01T00:00:00Z"})
    await cluster.clock.advance(3500)
    assert (await cluster.request("GET", "/api/v1/namespaces/default/events/e")).status == 200
    await cluster.clock.advance(200)
    assert (await cluster.request("GET", "/api/v1/namespaces/default/events/e")).status == 404


async def test_no_new_dependent_blocks_a_deletion(cluster: InMemoryApiServer) -> None:
    held = make_config_map("a")
    held["metadata"]["finalizers"] = ["x.example/one"]
    await cluster.create(held)
    await cluster.request("DELETE", f"{MAPS}/a")
    reply = await cluster.merge(f"{MAPS}/a", {"metadata": {"finalizers": ["x.example/one", "x.example/two"]}})
    assert (reply.status, reply.message) == (
        422,
        'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is '
        'being deleted, found new finalizers []string{"x.example/two"}',
    )


async def test_one_propagation_option_is_enough(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_config_map("a"))
    output = "orphanDependents and deletionPropagation cannot be both set"
    asked = await cluster.request("DELETE", f"{MAPS}/a", orphanDependents="true", propagationPolicy="Orphan")
    assert (asked.status, output in asked.message) == (422, True)
    sent = await cluster.request("DELETE", f"{MAPS}/a", {"orphanDependents": False, "propagationPolicy": "Orphan"})
    assert (sent.status, output in sent.message) == (422, True)
