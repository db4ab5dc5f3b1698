"""What a start adds to templates, and that a stop takes exactly that out again (JOB-46 to JOB-52)."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.jobs.errors import PermanentError
from kohort.jobs.podsets import PodSetInfo, expect_count, info_of, merge_info, restore_info

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["1", "2"])
MAPS = st.dictionaries(KEYS, VALUES, max_size=3)
TOLERATIONS = st.lists(st.builds(lambda key: {"key": key, "operator": "Exists"}, KEYS), max_size=2)
GATES = st.lists(KEYS, max_size=2, unique=True)


def template(labels: Any, notes: Any, selector: Any, tolerations: Any, gates: Any) -> Any:
    """A template with some of its members absent, as users write them."""
    metadata = {name: value for name, value in (("labels", labels), ("annotations", notes)) if value}
    members = (("nodeSelector", selector), ("tolerations", tolerations))
    gated = {"schedulingGates": [{"name": gate} for gate in gates]} if gates else {}
    spec = {"containers": [{"name": "c"}], **{name: value for name, value in members if value}, **gated}
    return {**({"metadata": metadata} if metadata else {}), "spec": spec}


TEMPLATES = st.builds(template, MAPS, MAPS, MAPS, TOLERATIONS, GATES)
INFOS = st.builds(
    lambda labels, notes, selector, tolerations, gates: PodSetInfo(
        "main", 1, labels, notes, selector, tuple(tolerations), tuple(gates)
    ),
    MAPS,
    MAPS,
    MAPS,
    TOLERATIONS,
    GATES,
)


@given(TEMPLATES, INFOS)
def test_restoring_undoes_merging(found: Any, info: PodSetInfo) -> None:
    original = info_of("main", 1, found)
    changed = deepcopy(found)
    try:
        merge_info(changed, info)
    except PermanentError:
        return
    restore_info(changed, original)
    assert changed == found


@given(TEMPLATES, INFOS)
def test_merging_twice_is_merging_once(found: Any, info: PodSetInfo) -> None:
    once = deepcopy(found)
    try:
        merge_info(once, info)
    except PermanentError:
        return
    twice = deepcopy(once)
    merge_info(twice, info)
    assert twice == once


@given(TEMPLATES, INFOS)
def test_nothing_that_a_user_wrote_is_overwritten(found: Any, info: PodSetInfo) -> None:
    changed = deepcopy(found)
    try:
        merge_info(changed, info)
    except PermanentError:
        return
    before, after = info_of("main", 1, found), info_of("main", 1, changed)
    assert before.labels.items() <= after.labels.items()
    assert before.node_selector.items() <= after.node_selector.items()
    assert list(after.tolerations)[: len(before.tolerations)] == list(before.tolerations)


def test_a_conflict_names_the_key_and_both_values() -> None:
    with pytest.raises(PermanentError, match="conflict for labels: conflict for key=a, value1=1, value2=2"):
        merge_info({"metadata": {"labels": {"a": "1"}}}, PodSetInfo("main", labels={"a": "2"}))


def test_a_wrong_number_of_infos_is_permanent() -> None:
    with pytest.raises(PermanentError, match="expecting 2 podset, got 1"):
        expect_count([PodSetInfo("main")], 2)


def test_the_name_of_a_slice_replaces_that_of_an_earlier_one() -> None:
    slice_name, workload = "kueue.x-k8s.io/workload-slice-name", "kueue.x-k8s.io/workload"
    found: Any = {"metadata": {"annotations": {slice_name: "old", workload: "old"}}}
    merge_info(found, PodSetInfo("main", annotations={slice_name: "new", workload: "new"}))
    assert found["metadata"]["annotations"] == {slice_name: "new", workload: "new"}
    with pytest.raises(PermanentError):
        merge_info(found, PodSetInfo("main", annotations={workload: "another"}))
