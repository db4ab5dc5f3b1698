"""Responses to writes replace cached states until the cache shows them, and no longer."""

import msgspec

from kit.virtual_time import VirtualClock
from kohort.api.meta import ObjectMeta, OwnerReference
from kohort.embedded.controllers.unobserved_writes import STALE_CACHE_TIMEOUT, UnobservedWrites
from kohort.embedded.controllers.views import ControllerPod


def state(revision: str, uid: str = "u") -> ControllerPod:
    owner = OwnerReference(uid="owner")
    metadata = ObjectMeta(name="x", namespace="n", uid=uid, resource_version=revision, owner_references=(owner,))
    return ControllerPod(metadata=metadata)


def test_a_response_is_used_until_the_cache_has_it_or_something_newer() -> None:
    lag = UnobservedWrites[ControllerPod](VirtualClock())
    written = lag.wrote(state("9"))
    assert lag.latest(state("8")) is written
    newer = state("10")
    assert lag.latest(newer) is newer
    assert lag.latest(state("8")).metadata.resource_version == "8"


def test_a_response_with_another_uid_or_without_a_revision_is_ignored() -> None:
    for old, new in ((state("8", "other"), state("9")), (state("8"), state("abc")), (state("abc"), state("9"))):
        lag = UnobservedWrites[ControllerPod](VirtualClock())
        lag.wrote(new)
        assert lag.latest(old) is old


async def test_a_cache_is_trusted_again_after_a_while() -> None:
    clock = VirtualClock()
    lag = UnobservedWrites[ControllerPod](clock)
    lag.wrote(state("9"))
    await clock.advance(STALE_CACHE_TIMEOUT + 1)
    old = state("8")
    assert lag.latest(old) is old
    assert lag.missing("owner") == []


def test_a_created_object_is_missing_until_it_is_observed_or_deleted() -> None:
    lag = UnobservedWrites[ControllerPod](VirtualClock())
    made = lag.wrote(state("9"))
    assert lag.missing("owner") == [made]
    assert lag.missing("stranger") == []
    lag.observe(None, made)
    assert lag.missing("owner") == []
    lag.wrote(made)
    lag.observe(msgspec.structs.replace(made), None)
    assert lag.missing("owner") == []


def test_watch_events_up_to_the_last_response_are_an_echo() -> None:
    lag = UnobservedWrites[ControllerPod](VirtualClock())
    assert not lag.is_echo(state("9"))
    lag.wrote(state("9"))
    shown = {revision: lag.is_echo(state(revision)) for revision in ("8", "9", "10")}
    assert shown == {"8": True, "9": True, "10": False}
    assert not lag.is_echo(state("9", "other"))
    lag.forget(state("9").metadata)
    assert not lag.is_echo(state("9"))
