"""What was done and not been seen yet is not done again (JOB-27)."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.job_manager_harness import queue_objects, running_job_harness
from kit.builders.batch import make_job
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.contract import JobKey
from kohort.jobs.effect_executor import EffectExecutor
from kohort.jobs.effects import DeleteObject
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.triggers import JobEventMapper

UIDS = st.sets(st.sampled_from("abcd"))


@given(UIDS, UIDS)
def test_a_key_is_settled_when_all_that_was_expected_has_been_seen(expected: set[str], seen: set[str]) -> None:
    expectations = UidExpectations()
    if expected:
        expectations.expect("key", expected)
    for uid in seen:
        expectations.observe("key", uid)
    assert expectations.is_settled("key") == (expected <= seen)
    assert expectations.is_settled("another key")


async def test_a_deletion_is_expected_until_the_watch_shows_it() -> None:
    key, expectations = JobKey("default", "etl"), UidExpectations()
    async with running_job_harness() as harness:
        await harness.create(*queue_objects(), make_job())
        await harness.settle()
        context = harness.manager.context
        reads = CacheReader(context, expectations)
        reads.add_kind(BatchJobFramework())
        triggers = JobEventMapper(BatchJobFramework(), reads, expectations, lambda _key, _seconds: None)
        reads.caches[BatchJobFramework.resource].informer.subscribe(triggers.object_changed)
        carrier = EffectExecutor(context, reads, context.recorder("test"), "test", expectations)
        await carrier.execute(DeleteObject(await harness.job(), expected_by=str(key)))
        assert not reads.is_settled(str(key))
        await harness.settle()
        assert reads.is_settled(str(key))


async def test_a_deletion_of_what_is_gone_is_not_waited_for() -> None:
    expectations = UidExpectations()
    async with running_job_harness() as harness:
        context = harness.manager.context
        reads = CacheReader(context, expectations)
        reads.add_kind(BatchJobFramework())
        carrier = EffectExecutor(context, reads, context.recorder("test"), "test", expectations)
        gone = {**make_job(), "metadata": {**make_job()["metadata"], "uid": "u"}}
        await carrier.execute(DeleteObject(gone, expected_by="key"))
        assert expectations.is_settled("key")
