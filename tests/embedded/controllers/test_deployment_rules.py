"""The steps of a rollout as functions: bounds that always hold, and an end that is always reached."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.virtual_time import START
from kohort.api.core.apps import ReplicaSetStatus, RollingUpdate, UpdateStrategy
from kohort.api.meta import LabelSelector, ObjectMeta
from kohort.embedded.controllers.deployments.progress import (
    PROGRESSING,
    condition,
    put,
    rollout_status,
    with_pause,
)
from kohort.embedded.controllers.deployments.revisions import (
    DESIRED,
    HASH,
    HISTORY,
    MOST,
    REVISION,
    Sets,
    bare,
    new_annotations,
    new_set,
    outdated,
    sorted_sets,
    template_hash,
)
from kohort.embedded.controllers.deployments.scaling import (
    Sizes,
    first_size,
    max_unavailable,
    resized,
    rolling_step,
    surge,
)
from kohort.embedded.controllers.serving import (
    DeploymentSpecView,
    DeploymentView,
    ReplicaSetSpecView,
    ReplicaSetView,
)


def deployment(replicas: int, more: int | str = 0, fewer: int | str = 0, **spec: Any) -> DeploymentView:
    strategy = UpdateStrategy(type="RollingUpdate", rolling_update=RollingUpdate(max_surge=more, max_unavailable=fewer))
    return DeploymentView(
        metadata=ObjectMeta(name="web", namespace="default", uid="web", generation=1),
        spec=DeploymentSpecView(replicas=replicas, strategy=strategy, **spec),
    )


def replica_set(name: str, size: int, available: int, **annotations: str) -> ReplicaSetView:
    return ReplicaSetView(
        metadata=ObjectMeta(name=name, uid=name, creation_timestamp=START, generation=1, annotations=dict(annotations)),
        spec=ReplicaSetSpecView(replicas=size),
        status=ReplicaSetStatus(
            replicas=size, available_replicas=available, ready_replicas=available, observed_generation=1
        ),
    )


def scaled(sets: Sets, sizes: Sizes) -> Sets:
    """The sets at their new sizes; what does not serve is deleted first."""
    for each in sets.all:
        size = sizes.get(each.metadata.uid, each.spec.replicas)
        serving = min(size, each.status.available_replicas)
        sets = sets.with_changed(replica_set(each.metadata.name, size, serving, **each.metadata.annotations))
    return sets


def total(sets: Sets) -> int:
    return sum(each.spec.replicas for each in sets.all)


def available(sets: Sets) -> int:
    return sum(each.status.available_replicas for each in sets.all)


AMOUNTS = st.one_of(st.integers(0, 12), st.sampled_from(["0%", "25%", "50%", "100%"]))


@given(st.integers(0, 12), AMOUNTS, AMOUNTS, st.lists(st.integers(0, 12), min_size=1, max_size=3), st.data())
def test_a_rollout_keeps_its_bounds_and_comes_to_its_end(
    replicas: int, more: int | str, fewer: int | str, olds: list[int], data: st.DataObject
) -> None:
    found = deployment(replicas, more, fewer)
    before = Sets(None, tuple(replica_set(f"old-{n}", size, size) for n, size in enumerate(olds)))
    sets = Sets(replica_set("new", first_size(found, before), 0), before.old)
    least, most = replicas - max_unavailable(found), replicas + surge(found)
    for _ in range(200):
        was_total, was_available = total(sets), available(sets)
        sets = scaled(sets, rolling_step(found, sets))
        assert total(sets) <= max(was_total, most)
        assert available(sets) >= min(was_available, least)
        new = sets.new
        assert new is not None
        if total(scaled(sets, rolling_step(found, sets))) == total(sets):
            waiting = new.spec.replicas - new.status.available_replicas
            if not waiting:
                break
            ready = new.status.available_replicas + data.draw(st.integers(1, waiting))
            sets = sets.with_changed(replica_set("new", new.spec.replicas, ready))
    assert {each.metadata.name: each.spec.replicas for each in sets.active} == ({"new": replicas} if replicas else {})


@given(st.integers(1, 30), st.integers(0, 30), st.integers(1, 10), st.integers(1, 10), st.integers(0, 5))
def test_a_new_size_is_shared_out_to_the_last_pod(old: int, new: int, one: int, other: int, more: int) -> None:
    notes = {DESIRED: str(old), MOST: str(one + other)}
    sets = Sets(replica_set("new", one, 0, **notes), (replica_set("old", other, other, **notes),))
    found = deployment(new, more, 1)
    after = scaled(sets, resized(found, sets))
    assert total(after) == (new + surge(found) if new else 0)
    assert all(each.spec.replicas >= 0 for each in after.all)


@pytest.mark.parametrize(
    ("more", "fewer", "bounds"),
    [(0, 0, (0, 1)), ("25%", "25%", (3, 2)), (1, 0, (1, 0)), ("0%", "5%", (0, 1)), (0, 99, (0, 10))],
)
def test_bounds_of_ten_pods(more: int | str, fewer: int | str, bounds: tuple[int, int]) -> None:
    found = deployment(10, more, fewer)
    assert (surge(found), max_unavailable(found)) == bounds


# Templates and numbers

TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "a"}]}}


def test_the_set_of_a_template_is_found_by_its_content() -> None:
    marked = {**TEMPLATE, "metadata": {"labels": {"app": "web", HASH: "anything"}, "creationTimestamp": None}}
    other = {**TEMPLATE, "spec": {"containers": []}}
    ours, theirs = (
        msgspec.structs.replace(replica_set(name, 1, 1), spec=ReplicaSetSpecView(template=template))
        for name, template in (("ours", marked), ("theirs", other))
    )
    sets = sorted_sets(deployment(1, template=TEMPLATE), [theirs, ours])
    assert sets.new is ours
    assert sets.old == (theirs,)


def test_the_hash_distinguishes_templates_and_collisions() -> None:
    other = {**TEMPLATE, "spec": {}}
    words = {template_hash(TEMPLATE, None), template_hash(other, None), template_hash(TEMPLATE, 1)}
    assert len(words) == 3
    assert all(len(word) == 10 for word in words)
    assert template_hash({**TEMPLATE, "metadata": {"labels": {"app": "web", HASH: "x"}}}, 0) == template_hash(
        TEMPLATE, None
    )
    assert bare(TEMPLATE) == TEMPLATE


def test_names_of_long_deployments_leave_space_for_the_hash() -> None:
    found = deployment(1, template=TEMPLATE, selector=LabelSelector(match_labels={"app": "web"}))
    long = msgspec.structs.replace(found, metadata=ObjectMeta(name="x" * 253))
    assert len(new_set(long, 1, {})["metadata"]["name"]) == 253


def test_revision_numbers_increase_and_the_history_is_kept() -> None:
    old = replica_set("old", 0, 0, **{REVISION: "7"})
    back = replica_set("back", 0, 0, **{REVISION: "3", HISTORY: "1"})
    wanted = new_annotations(deployment(1), Sets(back, (old,)))
    assert (wanted[REVISION], wanted[HISTORY]) == ("8", "1,3")
    again = new_annotations(deployment(1), Sets(replica_set("back", 0, 0, **wanted), (old,)))
    assert again == wanted


def test_only_idle_sets_beyond_the_history_go_oldest_first() -> None:
    sets = [replica_set(str(n), int(n == 2), 0, **{REVISION: str(n)}) for n in range(1, 6)]
    found = deployment(1, revision_history_limit=2)
    assert [each.metadata.name for each in outdated(found, sets)] == ["1", "3"]


# Progress


def test_a_pause_stops_the_clock_once() -> None:
    paused = deployment(1, paused=True)
    once = with_pause(paused, (), START)
    assert [each.reason for each in once] == ["DeploymentPaused"]
    assert with_pause(paused, once, START + timedelta(seconds=5)) is once


def test_no_deadline_no_progress() -> None:
    endless = deployment(1, progress_deadline_seconds=2**31 - 1)
    reported = put((), condition(PROGRESSING, "True", "ReplicaSetUpdated", "", START))
    status = rollout_status(endless, Sets(None, ()), reported, START)
    assert [each.type for each in status.conditions] == ["Available"]


def test_the_same_status_keeps_its_time() -> None:
    first = put((), condition(PROGRESSING, "True", "A", "", START))
    (second,) = put(first, condition(PROGRESSING, "True", "B", "", START + timedelta(seconds=9)))
    assert (second.last_transition_time, second.last_update_time) == (START, START + timedelta(seconds=9))
