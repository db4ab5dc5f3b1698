"""Subresources of an object."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from embedded.server.objects import deployment
from kit.apiserver import InMemoryApiServer
from kit.builders.core import make_pod
from kit.virtual_time import VirtualClock
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.users import ANONYMOUS
from kohort.embedded.server.core import ServerCore, ServerCoreParts
from kohort.embedded.server.subresources.logs import PodLogOptions
from kohort.embedded.storage import Store
from kohort.kube.certificates import new_key

PODS = "/api/v1/namespaces/default/pods"
SCALE = "/apis/apps/v1/namespaces/default/deployments/d/scale"


async def test_scale_shows_and_changes_the_replicas(cluster: InMemoryApiServer) -> None:
    await cluster.create(deployment("d", replicas=2))
    scale = await cluster.get(SCALE)
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 2}, "app=d")
    assert (await cluster.merge(SCALE, {"spec": {"replicas": 5}})).body["spec"] == {"replicas": 5}
    stale = await cluster.request("PUT", SCALE, scale)
    assert stale.reason == "Conflict"
    scale["metadata"].pop("resourceVersion")
    assert (await cluster.request("PUT", SCALE, scale)).body["spec"] == {"replicas": 2}
    assert (await cluster.merge(SCALE, {"spec": {"replicas": -1}})).status == 422


@pytest.mark.parametrize("path", [f"{PODS}/p/binding", "/api/v1/namespaces/default/bindings"])
async def test_a_binding_puts_a_pod_on_a_node(cluster: InMemoryApiServer, path: str) -> None:
    await cluster.create(make_pod("p"))
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    assert (await cluster.request("POST", path, binding)).status == 201
    found = await cluster.get(f"{PODS}/p")
    assert found["spec"]["nodeName"] == "n1"
    assert found["status"]["conditions"][0]["type"] == "PodScheduled"
    again = await cluster.request("POST", path, binding)
    assert again.reason == "Conflict"
    assert 'pod p is already assigned to node "n1"' in again.message


async def test_a_binding_reaches_only_the_pod_that_it_means(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_pod("p"))
    binding = {"metadata": {"name": "p", "uid": "another"}, "target": {"kind": "Node", "name": "n1"}}
    refused = await cluster.request("POST", f"{PODS}/p/binding", binding)
    assert refused.reason == "Conflict"
    assert "Precondition failed: UID in precondition: another" in refused.message
    assert "nodeName" not in (await cluster.get(f"{PODS}/p"))["spec"]


async def test_a_pod_that_has_its_node_waits_for_no_other(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_pod("p"))
    await cluster.merge(f"{PODS}/p/status", {"status": {"nominatedNodeName": "n2"}})
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}}
    assert (await cluster.request("POST", f"{PODS}/p/binding", binding)).status == 201
    assert "nominatedNodeName" not in (await cluster.get(f"{PODS}/p"))["status"]


async def test_a_pod_with_gates_reports_it_from_the_first(cluster: InMemoryApiServer) -> None:
    created = await cluster.create(make_pod("p", schedulingGates=[{"name": "kohort.dev/wait"}]))
    (condition,) = created["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
        "lastProbeTime": None,
        "lastTransitionTime": created["metadata"]["creationTimestamp"],
    }


async def budget(cluster: InMemoryApiServer, allowed: int) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    await cluster.create({**head, "spec": spec})
    path = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b/status"
    status = {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1}
    assert (await cluster.merge(path, {"status": {**status, "expectedPods": 1}})).status == 200


async def running_pod(cluster: InMemoryApiServer, name: str) -> None:
    found = make_pod(name, nodeName="n1")
    found["metadata"]["labels"] = {"app": "x"}
    await cluster.create(found)
    await cluster.merge(f"{PODS}/{name}/status", {"status": {"phase": "Running"}})


async def test_an_eviction_respects_the_budget(cluster: InMemoryApiServer) -> None:
    await budget(cluster, allowed=1)
    for name in ("a", "b"):
        await running_pod(cluster, name)
    assert (await cluster.request("POST", f"{PODS}/a/eviction", {"metadata": {"name": "a"}})).status == 201
    assert (await cluster.get(f"{PODS}/a"))["metadata"]["deletionTimestamp"]
    refused = await cluster.request("POST", f"{PODS}/b/eviction", {"metadata": {"name": "b"}})
    assert (refused.status, refused.reason) == (429, "TooManyRequests")
    assert refused.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused.headers["Retry-After"]


async def test_an_evicted_pod_has_the_condition_of_a_disruption(cluster: InMemoryApiServer) -> None:
    await running_pod(cluster, "a")
    eviction = {"metadata": {"name": "a"}}
    assert (
        await cluster.request("POST", f"{PODS}/a/eviction", {**eviction, "deleteOptions": {"dryRun": ["All"]}})
    ).status == 201
    assert "conditions" not in (await cluster.get(f"{PODS}/a"))["status"]
    wrong = {"preconditions": {"uid": "another"}}
    assert (await cluster.request("POST", f"{PODS}/a/eviction", {**eviction, "deleteOptions": wrong})).status == 409
    assert "conditions" not in (await cluster.get(f"{PODS}/a"))["status"]
    version = (await cluster.get(f"{PODS}/a"))["metadata"]["resourceVersion"]
    exact = {"preconditions": {"resourceVersion": version}}
    assert (await cluster.request("POST", f"{PODS}/a/eviction", {**eviction, "deleteOptions": exact})).status == 201
    found = await cluster.get(f"{PODS}/a")
    assert found["metadata"]["deletionTimestamp"]
    (condition,) = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("DisruptionTarget", "True")
    assert (condition["reason"], condition["message"]) == ("EvictionByEvictionAPI", "Eviction API: evicting")


async def test_a_token_authenticates_its_account(cluster: InMemoryApiServer) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    answer = await cluster.request("POST", path, {"spec": {"expirationSeconds": 3600}})
    assert {"name", "namespace", "uid", "creationTimestamp"} == set(answer.body["metadata"])
    token = answer.body["status"]["token"]
    assert answer.body["status"]["expirationTimestamp"] == "2026-01-01T01:00:00Z"
    headers = {"Authorization": f"Bearer {token}"}
    anonymous = InMemoryApiServer(cluster.core, cluster.clock, ANONYMOUS)
    me = await anonymous.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers)
    assert me.body["status"]["userInfo"]["username"] == "system:serviceaccount:default:default"
    await cluster.clock.advance(3601)
    assert (await anonymous.request("GET", "/api", None, headers)).status == 401
    short = await cluster.request("POST", path, {"spec": {"expirationSeconds": 5}})
    assert "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes" in short.message


async def test_a_token_ends_with_what_it_is_bound_to(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_pod("p"))
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    bound = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    token = (await cluster.request("POST", path, {"spec": {"boundObjectRef": bound}})).body["status"]["token"]
    headers = {"Authorization": f"Bearer {token}"}
    anonymous = InMemoryApiServer(cluster.core, cluster.clock, ANONYMOUS)
    assert (await anonymous.request("GET", "/api", None, headers)).status == 200
    await cluster.request("DELETE", f"{PODS}/p")
    assert (await anonymous.request("GET", "/api", None, headers)).status == 401


class FakeLogs:
    """A log that contains the query for a part of it."""

    async def open(self, pod: Mapping[str, Any], options: PodLogOptions) -> AsyncIterator[bytes]:
        yield f"{pod['metadata']['name']} {options.container} {options.tail_lines}\n".encode()
        if options.follow:
            yield b"and on\n"


async def test_logs_come_from_the_agent_that_runs_the_pod() -> None:
    clock = VirtualClock()
    store = await Store.open(None)
    core = ServerCore(ServerCoreParts(store, clock, Signer(new_key()), b"authority", logs=FakeLogs()))
    await core.start()
    cluster = InMemoryApiServer(core, clock)
    await cluster.create(make_pod("p"))
    reply = await cluster.request("GET", f"{PODS}/p/log", tailLines="5", follow="true")
    assert reply.body == "p main 5\nand on\n"
    wrong = await cluster.request("GET", f"{PODS}/p/log", container="other")
    assert wrong.message == "container other is not valid for pod p"
    assert (await cluster.request("GET", f"{PODS}/p/log", tailLines="-3")).status == 400
    await core.close()
    await store.close()


async def test_without_a_node_there_are_no_logs(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_pod("p"))
    assert (await cluster.request("GET", f"{PODS}/p/log")).status == 503


async def test_what_a_kind_does_not_have_is_not_found(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_pod("p"))
    assert (await cluster.request("GET", f"{PODS}/p/scale")).status == 404
    assert (await cluster.request("DELETE", f"{PODS}/p/status")).status == 405


async def test_services_get_addresses_that_stay(cluster: InMemoryApiServer) -> None:
    ports = [{"port": 80}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": ports}}
    first = await cluster.create(service)
    other = await cluster.create({**service, "metadata": {"name": "t"}})
    assert first["spec"]["clusterIP"] != other["spec"]["clusterIP"]
    updated = await cluster.update({**service, "spec": {"ports": ports, "type": "NodePort"}})
    assert updated.body["spec"]["clusterIP"] == first["spec"]["clusterIP"]
    assert updated.body["spec"]["ports"][0]["nodePort"] >= 30000


async def test_an_eviction_names_its_pod(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_pod("p"))
    reply = await cluster.request("POST", f"{PODS}/p/eviction", {"metadata": {"name": "q"}})
    assert (reply.status, reply.message) == (400, "name in URL does not match name in Eviction object")
