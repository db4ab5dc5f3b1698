import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from kit.fake_apiserver import FakeApiServer
from kit.faults import FaultInjectingTransport, Rejection, RequestFault, StreamFault
from kit.responses import CannedResponse
from kit.virtual_time import VirtualClock, settle
from kohort.api.core.config_objects import ConfigMap
from kohort.api.core.pods import Pod
from kohort.api.errors import ApiError
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.api.resource import Resource
from kohort.kube.client import USER_AGENT, Client
from kohort.kube.errors import KubeError, LostResponseError, StatusError, UnreachableError
from kohort.kube.options import DeletionOptions, ListScope, LogOptions, WriteOptions
from kohort.kube.patches import ApplyPatch, JsonPatch, MergePatch, Patch, StrategicPatch
from kohort.kube.rate_limiter import TokenBucket
from kohort.kube.rest_mapper import ASK_AGAIN_AFTER, NoKindMatchError, RestMapper
from kohort.kube.transport import Request

KEY = ObjectKey("ns", "a")
CONFIG_MAP = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns"), data={"x": "1"})


class ClientFixture:
    """A client, the network and the server, in virtual time."""

    def __init__(self) -> None:
        self.api = FakeApiServer()
        self.clock = VirtualClock()
        self.network = FaultInjectingTransport(self.api, self.clock)
        self.warnings: list[str] = []
        self.client = Client(
            self.network,
            clock=self.clock,
            random=Random(1),  # noqa: S311
        )
        self.maps = self.client.of(ConfigMap)
        self.api.put("configmaps", KEY, data={"x": "1"})

    async def outcome(self, work: Awaitable[Any]) -> Any:
        """What comes out in the end, however long it takes."""
        task = asyncio.ensure_future(work)
        for _ in range(100):
            await self.clock.advance(10)
            if task.done():
                break
        return task.exception() or task.result()

    @property
    def last(self) -> Request:
        return self.network.sent[-1]


@pytest.fixture
def fixture() -> ClientFixture:
    return ClientFixture()


async def test_the_same_object_as_struct_and_as_json(fixture: ClientFixture) -> None:
    assert (await fixture.maps.get(KEY)).data == {"x": "1"}
    assert (await fixture.client.of(ConfigMap.resource).get(KEY))["data"] == {"x": "1"}


async def test_what_is_not_there_is_not_found(fixture: ClientFixture) -> None:
    with pytest.raises(StatusError) as caught:
        await fixture.maps.get(("ns", "missing"))
    assert caught.value.is_not_found


async def test_a_list_is_read_page_by_page(fixture: ClientFixture) -> None:
    for number in range(7):
        fixture.api.put("configmaps", ("ns", f"m{number}"))
    pages = [page async for page in fixture.maps.pages(limit=3)]
    assert [len(page.items) for page in pages] == [3, 3, 2]
    assert len((await fixture.maps.list(ListScope("ns"))).items) == 8
    assert (await fixture.maps.list(ListScope("elsewhere"))).items == ()


async def test_a_list_that_expires_under_the_reader_is_read_in_one_piece(fixture: ClientFixture) -> None:
    for number in range(600):
        fixture.api.put("configmaps", ("ns", f"m{number}"))
    fixture.network.fail_next(RequestFault.NONE, Rejection(410))
    assert len((await fixture.maps.list()).items) == 601
    assert [dict(request.query).get("limit") for request in fixture.network.sent] == ["500", "500", None]


async def test_selectors_and_options_are_in_the_query(fixture: ClientFixture) -> None:
    await fixture.maps.list(ListScope("ns", labels="a in (b,c)", fields="metadata.name=a"))
    assert fixture.last.target == (
        "/api/v1/namespaces/ns/configmaps?labelSelector=a+in+%28b%2Cc%29&fieldSelector=metadata.name%3Da&limit=500"
    )
    options = WriteOptions(field_manager="me", dry_run=True, field_validation="Strict")
    await fixture.maps.patch(KEY, MergePatch({"data": {"x": "2"}}), options)
    assert fixture.last.query == (("fieldManager", "me"), ("dryRun", "All"), ("fieldValidation", "Strict"))


@pytest.mark.parametrize(
    ("patch", "media_type", "query", "body"),
    [
        (MergePatch({"a": None}), "application/merge-patch+json", (), {"a": None}),
        (StrategicPatch({"a": 1}), "application/strategic-merge-patch+json", (), {"a": 1}),
        (
            JsonPatch(({"op": "remove", "path": "/a"},)),
            "application/json-patch+json",
            (),
            [{"op": "remove", "path": "/a"}],
        ),
        (ApplyPatch({"a": 1}, force=True), "application/apply-patch+yaml", (("force", "true"),), {"a": 1}),
    ],
)
def test_each_patch_has_its_content_type(patch: Patch, media_type: str, query: Any, body: Any) -> None:
    assert (patch.media_type, patch.query(), json.loads(patch.body())) == (media_type, query, body)


