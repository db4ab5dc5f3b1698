"""Objects of frameworks as known now: small, private to each reader, and never behind our own writes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jobs.actions import make_stored_job
from kit.fake_apiserver import FakeApiServer
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.jobs.assume_cache import CachedResource, ObjectAssumeCache
from kohort.kube.client import Client
from kohort.kube.informer import SharedInformerFactory

JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
KEY = ObjectKey("ns", "etl")


@asynccontextmanager
async def known_jobs(api: FakeApiServer) -> AsyncIterator[ObjectAssumeCache]:
    informers = SharedInformerFactory(Client(api))
    known = ObjectAssumeCache(informers, CachedResource(JOBS))
    known.index("queue", lambda obj: [obj["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]])
    informers.start()
    try:
        await asyncio.wait_for(informers.wait_for_sync(), 60)
        yield known
    finally:
        await informers.stop()


def an_api() -> FakeApiServer:
    api = FakeApiServer()
    obj = make_stored_job()
    obj["metadata"]["managedFields"] = [{"manager": "x"}]
    api._write("ADDED", "jobs", obj)
    return api


async def test_objects_have_their_head_and_no_managed_fields() -> None:
    async with known_jobs(an_api()) as known:
        found = known.get(KEY)
        assert found is not None
        assert (found["apiVersion"], found["kind"]) == ("batch/v1", "Job")
        assert "managedFields" not in found["metadata"]


async def test_changes_to_a_returned_object_do_not_affect_the_cache() -> None:
    async with known_jobs(an_api()) as known:
        found = known.get(KEY)
        assert found is not None
        found["spec"]["suspend"] = "changed"
        assert (known.get(KEY) or {})["spec"]["suspend"] is True


async def test_an_own_write_is_known_before_the_watch_shows_it_and_not_after() -> None:
    async with known_jobs(an_api()) as known:
        found = known.get(KEY)
        assert found is not None
        found["spec"]["suspend"] = False
        found["metadata"]["resourceVersion"] = "2"
        known.assume(found)
        assert (known.get(KEY) or {})["spec"]["suspend"] is False
        assert known.find("queue", "q")[0]["spec"]["suspend"] is False


async def test_something_later_from_the_watch_replaces_an_own_write() -> None:
    api = an_api()
    async with known_jobs(api) as known:
        found = known.get(KEY)
        assert found is not None
        seen = asyncio.Event()
        known.informer.subscribe(lambda _old, new: seen.set() if new and new.identity.version == "3" else None)
        known.assume({**found, "metadata": {**found["metadata"], "resourceVersion": "2"}, "spec": {"mine": True}})
        api.put("jobs", KEY, spec={"n": 2})
        api.put("jobs", KEY, spec={"n": 3})
        await asyncio.wait_for(seen.wait(), 60)
        assert (known.get(KEY) or {})["spec"] == {"n": 3}


async def test_a_late_response_is_ignored() -> None:
    async with known_jobs(an_api()) as known:
        found = known.get(KEY)
        assert found is not None
        known.assume({**found, "metadata": {**found["metadata"], "resourceVersion": "0"}, "spec": {"old": True}})
        assert "old" not in (known.get(KEY) or {})["spec"]
