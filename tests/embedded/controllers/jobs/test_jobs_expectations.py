"""Expectations for pods hold until the cache shows the writes, and no longer than that."""

import asyncio

from kit.virtual_time import VirtualClock
from kohort.api.core.pods import PodStatus
from kohort.api.meta import ObjectMeta
from kohort.embedded.controllers.expectations import EXPECTATION_TIMEOUT, PodExpectations
from kohort.embedded.controllers.views import ControllerPod, ControllerPodSpec

FINALIZER = "example.com/held"


def pod(name: str = "a", *, node: str = "n", phase: str = "Running", held: bool = True) -> ControllerPod:
    finalizers = (FINALIZER,) if held else ()
    metadata = ObjectMeta(name=name, namespace="default", uid=name, finalizers=finalizers)
    return ControllerPod(metadata=metadata, spec=ControllerPodSpec(node_name=node), status=PodStatus(phase=phase))


def test_a_pod_that_was_made_is_there_before_the_cache_shows_it() -> None:
    expected = PodExpectations(VirtualClock())
    expected.created("owner", pod())
    assert expected.overlay("owner", []) == [pod()]
    assert expected.overlay("another", []) == []
    assert expected.overlay("owner", [pod(phase="Succeeded")]) == [pod(phase="Succeeded")]
    assert expected.overlay("owner", ()) == []


def test_a_pod_that_was_shown_and_has_gone_is_not_brought_back() -> None:
    expected = PodExpectations(VirtualClock())
    expected.created("owner", pod())
    expected.observe(None, pod())
    expected.observe(pod(), None)
    assert expected.overlay("owner", []) == []


def test_the_expectation_of_a_pod_that_is_never_observed_expires() -> None:
    clock = VirtualClock()
    expected = PodExpectations(clock)
    expected.created("owner", pod())
    asyncio.run(clock.advance(EXPECTATION_TIMEOUT + 1))
    assert expected.overlay("owner", []) == []


def test_a_deleted_pod_is_leaving_before_the_cache_has_it() -> None:
    expected = PodExpectations(VirtualClock())
    expected.deleted("owner", pod())
    (shown,) = expected.overlay("owner", [pod()])
    assert shown.is_terminating
    assert expected.overlay("owner", [shown]) == [shown]
    assert expected.overlay("owner", ()) == []


def test_a_deleted_pod_without_an_agent_is_gone_at_once() -> None:
    expected = PodExpectations(VirtualClock())
    expected.deleted("owner", pod(node="", held=False))
    assert expected.overlay("owner", [pod(node="", held=False)]) == []
    expected.deleted("owner", pod(node=""))
    assert [shown.is_terminating for shown in expected.overlay("owner", [pod(node="")])] == [True]


def test_a_finalizer_that_was_taken_off_stays_off() -> None:
    expected = PodExpectations(VirtualClock())
    expected.released("owner", pod(), FINALIZER)
    assert expected.overlay("owner", [pod()]) == [pod(held=False)]
    assert expected.overlay("owner", [pod(held=False)]) == [pod(held=False)]
    assert expected.overlay("owner", ()) == []


def test_the_writes_of_a_deleted_owner_are_dropped() -> None:
    expected = PodExpectations(VirtualClock())
    expected.created("owner", pod())
    expected.forget("owner")
    assert expected.overlay("owner", []) == []
