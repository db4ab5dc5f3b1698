"""No input makes a check fail: any document results in findings only."""

import copy
import gc
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.manifest_sets import COMPLETE, QUEUE, job, kueue, pod_spec, report, report_of_text
from kit.builders.core import make_namespace
from kohort.api.core import views
from kohort.api.documents import MAX_DEPTH, Document
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kinds import all_kinds
from kohort.api.kueue.group import GROUP
from kohort.api.manifests.checking import Checker
from kohort.api.manifests.findings import FindingSeverity

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["1Gi", "-1", "1e999999999", "9" * 400, "2026-01-31T12:00:00Z", "cpu", "Never", 10**300]),
)
NAMES = st.sampled_from(
    [
        *("apiVersion", "kind", "metadata", "name", "namespace", "labels", "annotations", "finalizers", "generateName"),
        *("spec", "status", "template", "jobTemplate", "containers", "resources", "requests", "limits", "podSets"),
        *("resourceGroups", "coveredResources", "flavors", "nominalQuota", "clusterQueue", QUEUE, "a.b/c", ""),
    ]
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)
KINDS = [
    *((kind.info.resource.api_version, kind.info.resource.kind) for kind in all_kinds(GROUP)),
    *((view.API_VERSION, view.KIND) for view in views()),
    ("config.kueue.x-k8s.io/v1beta1", "Configuration"),
    ("config.kueue.x-k8s.io/v1beta2", "Configuration"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    ("kueue.x-k8s.io/v1", "Nothing"),
]
WORKLOAD = kueue("Workload", "wl", "ns", queueName="lq", podSets=[{"name": "a", "template": {"spec": pod_spec(cpu=1)}}])
VALID = [*COMPLETE, job("lq", annotations={QUEUE: "x"}), make_namespace("ns"), WORKLOAD]
ALL_ON, ALL_OFF = FeatureGates(frozenset(Gate)), FeatureGates(frozenset())


@st.composite
def documents(draw: st.DrawFn) -> Any:
    """Any JSON, or an object of some kind with anything in it."""
    value = draw(ANYTHING)
    if isinstance(value, dict) and draw(st.booleans()):
        api_version, kind = draw(st.sampled_from(KINDS))
        return {**value, "apiVersion": api_version, "kind": kind}
    return value


@st.composite
def edited(draw: st.DrawFn) -> Any:
    """A sound manifest with one part replaced by anything."""
    root = [copy.deepcopy(draw(st.sampled_from(VALID)))]
    place: Any = root
    key: Any = 0
    while isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 4)):
        place = place[key]
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = draw(ANYTHING)
    return root[0]


@given(st.lists(documents(), max_size=4), st.sampled_from([DEFAULT_GATES, ALL_ON, ALL_OFF]))
def test_any_documents_are_reported_on(values: list[Any], gates: FeatureGates) -> None:
    found = report(*values, gates=gates)
    assert found.objects == len(values)
    assert all(str(each).isprintable() for each in found.findings)


@given(st.lists(edited(), min_size=1, max_size=4), st.sampled_from([DEFAULT_GATES, ALL_ON, ALL_OFF]))
def test_sound_manifests_with_anything_put_in_are_reported_on(values: list[Any], gates: FeatureGates) -> None:
    found = report(*VALID, *values, gates=gates)
    assert all(str(each).isprintable() for each in found.findings)


@given(st.permutations(VALID))
def test_the_order_of_objects_changes_nothing_but_the_order(values: list[Any]) -> None:
    def output(objects: list[Any]) -> list[str]:
        return sorted(str(each) for each in report(*objects).findings)

    assert output(values) == output(VALID)


class WeakDocument(dict[str, Any]):
    """A document's value that can be watched."""


def test_a_document_is_dropped_once_it_was_checked() -> None:
    value = WeakDocument(job("lq"))
    watched = weakref.ref(value)
    checker = Checker(DEFAULT_GATES)
    checker.read([Document(value, "job.yaml")])
    del value
    gc.collect()
    assert watched() is None
    assert checker.report().objects == 1


@pytest.mark.parametrize("kind", sorted(set(KINDS)), ids=lambda kind: f"{kind[0]} {kind[1]}")
@pytest.mark.parametrize("opening", ["{a: ", "{template: ", "{spec: ", "["])
def test_the_deepest_document_that_can_be_read_can_be_checked(kind: tuple[str, str], opening: str) -> None:
    depth = MAX_DEPTH - 2
    nest = opening * depth + "1" + ("]" if opening == "[" else "}") * depth
    text = (
        f"apiVersion: {kind[0]}\nkind: {kind[1]}\nmetadata: {{name: a, x: {nest[len(opening) : -1]}}}\nspec: {nest}\n"
    )
    found = report_of_text(text)
    assert found.objects == 1
    assert found.count(FindingSeverity.UNREADABLE) == 0
