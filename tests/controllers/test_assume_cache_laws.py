"""For any interleaving of responses to own writes and watch events, the cached state moves in one direction."""

from dataclasses import dataclass
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from kit.virtual_time import VirtualClock
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey, ObjectMeta
from kohort.controllers.workloads.assume_cache import WorkloadAssumeCache
from kohort.kube.informer import Informer
from kohort.kube.metrics import NO_METRICS
from kohort.kube.notifying_store import NotifyingStore
from kohort.kube.resource_types import typed_resource

KEY = ObjectKey("default", "w")


@dataclass(frozen=True)
class State:
    """One state in the history of a name: which UID, and whether it is deleted."""

    version: int
    life: int
    is_end: bool = False

    @property
    def workload(self) -> Workload:
        version, uid = str(self.version), f"uid-{self.life}"
        return Workload(metadata=ObjectMeta(name="w", namespace="default", uid=uid, resource_version=version))


class FakeInformer:
    """An informer cache with the objects of a test, at a server that gets no requests."""

    synced = True

    def __init__(self) -> None:
        self.mirror = NotifyingStore(typed_resource(Workload), NO_METRICS)
        self.cache = self.mirror.cache
        self.subscribe = self.mirror.subscribe
        self.objects = cast("Any", self)
        self.client = cast("Any", self)
        self.clock = VirtualClock()

    def show(self, state: State) -> None:
        if state.is_end:
            self.mirror.drop(KEY, state.workload)
        else:
            self.mirror.put(state.workload)


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[State], list[tuple[str, State]]]:
    """A history, and an order in which the watch shows it while responses to some writes arrive, early or late."""
    states: list[State] = []
    life = 0
    for version in range(1, draw(st.integers(1, 8)) + 1):
        ends = bool(states) and not states[-1].is_end and draw(st.booleans()) and draw(st.booleans())
        life += bool(states) and states[-1].is_end
        states.append(State(version, life, ends))
    order = [("shown", each) for each in states]
    for own in states:
        if not own.is_end and draw(st.booleans()):
            order.insert(draw(st.integers(0, len(order))), ("answered", own))
    return states, order


@given(histories())
def test_a_cached_state_never_goes_back_and_ends_as_the_watch_does(
    drawn: tuple[list[State], list[tuple[str, State]]],
) -> None:
    states, order = drawn
    informer = FakeInformer()
    known = WorkloadAssumeCache(cast("Informer[Workload]", informer))
    followed: list[Workload | None] = []
    known.follow(lambda _key, found: followed.append(found))
    for how, state in order:
        if how == "shown":
            informer.show(state)
        else:
            known.assume(state.workload)
        assert not followed or followed[-1] == known.get(KEY), "followers know what readers know"
    versions = [int(each.metadata.resource_version) for each in followed if each is not None]
    assert versions == sorted(set(versions)), "each state at most once, and none after a later one"
    last = states[-1]
    assert known.get(KEY) == (None if last.is_end else last.workload)
    assert (followed[-1] if followed else None) == known.get(KEY)
