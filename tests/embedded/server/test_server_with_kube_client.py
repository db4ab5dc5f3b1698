"""The two ends of the wire together: Kohort's own client and informer on the embedded server, without a socket."""

from random import Random

import pytest

from kit.apiserver import ADMIN, InMemoryApiServer
from kit.builders.core import make_config_map, make_namespace
from kit.virtual_time import eventually_true
from kohort.api.core.config_objects import ConfigMap
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.informer import Informer, SharedInformerFactory

MAPS = "/api/v1/configmaps"


def client_of(cluster: InMemoryApiServer) -> Client:
    return Client(cluster.core.transport(ADMIN), clock=cluster.clock, random=Random(1))  # noqa: S311 - no secret


def versions(informer: Informer[ConfigMap]) -> set[str]:
    return {each.metadata.resource_version for each in informer.cache}


async def stored(cluster: InMemoryApiServer) -> set[str]:
    return {each["metadata"]["resourceVersion"] for each in (await cluster.get(MAPS))["items"]}


async def test_an_informer_ends_equal_to_a_list(cluster: InMemoryApiServer) -> None:
    await cluster.create(make_namespace("team"))
    informers = SharedInformerFactory(client_of(cluster))
    informer = informers.of(ConfigMap)
    informers.start()
    await informers.wait_for_sync()
    for index in range(30):
        place = "team" if index % 2 else "default"
        await cluster.create(make_config_map(f"m{index}", namespace=place))
        if index % 3 == 0:
            await cluster.request("DELETE", f"/api/v1/namespaces/{place}/configmaps/m{index}")
        else:
            await cluster.merge(f"/api/v1/namespaces/{place}/configmaps/m{index}", {"data": {"x": "1"}})
    expected = await stored(cluster)
    await eventually_true(lambda: versions(informer) == expected)
    await informers.stop()


async def test_an_informer_recovers_after_compaction(cluster: InMemoryApiServer) -> None:
    informers = SharedInformerFactory(client_of(cluster))
    informer = informers.of(ConfigMap)
    informers.start()
    await informers.wait_for_sync()
    await cluster.create(make_config_map("a"))
    await cluster.core.store.compact(cluster.core.store.revision)
    await cluster.create(make_config_map("b"))
    expected = await stored(cluster)
    await eventually_true(lambda: versions(informer) == expected)
    await informers.stop()


async def test_a_refusal_arrives_as_it_was_raised(cluster: InMemoryApiServer) -> None:
    objects = client_of(cluster).of(ConfigMap)
    with pytest.raises(StatusError) as refused:
        await objects.get(("default", "nope"))
    assert (refused.value.is_not_found, str(refused.value)) == (True, 'configmaps "nope" not found')
