"""The result of discovery: each resource once, in the preferred version, and which groups did not respond."""

from typing import Any

from embedded.garbage_collector.harness import GarbageCollectorHarness
from embedded.server.objects import widget_definition
from kit.builders.core import make_config_map
from kohort.api.resource import Resource
from kohort.embedded.garbage_collector.discovered_resources import build_resources

Json = Any


def entry(plural: str, kind: str, *verbs: str) -> Json:
    return {"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": list(verbs)}


def version(name: str, *resources: Json, freshness: str = "Current") -> Json:
    return {"version": name, "resources": list(resources), "freshness": freshness}


def group(name: str, *versions: Json) -> Json:
    return {"metadata": {"name": name}, "versions": list(versions)}


def test_a_resource_is_followed_in_its_preferred_version_and_known_in_all() -> None:
    queues, flavors = entry("queues", "Queue", "list"), entry("flavors", "Flavor", "list")
    discovered = build_resources([group("k.io", version("v2", queues), version("v1", queues, flavors))])
    preferred = {served.resource.plural: served.resource.version for served in discovered.preferred}
    assert preferred == {"queues": "v2", "flavors": "v1"}
    assert discovered.by_kind["k.io/v1", "Queue"] == Resource("k.io", "v1", "Queue", "queues", namespaced=True)


def test_only_resources_with_all_the_verbs_are_chosen() -> None:
    both = [entry("one", "One", "list", "delete"), entry("two", "Two", "list")]
    chosen = build_resources([group("k.io", version("v1", *both))]).with_verbs("list", "delete")
    assert [served.resource.plural for served in chosen] == ["one"]


def test_an_unavailable_group_is_reported() -> None:
    discovered = build_resources([group("far.io", version("v1", freshness="Stale")), group("k.io", version("v1"))])
    assert discovered.failed == ("far.io/v1",)


async def test_every_deletable_kind_but_events_is_followed(harness: GarbageCollectorHarness) -> None:
    plurals = {resource.plural for resource in harness.collector.monitors.watched}
    assert {"pods", "configmaps", "namespaces", "jobs", "leases", "customresourcedefinitions"} <= plurals
    assert plurals.isdisjoint({"events", "bindings", "tokenreviews"})


async def test_kinds_come_and_go_with_their_definitions_at_once(harness: GarbageCollectorHarness) -> None:
    await harness.cluster.clock.advance(100)
    definition = await harness.create(widget_definition())
    await harness.cluster.clock.advance(0.2)
    assert "widgets" in {resource.plural for resource in harness.collector.monitors.watched}
    await harness.delete(definition)
    await harness.cluster.clock.advance(0.2)
    assert "widgets" not in {resource.plural for resource in harness.collector.monitors.watched}


async def test_an_unavailable_group_is_still_watched(harness: GarbageCollectorHarness) -> None:
    await harness.create(widget_definition())
    await harness.settle()
    stale = b'{"items":[{"metadata":{"name":"example.com"},"versions":[{"version":"v1","freshness":"Stale"}]}]}'
    for _ in range(10):
        harness.interceptor.respond("GET", "/apis", stale)
    await harness.cluster.clock.advance(31)
    assert harness.collector.monitors.discovered.failed == ("example.com/v1",)
    watched = [resource.plural for resource in harness.collector.monitors.watched if resource.group]
    assert watched == ["widgets"]


async def test_lists_and_watches_request_metadata_only(harness: GarbageCollectorHarness) -> None:
    await harness.create(make_config_map("one"))
    await harness.settle()
    lists = [each for each in harness.interceptor.sent if each.path.endswith("/configmaps")]
    assert lists
    assert all("PartialObjectMetadata" in each.headers["Accept"] for each in lists)
