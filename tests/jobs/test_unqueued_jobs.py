"""Jobs that are not queued cost little: a cluster may have thousands of them (JOB-26)."""

import json
from collections.abc import AsyncIterator

import pytest

from jobs.job_manager_harness import JobManagerHarness, running_job_harness
from jobs.replica_jobs import make_definition
from kit.builders.unqueued_jobs import make_unqueued_job
from kit.memory import size_of
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.api.resource import Resource
from kohort.controllers.context import ManagerSettings
from kohort.controllers.served_kinds import is_kubernetes_kind
from kohort.jobs.assume_cache import CachedObject, CachedResource
from kohort.jobs.builtin import built_in_frameworks
from kohort.kube.indexer import Indexer

FRAMEWORKS = tuple(each for each in built_in_frameworks() if each.gate is None)
SETTINGS = ManagerSettings(Configuration(integrations=Integrations(frameworks=tuple(each.name for each in FRAMEWORKS))))
RECONCILED = [each for each in FRAMEWORKS if each.is_reconciled or each.planners]
KINDS = [each.resource for each in RECONCILED if not is_kubernetes_kind(each.resource)]
WATCHED = {
    resource
    for each in FRAMEWORKS
    for kind in (each, *each.planners)
    for resource in kind.resources
    if not is_kubernetes_kind(resource)
}
OBJECTS = 20
IDLE_SECONDS = 240.0
"""Shorter than any watch, which is opened again when it ends."""
BYTES = 2_000
"""Per object of up to 4,000 bytes of JSON: 10,000 of them are to take less than 30 MB."""


@pytest.fixture
async def harness() -> AsyncIterator[JobManagerHarness]:
    """A manager that has started on a cluster with two unqueued objects of each kind."""
    async with running_job_harness(SETTINGS, *FRAMEWORKS) as harness:
        await harness.crash()
        await harness.create(*map(make_definition, sorted(WATCHED | {*KINDS}, key=str)))
        await harness.create(*(make_unqueued_job(kind, number) for kind in KINDS for number in range(2)))
        await harness.start()
        await harness.settle()
        yield harness


async def test_no_request_is_sent_while_nothing_changes(harness: JobManagerHarness) -> None:
    informers = harness.manager.context.informers
    assert {each.objects.kind.resource for each in informers} >= {*KINDS}
    assert informers.not_synced() == {}
    sent = len(harness.manager.transport.sent)
    await harness.advance(IDLE_SECONDS)
    assert harness.manager.transport.sent[sent:] == []
    assert harness.manager.transport.writes == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_an_object_is_kept_in_compressed_form(kind: Resource) -> None:
    """With its identity and its entry in the cache."""
    resource, cache = CachedResource(kind), Indexer[CachedObject]()
    for number in range(OBJECTS):
        found = resource.read(_stored(kind, number))
        cache.put(found.identity.key, found)
    assert len(cache) == OBJECTS
    assert size_of(cache) / OBJECTS < BYTES


def _stored(kind: Resource, number: int) -> bytes:
    """The object as an API server returns it."""
    obj = make_unqueued_job(kind, number)
    stored = {"uid": f"0a1b2c3d-0000-4000-8000-{number:012}", "resourceVersion": str(number)}
    return json.dumps({**obj, "metadata": {**obj["metadata"], **stored}}).encode()
