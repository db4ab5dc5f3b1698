"""The visibility API returns what a real Kueue does, in order, and only to permitted users (API-99…104)."""

from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import given
from hypothesis import strategies as st

from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.golden.recordings import api_recording
from kohort.api.meta import ObjectKey
from kohort.engine.engine import Engine
from kohort.kube.access_reviews import AccessAttributes
from kohort.kube.errors import StatusError
from kohort.web.visibility import summaries
from kohort.web.visibility.server import visibility_app
from kohort.web.visibility.summaries import DEFAULT_LIMIT, MAX_LIMIT, Window, in_cluster_queue, in_local_queue
from web.engine_fixture import EngineFixture

GOLDEN = api_recording("lifecycle-2")
M12 = next(case for case in GOLDEN if case["id"] == "M12")
ROOT = "/apis/visibility.kueue.x-k8s.io"


class RecordingReviewer(list[AccessAttributes]):
    """Records all requested permissions, and grants them."""

    async def admit(self, _: Any, act: AccessAttributes) -> None:
        self.append(act)


def client_of(engine: Engine, reviewed: RecordingReviewer | None = None, *, ready: bool = True) -> TestClient[Any, Any]:
    reviewer = RecordingReviewer() if reviewed is None else reviewed
    return TestClient(TestServer(visibility_app(lambda: engine if ready else None, reviewer.admit)))


@pytest.fixture
def engine_fixture() -> EngineFixture:
    """What the recorded scenario found: its flavor, its namespace, and two queues of earlier ones."""
    subject = EngineFixture()
    subject.namespace("verify")
    subject.put(make_resource_flavor("lf"))
    subject.put(make_cluster_queue("m9d", "0", "lf"))
    subject.put(make_cluster_queue("m10", "0", "lf", stopPolicy="Hold"))
    subject.put(make_local_queue("m10r", "m10", "verify"))
    subject.put(make_workload("m10w", "m10r", namespace="verify", priority=9))
    return subject


def masked(value: Any) -> Any:
    """As the recording has it: no times."""
    if isinstance(value, dict):
        return {key: "<time>" if key == "creationTimestamp" else masked(each) for key, each in value.items()}
    return [masked(each) for each in value] if isinstance(value, list) else value


async def test_a_recorded_conversation_with_a_real_kueue(engine_fixture: EngineFixture) -> None:
    async with client_of(engine_fixture.engine) as client:
        for step in M12["steps"]:
            if step["op"] == "create":
                engine_fixture.put(step["object"])
            elif step["op"] == "patch":
                engine_fixture.patch_spec(step["kind"], step["name"], **step["patch"]["spec"])
            elif step["op"] == "visibility":
                query = {key: str(value) for key, value in step.get("params", {}).items()}
                answer = await client.get(step["path"], params=query)
                body = masked(await answer.json())
                assert answer.status == step["code"], step
                expected = step["response"]
                if step["code"] == 200:
                    assert body == expected, step
                else:
                    assert body["reason"] == expected["reason"]
                    assert body.get("details") == expected["details"]


async def test_requests_are_authorized_by_the_gate(engine_fixture: EngineFixture) -> None:
    reviewed = RecordingReviewer()
    async with client_of(engine_fixture.engine, reviewed) as client:
        await client.get(f"{ROOT}/v1beta1/namespaces/verify/localqueues/m10r/pendingworkloads")
        await client.get("/apis")
    place = 'in API group "visibility.kueue.x-k8s.io" in the namespace "verify"'
    assert list(map(str, reviewed)) == [f'get resource "localqueues/pendingworkloads" {place}', 'get path "/apis"']


async def test_a_page_of_any_length_arrives_whole() -> None:
    subject = EngineFixture()
    subject.namespace("verify")
    subject.put(make_cluster_queue("q", "0", stopPolicy="Hold"))
    subject.put(make_local_queue("lq", "q", "verify"))
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    for number in range(1500):
        submitted = make_workload(f"w{number:04}", "lq", namespace="verify")
        submitted["metadata"]["ownerReferences"] = [owner]
        subject.put(submitted)
    async with client_of(subject.engine) as client:
        whole = await (await client.get(f"{ROOT}/v1beta2/clusterqueues/q/pendingworkloads?limit=2000")).json()
        usual = await (await client.get(f"{ROOT}/v1beta2/clusterqueues/q/pendingworkloads")).json()
    assert [item["metadata"]["name"] for item in whole["items"]] == [f"w{number:04}" for number in range(1500)]
    assert [item["positionInClusterQueue"] for item in whole["items"]] == list(range(1500))
    assert len(usual["items"]) == DEFAULT_LIMIT
    assert whole["items"][0]["metadata"]["ownerReferences"] == [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}
    ]