async def test_create_update_and_delete(fixture: ClientFixture) -> None:
    made = await fixture.maps.create(ConfigMap(metadata=ObjectMeta(name="b", namespace="ns"), data={"y": "1"}))
    assert made.metadata.uid
    maps = fixture.client.of(ConfigMap.resource)
    found = await maps.get(("ns", "b"))
    changed = await maps.update({**found, "data": {"y": "2"}})
    assert changed["data"] == {"y": "2"}
    with pytest.raises(StatusError) as caught:
        await maps.update({**found, "data": {"y": "3"}})
    assert caught.value.is_conflict
    await maps.delete(("ns", "b"), DeletionOptions(propagation="Foreground", uid=made.metadata.uid, grace_seconds=0))
    assert json.loads(fixture.last.body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": made.metadata.uid},
    }
    assert ObjectKey("ns", "b") not in fixture.api.state("configmaps")


async def test_a_view_is_never_written_back_whole(fixture: ClientFixture) -> None:
    with pytest.raises(ApiError, match="patch it"):
        await fixture.maps.update(await fixture.maps.get(KEY))


async def test_a_nameless_object_is_not_its_whole_collection(fixture: ClientFixture) -> None:
    with pytest.raises(ApiError, match="no name"):
        await fixture.maps.delete(("ns", ""))
    assert fixture.network.sent == []


async def test_subresources_of_pods(fixture: ClientFixture) -> None:
    fixture.api.put("pods", KEY, spec={"containers": []})
    pods = fixture.client.of(Pod)
    await pods.evict(KEY, DeletionOptions(grace_seconds=5))
    assert fixture.last.path.endswith("/pods/a/eviction")
    assert json.loads(fixture.last.body)["deleteOptions"]["gracePeriodSeconds"] == 5
    fixture.api.responses["/api/v1/namespaces/ns/pods/a/log"] = CannedResponse(200, b"line 1\nline 2\n")
    assert await pods.log(KEY, LogOptions(container="main", tail_lines=0)) == b"line 1\nline 2\n"
    assert fixture.last.query == (("tailLines", "0"), ("container", "main"))
    assert [chunk async for chunk in pods.follow_log(KEY)] == [b"line 1\nline 2\n"]


async def test_scale_is_read(fixture: ClientFixture) -> None:
    path = "/api/v1/namespaces/ns/configmaps/a/scale"
    fixture.api.responses[path] = CannedResponse(200, b'{"spec":{"replicas":3},"status":{"replicas":2}}')
    assert (await fixture.maps.scale(KEY)).spec.replicas == 3


async def test_a_watch_that_ends_politely_in_the_middle_of_an_event_has_lost_it(fixture: ClientFixture) -> None:
    async with fixture.maps.watch("0") as watch:
        seen = aiter(watch)
        assert (await anext(seen)).version == "1"
        fixture.network.end_streams(StreamFault.CLEAN_MID_FRAME)
        with pytest.raises(LostResponseError, match="in the middle of an event"):
            await anext(seen)


# Retries

Call = Callable[[ClientFixture], Awaitable[Any]]


def get(fixture: ClientFixture) -> Awaitable[Any]:
    return fixture.maps.get(KEY)


def post(fixture: ClientFixture) -> Awaitable[Any]:
    return fixture.maps.create(CONFIG_MAP, "other")


def merge_patch(fixture: ClientFixture) -> Awaitable[Any]:
    return fixture.maps.patch(KEY, MergePatch({"data": {"x": "2"}}))


def json_patch(fixture: ClientFixture) -> Awaitable[Any]:
    return fixture.maps.patch(KEY, JsonPatch(()))


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (get, RequestFault.LOST_RESPONSE),
        (get, RequestFault.NO_RESPONSE),
        (get, Rejection(503)),
        (get, Rejection(502, body=b"<html>bad gateway</html>")),
        (get, Rejection(429)),
        (get, Rejection(500, retry_after=1)),
        (post, RequestFault.UNREACHABLE),
        (post, Rejection(429, retry_after=2)),
        (merge_patch, RequestFault.LOST_RESPONSE),
    ],
)
async def test_what_can_be_sent_again_is(fixture: ClientFixture, call: Call, fault: RequestFault | Rejection) -> None:
    fixture.network.fail_next(fault)
    result = await fixture.outcome(call(fixture))
    assert not isinstance(result, BaseException), result


@pytest.mark.parametrize(
    ("call", "fault", "error"),
    [
        (post, RequestFault.LOST_RESPONSE, LostResponseError),
        (post, Rejection(503), StatusError),
        (post, Rejection(429), StatusError),
        (get, Rejection(500), StatusError),
        (get, Rejection(403), StatusError),
        (get, Rejection(429, retry_after=3600), StatusError),
        (json_patch, RequestFault.LOST_RESPONSE, LostResponseError),
    ],
)
async def test_what_could_happen_twice_or_forever_is_not(
    fixture: ClientFixture, call: Call, fault: RequestFault | Rejection, error: type[KubeError]
) -> None:
    fixture.network.fail_next(fault)
    assert isinstance(await fixture.outcome(call(fixture)), error)
    assert len(fixture.network.sent) == 1


