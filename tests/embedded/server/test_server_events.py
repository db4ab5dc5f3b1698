"""Events expire an hour after they were last written, as in kube-apiserver, independently of their timestamps."""

from datetime import datetime, timedelta

import pytest

from kit.apiserver import InMemoryApiServer, Object
from kohort.api.times import format_time

MINUTES = 60.0
EVENTS = "/api/v1/namespaces/default/events"


def event(name: str, **times: datetime) -> Object:
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "default"}
    reported = {key: format_time(time) for key, time in times.items()}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about, **reported}


async def names(cluster: InMemoryApiServer) -> list[str]:
    return [each["metadata"]["name"] for each in (await cluster.get(EVENTS))["items"]]


async def test_an_event_expires_after_an_hour_and_not_before(cluster: InMemoryApiServer) -> None:
    await cluster.create(event("told"))
    await cluster.clock.advance(59 * MINUTES)
    assert await names(cluster) == ["told"]
    await cluster.clock.advance(3 * MINUTES)
    assert await names(cluster) == []


@pytest.mark.parametrize("off", [timedelta(days=-300), timedelta(days=300)], ids=["long ago", "in the future"])
async def test_the_time_in_an_event_does_not_change_its_expiration(cluster: InMemoryApiServer, off: timedelta) -> None:
    await cluster.create(event("told", lastTimestamp=cluster.clock.wall() + off))
    await cluster.clock.advance(59 * MINUTES)
    assert await names(cluster) == ["told"]
    await cluster.clock.advance(3 * MINUTES)
    assert await names(cluster) == []


async def test_a_repeated_event_is_kept_for_another_hour(cluster: InMemoryApiServer) -> None:
    await cluster.create(event("told", lastTimestamp=cluster.clock.wall()))
    await cluster.clock.advance(50 * MINUTES)
    again = {"count": 2, "lastTimestamp": format_time(cluster.clock.wall())}
    assert (await cluster.merge(f"{EVENTS}/told", again)).status == 200
    await cluster.clock.advance(50 * MINUTES)
    assert await names(cluster) == ["told"]
    await cluster.clock.advance(12 * MINUTES)
    assert await names(cluster) == []