async def test_an_item_has_the_reason_for_which_it_waits(engine_fixture: EngineFixture) -> None:
    """TAS-116: in annotations, since the schema is Kueue's."""
    message = 'couldn\'t assign flavors to pod set main: topology "dc" allows to fit only 7 out of 8 pod(s)'
    condition = {"type": "QuotaReserved", "status": "False", "reason": "TopologyPlacementFailed", "message": message}
    waiting = make_workload("w", "lq", namespace="verify")
    engine_fixture.put(make_cluster_queue("q", "0", "lf", stopPolicy="Hold"))
    engine_fixture.put(make_local_queue("lq", "q", "verify"))
    engine_fixture.put(
        {**waiting, "status": {"conditions": [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
    )
    async with client_of(engine_fixture.engine) as client:
        for path in ("clusterqueues/q", "namespaces/verify/localqueues/lq"):
            answer = await client.get(f"{ROOT}/v1beta2/{path}/pendingworkloads")
            (item,) = (await answer.json())["items"]
            expected = {"kohort.dev/pending-reason": "TopologyPlacementFailed", "kohort.dev/pending-message": message}
            assert item["metadata"]["annotations"] == expected


async def test_nothing_is_served_before_caches_are_synced(engine_fixture: EngineFixture) -> None:
    async with client_of(engine_fixture.engine, ready=False) as client:
        answer = await client.get(f"{ROOT}/v1beta2/clusterqueues/m10/pendingworkloads")
        assert (answer.status, (await answer.json())["reason"]) == (503, "ServiceUnavailable")


async def test_discovery_in_both_forms(engine_fixture: EngineFixture) -> None:
    async with client_of(engine_fixture.engine) as client:
        groups = await (await client.get("/apis")).json()
        assert groups["groups"][0]["preferredVersion"]["version"] == "v1beta2"
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
        answer = await client.get("/apis", headers={"Accept": accept})
        assert answer.headers["Content-Type"] == accept.partition(",")[0]
        (group,) = (await answer.json())["items"]
        assert [version["version"] for version in group["versions"]] == ["v1beta2", "v1beta1"]
        assert group["versions"][0]["resources"][1]["subresources"][0]["verbs"] == ["get"]
        one = await (await client.get(ROOT)).json()
        assert one["name"] == "visibility.kueue.x-k8s.io"


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [("POST", f"{ROOT}/v1beta2/clusterqueues/m10/pendingworkloads", 405), ("GET", f"{ROOT}/v1beta2/nodes", 404)],
)
async def test_what_is_not_served_is_refused_in_kubernetes_shape(
    engine_fixture: EngineFixture, method: str, path: str, code: int
) -> None:
    async with client_of(engine_fixture.engine) as client:
        answer = await client.request(method, path)
        assert (answer.status, (await answer.json())["kind"]) == (code, "Status")


def test_a_local_queue_that_is_only_named_by_workloads_is_unknown(engine_fixture: EngineFixture) -> None:
    engine_fixture.put(make_workload("lost", "missing", namespace="verify"))
    with pytest.raises(StatusError, match=r'localqueue.visibility.kueue.x-k8s.io "missing" not found'):
        in_local_queue(engine_fixture.engine, ObjectKey("verify", "missing"), Window())


@pytest.mark.parametrize(
    ("limit", "offset", "expected"),
    [
        (None, None, Window(DEFAULT_LIMIT, 0)),
        ("0", "7", Window(DEFAULT_LIMIT, 7)),
        ("-1", "-1", Window(0, 0)),
        (str(MAX_LIMIT + 1), None, Window(MAX_LIMIT, 0)),
    ],
)
def test_limits_and_offsets(limit: str | None, offset: str | None, expected: Window) -> None:
    assert Window.of(limit, offset) == expected


@pytest.mark.parametrize("walk_cost", [0, summaries.WALK_COST], ids=["by position", "by walking"])
@given(
    waiting=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=12),
    offset=st.integers(0, 13),
    limit=st.integers(0, 5),
)
def test_pages_are_parts_of_the_engines_order(
    waiting: list[tuple[str, int]], offset: int, limit: int, walk_cost: int
) -> None:
    subject = EngineFixture()
    subject.namespace("verify")
    subject.put(make_cluster_queue("q", "0"))
    for name in "ab":
        subject.put(make_local_queue(name, "q", "verify"))
    for number, (queue, priority) in enumerate(waiting):
        subject.put(make_workload(f"w{number}", queue, namespace="verify", priority=priority))
    pending = subject.engine.read.pending["q"]
    records, positions = pending.first(len(waiting)), dict(pending.positions())
    order = [record.key.name for record in records]
    own = [record.key.name for record in records if record.local_queue.name == "a"]
    window = Window(limit, offset)
    found = in_cluster_queue(subject.engine, "q", window)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summaries, "WALK_COST", walk_cost)
        of_one = in_local_queue(subject.engine, ObjectKey("verify", "a"), window)
    assert [each.workload.metadata.name for each in found] == order[offset : offset + limit]
    assert [each.workload.metadata.name for each in of_one] == own[offset : offset + limit]
    for each in (*found, *of_one):
        key = ObjectKey("verify", each.workload.metadata.name)
        assert positions[key] == (each.in_cluster_queue, each.in_local_queue)
