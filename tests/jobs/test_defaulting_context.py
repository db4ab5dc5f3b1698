"""The context of a job for webhooks, from a running manager's caches (JOB-1, JOB-3, JOB-67, JOB-70)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from jobs.job_manager_harness import JobManagerHarness, running_job_harness
from jobs.pod_flows import FRAMEWORKS
from jobs.webhook_caller import K, make_pod_of_job, make_sent_pod
from kit.builders.batch import make_job
from kit.builders.core import make_namespace
from kit.builders.kueue import (
    admission_checks,
    make_admission_check,
    make_cluster_queue,
    make_local_queue,
    make_workload_priority_class,
)
from kohort.api.codec import JsonObject
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.controllers.context import ManagerSettings
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.defaulting.context_builder import JobContextBuilder
from kohort.jobs.errors import RetryError
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.registry import registry_of

SETTINGS = ManagerSettings(Configuration(integrations=Integrations(frameworks=("batch/job", "pod"))))


@asynccontextmanager
async def gathering() -> AsyncIterator[tuple[JobManagerHarness, JobContextBuilder]]:
    frameworks = (BatchJobFramework(), *FRAMEWORKS.values())
    async with running_job_harness(SETTINGS, *frameworks) as harness:
        context = harness.manager.context
        registry = registry_of(SETTINGS.configuration, frameworks)
        yield harness, JobContextBuilder(context, registry, CacheReader(context, UidExpectations()))


async def child_of_a_job(harness: JobManagerHarness, uid: str = "") -> JsonObject:
    await harness.create(make_job())
    pod = make_pod_of_job(await harness.job())
    if uid:
        pod["metadata"]["ownerReferences"][0]["uid"] = uid
    return pod


async def test_default_queue_and_class_and_multikueue_dispatch_are_seen() -> None:
    async with gathering() as (harness, gatherer):
        before = await gatherer.build(make_job(), is_new=True, author=None)
        assert (before.has_default_queue, before.has_default_priority_class) == (False, False)
        away = (
            make_admission_check("mk", controller=f"{K}multikueue"),
            make_cluster_queue("cq", flavors="", **admission_checks("mk")),
        )
        await harness.create(*away, make_local_queue("default", "cq"), make_workload_priority_class("default", 7))
        await harness.settle()
        facts = await gatherer.build(make_job(), is_new=True, author=None)
        assert (facts.has_default_queue, facts.has_default_priority_class) == (True, True)
        assert facts.dispatches("default")
        assert not facts.dispatches("missing")


async def test_a_namespace_that_was_made_just_now_is_known() -> None:
    async with gathering() as (harness, gatherer):
        await harness.create(make_namespace("young"))
        young = make_job()
        young["metadata"]["namespace"] = "young"
        assert (await gatherer.build(young, is_new=True, author=None)).in_scope
        system = make_job()
        system["metadata"]["namespace"] = "kube-system"
        assert not (await gatherer.build(system, is_new=True, author=None)).in_scope


async def test_an_owner_with_an_earlier_uid_does_not_count() -> None:
    async with gathering() as (harness, gatherer):
        facts = await gatherer.build(await child_of_a_job(harness, uid="before"), is_new=True, author=None)
        assert not facts.has_managed_owner


async def test_a_missing_owner_keeps_a_pod_from_being_made_and_never_from_being_changed() -> None:
    async with gathering() as (_harness, gatherer):
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "gone", "uid": "u", "controller": True}
        orphan = make_sent_pod("a", ownerReferences=[owner])
        with pytest.raises(RetryError, match="workload owner not found: Job default/gone"):
            await gatherer.build(orphan, is_new=True, author=None)
        assert not (await gatherer.build(orphan, is_new=False, author=None)).has_managed_owner
        served = {**orphan, "apiVersion": "apps/v1", "kind": "Deployment"}
        assert not (await gatherer.build(served, is_new=False, author=None)).has_managed_owner


async def test_owners_of_a_pod_managed_by_its_parent_are_not_read() -> None:
    async with gathering() as (harness, gatherer):
        held = await child_of_a_job(harness)
        held["metadata"]["annotations"] = {f"{K}pod-suspending-parent": "deployment"}
        assert not (await gatherer.build(held, is_new=True, author=None)).has_managed_owner
