"""Field sets and the rules of ownership, one sentence each."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.patches.recordings import schema
from kohort.embedded.managed_fields import (
    EMPTY,
    FieldSet,
    apply,
    manager_of,
    reset_fields,
    track_update,
)
from kohort.embedded.resources import ServedResource, Subresource
from kohort.kube.errors import StatusError

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(minutes=5)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

STEPS = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "v:10", "v:9", "i:2"])
PATHS = st.lists(STEPS, min_size=1, max_size=3).map(tuple)


def set_of(paths: set[tuple[str, ...]]) -> FieldSet:
    found = EMPTY
    for path in paths:
        node: dict[str, Any] = {}
        for step in reversed(path):
            node = {step: node}
        found = found | FieldSet(node)
    return found


SETS = st.sets(PATHS, max_size=6)


def deployment(replicas: int = 1, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": labels},
        "spec": {"replicas": replicas},
    }


def updated(old: dict[str, Any] | None, new: dict[str, Any], manager: str, now: datetime = START) -> dict[str, Any]:
    return track_update(old, new, manager, "Update", "", "apps/v1", schema("Deployment"), now)


def applied(live: dict[str, Any] | None, config: dict[str, Any], manager: str, force: bool = False) -> dict[str, Any]:
    return apply(live, config, manager, force, schema("Deployment"), "apps/v1", LATER)


def owners(obj: dict[str, Any]) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


@given(SETS, SETS)
def test_field_sets_are_sets_of_paths(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> None:
    assert set(set_of(one).paths()) == one
    assert set((set_of(one) | set_of(other)).paths()) == one | other
    assert set((set_of(one) & set_of(other)).paths()) == one & other
    assert set((set_of(one) - set_of(other)).paths()) == one - other


@given(SETS, SETS)
def test_cutting_takes_what_lies_below_as_well(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> None:
    left = {path for path in one if not any(path[: len(cut)] == cut for cut in other)}
    assert set(set_of(one).without(set_of(other)).paths()) == left


@given(SETS)
def test_a_set_read_back_is_the_same_to_the_letter(paths: set[tuple[str, ...]]) -> None:
    found = set_of(paths)
    assert list(FieldSet.from_fields_v1(found.tree).paths()) == list(found.paths())
    assert repr(FieldSet.from_fields_v1(found.tree).tree) == repr(found.tree)


def test_steps_have_one_notation_and_numbers_are_sorted_by_value() -> None:
    read = FieldSet.from_fields_v1({'k:{"port": 443, "name":"<b>"}': {}, 'k:{"name":"a","port":80.0}': {".": {}}})
    assert list(read.tree) == ['k:{"name":"\\u003cb\\u003e","port":443}', 'k:{"name":"a","port":80}']


def test_nine_comes_before_ten() -> None:
    assert list(FieldSet.from_fields_v1({"v:10": {}, "v:9": {}}).tree) == ["v:9", "v:10"]


def test_a_port_without_protocol_is_a_tcp_port() -> None:
    config = deployment(1)
    config["spec"]["template"] = {"spec": {"containers": [{"name": "web", "ports": [{"containerPort": 80}]}]}}
    spec = owners(applied(None, config, "me"))["me"]["f:spec"]["f:template"]["f:spec"]
    ports = spec["f:containers"]['k:{"name":"web"}']["f:ports"]
    assert list(ports) == ['k:{"containerPort":80,"protocol":"TCP"}']


def test_unknown_kinds_of_steps_are_left_out() -> None:
    assert FieldSet.from_fields_v1({"x:new": {}, "f:a": {}}) == FieldSet.of("a")


def test_the_creator_owns_the_fields_of_the_write_and_no_server_field() -> None:
    created = updated(None, deployment(app="web"), "kubectl-create")
    fields = {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:replicas": {}}}
    assert owners(created) == {"kubectl-create": fields}


def test_the_manager_that_changes_a_field_owns_it_alone() -> None:
    created = updated(None, deployment(1), "one")
    scaled = updated(created, deployment(2), "two")
    assert owners(scaled) == {"one": {"f:metadata": {"f:labels": {}}}, "two": {"f:spec": {"f:replicas": {}}}}


def test_an_update_that_changes_nothing_touches_no_time() -> None:
    created = updated(None, deployment(1), "one")
    again = updated(created, deployment(1), "two", LATER)
    assert again["metadata"]["managedFields"] is created["metadata"]["managedFields"]


def test_true_is_not_one() -> None:
    old = {"apiVersion": "x.dev/v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"on": 1}}
    created = track_update(None, old, "one", "Update", "", "x.dev/v1", None, START)
    changed = track_update(created, {**old, "spec": {"on": True}}, "two", "Update", "", "x.dev/v1", None, START)
    assert owners(changed)["two"] == {"f:spec": {"f:on": {}}}


@pytest.mark.parametrize("given", [[], [{}]])
def test_an_empty_list_resets_and_tracking_stops(given: list[Any]) -> None:
    created = updated(None, deployment(1), "one")
    new = deployment(2)
    new["metadata"]["managedFields"] = given
    reset = updated(created, new, "two")
    assert owners(reset) == {}
    assert owners(updated(reset, deployment(3), "three")) == {}


def test_the_first_apply_takes_earlier_fields_into_account() -> None:
    live = deployment(1)
    assert set(owners(applied(live, deployment(1), "me"))) == {"me", "before-first-apply"}
    with pytest.raises(StatusError, match=r'conflict with "before-first-apply" using apps/v1: \.spec\.replicas'):
        applied(live, deployment(2), "me")


def test_a_conflict_names_owner_version_and_field() -> None:
    live = updated(None, deployment(1), "kubectl-client-side-apply")
    with pytest.raises(StatusError) as refused:
        applied(live, deployment(2), "me")
    error = refused.value
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas'
    )
    message = 'conflict with "kubectl-client-side-apply" using apps/v1'
    cause = {"reason": "FieldManagerConflict", "message": message, "field": ".spec.replicas"}
    assert error.details == {"causes": [cause]}


def test_force_takes_the_field() -> None:
    live = updated(None, deployment(1), "other")
    taken = applied(live, deployment(2), "me", force=True)
    assert taken["spec"]["replicas"] == 2
    assert owners(taken)["me"]["f:spec"] == {"f:replicas": {}}
    assert "f:spec" not in owners(taken).get("other", {})


def test_fields_no_longer_applied_are_removed_unless_others_own_them() -> None:
    live = applied(applied(None, deployment(1, a="1", b="2"), "me"), deployment(1, b="2"), "you")
    left = applied(live, deployment(1), "me")
    assert left["metadata"]["labels"] == {"b": "2"}


@given(st.integers(1, 3), st.dictionaries(st.sampled_from("abc"), st.sampled_from("12")))
def test_the_same_apply_twice_changes_nothing(replicas: int, labels: dict[str, str]) -> None:
    once = applied(None, deployment(replicas, **labels), "me")
    assert applied(once, deployment(replicas, **labels), "me") == once


def test_kubectl_keeps_its_annotation_in_step() -> None:
    live = deployment(1)
    live["metadata"]["annotations"] = {LAST_APPLIED: '{"spec":{"replicas":1}}'}
    live = updated(None, live, "kubectl-client-side-apply")
    done = applied(live, deployment(2), "kubectl")
    assert '"replicas":2' in done["metadata"]["annotations"][LAST_APPLIED]


def test_each_endpoint_leaves_the_other_half_unchanged() -> None:
    status = Subresource("status", "Deployment", ("get",))
    with_status = ServedResource("apps", "v1", "deployments", "Deployment", namespaced=True, subresources=(status,))
    assert reset_fields(with_status, "") == FieldSet.of("status")
    assert reset_fields(with_status, "status") == FieldSet.of("spec")
    assert reset_fields(with_status, "scale") == EMPTY
    assert reset_fields(ServedResource("x", "v1", "xs", "X", namespaced=True), "") == EMPTY


@pytest.mark.parametrize(("agent", "name"), [("kubectl/v1.37 (linux)", "kubectl"), ("", ""), ("a\u0007b/1", "ab")])
def test_a_client_without_a_name_owns_by_its_user_agent(agent: str, name: str) -> None:
    assert manager_of(agent) == name


def test_an_object_too_deep_to_walk_is_a_bad_request() -> None:
    obj: dict[str, Any] = {}
    for _ in range(900):
        obj = {"a": obj}
    deep = {"apiVersion": "x.dev/v1", "kind": "X", "metadata": {"name": "x"}, "spec": obj}
    with pytest.raises(StatusError, match="nested too deeply"):
        track_update(None, deep, "me", "Update", "", "x.dev/v1", None, START)
    with pytest.raises(StatusError, match="nested too deeply"):
        apply(None, deep, "me", False, None, "x.dev/v1", START)


def test_of_many_managers_that_update_the_oldest_become_one() -> None:
    live = updated(None, deployment(0), "creator", START)
    for number in range(1, 13):
        labels = {f"l{index}": "1" for index in range(number)}
        live = updated(live, deployment(0, **labels), f"m{number:02}", START + timedelta(seconds=number))
    names = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert names == ["ancient-changes", *(f"m{number:02}" for number in range(4, 13))]
    assert live["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:03Z"