async def test_retries_end(fixture: ClientFixture) -> None:
    fixture.network.disconnect()
    assert isinstance(await fixture.outcome(get(fixture)), UnreachableError)
    fixture.network.reconnect()
    fixture.network.fail_next(*[Rejection(503)] * 5)
    error = await fixture.outcome(get(fixture))
    assert isinstance(error, StatusError)
    assert error.code == 503
    assert len(fixture.network.sent) == 5


async def test_the_server_reports_how_long_to_wait(fixture: ClientFixture) -> None:
    fixture.network.fail_next(Rejection(429, retry_after=7))
    task = asyncio.ensure_future(get(fixture))
    await fixture.clock.advance(6.9)
    assert not task.done()
    await fixture.clock.advance(0.2)
    assert task.done()
    await task


async def test_a_refusal_that_is_no_status_is_reported_in_one_line(fixture: ClientFixture) -> None:
    fixture.network.fail_next(Rejection(403, body=b"<html>\n<b>policy</b>\n</html>" + b"x" * 5000))
    error = await fixture.outcome(get(fixture))
    assert isinstance(error, StatusError)
    assert str(error).startswith("the server returned 403: <html> <b>policy</b> </html>")
    assert len(str(error)) < 300


# Manners


async def test_a_rate_limit_holds_requests_back_and_none_does_not(fixture: ClientFixture) -> None:
    limited = replace(fixture.client, limiter=TokenBucket(fixture.clock, rate=1, burst=2)).of(ConfigMap)
    tasks = [asyncio.ensure_future(limited.get(KEY)) for _ in range(4)]
    await settle()
    assert [task.done() for task in tasks] == [True, True, False, False]
    await fixture.clock.advance(1)
    assert [task.done() for task in tasks] == [True, True, True, False]
    await fixture.clock.advance(1)
    await asyncio.gather(*tasks, *(fixture.maps.get(KEY) for _ in range(50)))


async def test_each_warning_is_passed_on_once(fixture: ClientFixture) -> None:
    fixture.api.warning = 'v1beta1 is deprecated", 299 - "and \\"odd\\"'
    client = replace(fixture.client, on_warning=fixture.warnings.append)
    await client.of(ConfigMap).get(KEY)
    assert fixture.warnings == ["v1beta1 is deprecated", 'and "odd"']


async def test_requests_have_a_user_agent(fixture: ClientFixture) -> None:
    await fixture.maps.get(KEY)
    assert fixture.last.headers["User-Agent"] == USER_AGENT
    assert "Authorization" not in repr(fixture.last)


# Discovery


async def test_known_kinds_need_no_discovery_and_others_are_discovered_once(fixture: ClientFixture) -> None:
    mapping = RestMapper(fixture.client)
    assert (await mapping.resource("batch/v1", "Job")).plural == "jobs"
    assert (await mapping.resource("kueue.x-k8s.io/v1beta2", "Workload")).plural == "workloads"
    assert fixture.network.sent == []
    entries = [
        {"name": "rayjobs", "kind": "RayJob", "namespaced": True},
        {"name": "rayjobs/status", "kind": "RayJob", "namespaced": True},
    ]
    fixture.api.responses["/apis/ray.io/v1"] = CannedResponse(200, json.dumps({"resources": entries}).encode())
    expected = Resource("ray.io", "v1", "RayJob", "rayjobs", namespaced=True)
    assert [await mapping.resource("ray.io/v1", "RayJob") for _ in range(3)] == [expected] * 3
    assert len(fixture.network.sent) == 1


async def test_an_unknown_kind_is_discovered_again_after_a_while(fixture: ClientFixture) -> None:
    mapping = RestMapper(fixture.client)
    fixture.api.responses["/apis/ray.io/v1"] = CannedResponse(404, b"404 page not found")
    for _ in range(3):
        with pytest.raises(NoKindMatchError, match="no matches for kind RayJob"):
            await mapping.resource("ray.io/v1", "RayJob")
    assert len(fixture.network.sent) == 1
    await fixture.clock.advance(ASK_AGAIN_AFTER)
    entry = {"name": "rayjobs", "kind": "RayJob", "namespaced": True}
    fixture.api.responses["/apis/ray.io/v1"] = CannedResponse(200, json.dumps({"resources": [entry]}).encode())
    assert (await mapping.resource("ray.io/v1", "RayJob")).plural == "rayjobs"


@pytest.mark.parametrize("api_version", ["../../secrets/v1", "a/b/c", "", "v1?watch=1", "UPPER/v1"])
async def test_an_invalid_version_is_not_requested(fixture: ClientFixture, api_version: str) -> None:
    with pytest.raises(NoKindMatchError):
        await RestMapper(fixture.client).resource(api_version, "Odd")
    assert fixture.network.sent == []
