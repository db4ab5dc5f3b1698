"""The shape of pods and their roles (JOB-74, JOB-146)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.golden.recordings import job_recording
from kohort.api.fields import ROOT
from kohort.jobs.frameworks.pods.members import role_of
from kohort.jobs.frameworks.pods.shape import shape_change_errors, shape_hash

Json = Any
ROLES = job_recording("pod")["roleHashes"]


@pytest.mark.parametrize("case", ROLES, ids=lambda case: str(case["name"]))
def test_roles_are_those_that_the_real_kueue_computed(case: Json) -> None:
    assert shape_hash(case["spec"]) == case["roleHash"]


@pytest.mark.parametrize("case", ROLES, ids=lambda case: str(case["name"]))
def test_the_order_in_which_members_were_written_does_not_matter(case: Json) -> None:
    assert shape_hash(backwards(case["spec"])) == case["roleHash"]


def test_a_role_that_was_given_is_kept() -> None:
    pod = {"metadata": {"annotations": {"kueue.x-k8s.io/role-hash": "main"}}, "spec": {}}
    assert role_of(pod) == "main"


def test_resources_of_the_whole_pod_count_where_there_are_some() -> None:
    container = {"containers": [{"name": "c"}]}
    assert shape_hash({**container, "resources": {"requests": {"cpu": "1"}}}) != shape_hash(container)


SPECS = st.sampled_from([case["spec"] for case in ROLES])


@given(SPECS, SPECS)
def test_a_change_is_reported_exactly_when_the_role_changes(new: Json, old: Json) -> None:
    errors = shape_change_errors(new, old, ROOT / "spec")
    assert bool(errors) == (shape_hash(new) != shape_hash(old))
    assert all(str(error.path).startswith("spec.") for error in errors)


def test_a_change_is_reported_at_its_field() -> None:
    def spec(cpu: str, key: str) -> Json:
        return {"containers": [{"resources": {"requests": {"cpu": cpu}}}], "nodeSelector": {key: "b"}}

    errors = shape_change_errors(spec("2", "y"), spec("1", "x"), ROOT / "spec")
    assert [str(error.path) for error in errors] == ["spec.containers[0].resources.requests", "spec.nodeSelector"]


def test_another_number_of_containers_is_one_change() -> None:
    errors = shape_change_errors({"containers": [{}, {}]}, {"containers": [{}]}, ROOT / "spec")
    assert [str(error.path) for error in errors] == ["spec.containers"]


def backwards(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: backwards(value[name]) for name in reversed(value)}
    return [backwards(item) for item in value] if isinstance(value, list) else value
