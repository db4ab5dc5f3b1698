"""Workloads as known now: own writes at once, the watch when it comes, and never backwards."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from kit.apiserver import ADMIN, InMemoryApiServer, Object
from kit.builders.kueue import make_workload
from kit.faults import InterceptingTransport
from kit.kueue_apiserver import running_kueue_apiserver
from kit.virtual_time import settle
from kohort.api.codec import from_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey, OwnerReference
from kohort.controllers.workloads.assume_cache import WorkloadAssumeCache, key_of
from kohort.engine.lifecycle.finishing import finish
from kohort.kube.assume_cache import MAX_ASSUMED_SECONDS
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.informer import SharedInformerFactory
from kohort.kube.transport import Request, Response

MANAGER = "kueue-admission"
PATH = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"


class ConcurrentWriteTransport(InterceptingTransport):
    """Calls a function between a write and its response."""

    after_write: Callable[[], Awaitable[None]] | None = None

    async def send(self, request: Request, timeout: float) -> Response:
        answer = await super().send(request, timeout)
        if request.method == "PUT" and self.after_write is not None:
            await self.after_write()
        return answer


class Watcher:
    """What is known of a server, by a watch that can be held back."""

    def __init__(self, cluster: InMemoryApiServer) -> None:
        self.cluster = cluster
        self.hand = ConcurrentWriteTransport(cluster.core.transport(ADMIN))
        self.informers = SharedInformerFactory(Client(self.hand, cluster.clock))
        self.known = WorkloadAssumeCache(self.informers.of(Workload))
        self.seen_versions: list[str | None] = []
        """Versions as they became known; None for an end."""
        self.known.follow(self._record)

    def _record(self, _key: ObjectKey, found: Workload | None) -> None:
        self.seen_versions.append(found.metadata.resource_version if found else None)

    def finished(self, found: Workload) -> Workload:
        return finish(found, "Succeeded", "", self.cluster.clock.wall())

    async def add(self, name: str, *owners: str) -> Workload:
        return await self.known.create(a_workload(name, *owners))


@asynccontextmanager
async def watching() -> AsyncIterator[Watcher]:
    async with running_kueue_apiserver() as cluster:
        watcher = Watcher(cluster)
        watcher.informers.start()
        await watcher.informers.wait_for_sync()
        yield watcher
        await watcher.informers.stop()


def a_workload(name: str, *owners: str) -> Workload:
    found = from_json(make_workload(name, "lq"), Workload)
    return owned(found, *owners)


def owned(found: Workload, *owners: str) -> Workload:
    references = tuple(
        OwnerReference(api_version="batch/v1", kind="Job", name=each, uid=f"uid-{each}") for each in owners
    )
    return replace(found, metadata=replace(found.metadata, owner_references=references))


def names(found: list[Workload]) -> list[str]:
    return [each.metadata.name for each in found]


async def test_an_own_write_is_known_before_the_watch_shows_it() -> None:
    async with watching() as watcher:
        watcher.hand.hold_watches("workloads")
        created = await watcher.add("w", "job")
        assert watcher.known.get(("default", "w")) == created
        assert names(watcher.known.owned_by("default", "batch/v1", "Job", "job")) == ["w"]
        assert names(watcher.known.owned_by_uid("uid-job")) == ["w"]
        assert names(list(watcher.known)) == ["w"]
        written = await watcher.known.write_status(created, watcher.finished(created), MANAGER)
        assert watcher.known.get(("default", "w")) == written
        watcher.hand.release_watches("workloads")
        await settle()
        assert watcher.known.get(("default", "w")) == written
        versions = [created.metadata.resource_version, written.metadata.resource_version]
        assert watcher.seen_versions == versions, "each state once, and none of them again"


async def test_owners_are_those_of_the_newest_state() -> None:
    async with watching() as watcher:
        created = await watcher.add("w", "old")
        await settle()
        watcher.hand.hold_watches("workloads")
        await watcher.known.write_object(created, owned(created, "new"), MANAGER)
        assert names(watcher.known.owned_by("default", "batch/v1", "Job", "old")) == []
        assert names(watcher.known.owned_by("default", "batch/v1", "Job", "new")) == ["w"]


async def test_workloads_of_an_owner_come_oldest_first_then_by_name() -> None:
    async with watching() as watcher:
        for name in ("b", "a"):
            await watcher.add(name, "job")
        await watcher.cluster.clock.advance(1)
        await watcher.add("0", "job")
        assert names(watcher.known.owned_by("default", "batch/v1", "Job", "job")) == ["a", "b", "0"]


async def test_a_write_on_an_outdated_state_is_rejected_without_a_request() -> None:
    async with watching() as watcher:
        created = await watcher.add("w")
        await watcher.known.write_object(created, owned(created, "job"), MANAGER)
        asked = len(watcher.hand.sent)
        with pytest.raises(StatusError) as refused:
            await watcher.known.write_status(created, watcher.finished(created), MANAGER)
        assert refused.value.is_conflict
        assert len(watcher.hand.sent) == asked


async def test_of_two_concurrent_writes_the_second_is_rejected_without_a_request() -> None:
    async with watching() as watcher:
        created = await watcher.add("w")
        asked = len(watcher.hand.sent)
        both = (
            watcher.known.write_status(created, watcher.finished(created), MANAGER),
            watcher.known.write_object(created, owned(created, "job"), MANAGER),
        )
        first, second = await asyncio.gather(*both, return_exceptions=True)
        assert isinstance(first, Workload)
        assert isinstance(second, StatusError)
        assert second.is_conflict
        assert len(watcher.hand.sent) == asked + 1


async def test_what_changes_nothing_is_not_written() -> None:
    async with watching() as watcher:
        created = await watcher.add("w")
        asked = len(watcher.hand.sent)
        same = replace(created, status=replace(created.status))
        assert await watcher.known.write_status(created, same, MANAGER) is created
        assert await watcher.known.write_object(created, same, MANAGER) is created
        assert len(watcher.hand.sent) == asked


async def test_fields_that_are_not_written_stay_unchanged() -> None:
    async with watching() as watcher:
        created = await watcher.add("w", "job")
        labelled = replace(created, metadata=replace(created.metadata, labels={"a": "b"}, generation=99))
        await watcher.known.write_object(created, labelled, MANAGER)
        (patch,) = [each for each in watcher.hand.sent if each.method == "PATCH"]
        version = created.metadata.resource_version
        assert patch.body == f'{{"metadata":{{"labels":{{"a":"b"}},"resourceVersion":"{version}"}}}}'.encode()
        assert patch.query == (("fieldManager", MANAGER),)


async def test_another_uid_under_the_same_name_is_another_workload() -> None:
    async with watching() as watcher:
        first = await watcher.add("w")
        await settle()
        watcher.hand.hold_watches("workloads")
        await watcher.known.delete(first)
        second = await watcher.add("w")
        assert watcher.known.get(("default", "w")) == second
        watcher.hand.release_watches("workloads")
        await settle()
        assert watcher.known.get(("default", "w")) == second
        assert watcher.seen_versions[-1] == second.metadata.resource_version


async def test_a_late_response_does_not_restore_a_deleted_object() -> None:
    async with watching() as watcher:
        created = await watcher.add("w")
        await settle()

        async def delete() -> None:
            await watcher.cluster.request("DELETE", f"{PATH}/w")
            await settle()

        watcher.hand.after_write = delete
        await watcher.known.write_status(created, watcher.finished(created), MANAGER)
        assert watcher.known.get(("default", "w")) is None
        assert watcher.seen_versions[-1] is None


async def test_a_write_that_no_watch_ever_shows_is_dropped() -> None:
    async with watching() as watcher:
        watcher.hand.hold_watches("workloads")
        created = await watcher.add("w")
        await watcher.cluster.clock.advance(MAX_ASSUMED_SECONDS - 1)
        assert watcher.known.get(key_of(created)) == created
        await watcher.cluster.clock.advance(2)
        assert watcher.known.get(key_of(created)) is None
        assert watcher.seen_versions[-1] is None


async def test_deleting_what_is_gone_is_fine() -> None:
    async with watching() as watcher:
        created = await watcher.add("w")
        await watcher.known.delete(created)
        await watcher.known.delete(created)


async def test_only_the_watch_calls_subscribers() -> None:
    async with watching() as watcher:
        calls: list[Object] = []
        watcher.known.subscribe(lambda old, new: calls.append({"old": old, "new": new}))
        watcher.hand.hold_watches("workloads")
        await watcher.add("w")
        assert calls == []
        watcher.hand.release_watches("workloads")
        await settle()
        assert len(calls) == 1
