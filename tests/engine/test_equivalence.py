"""Workloads are equivalent when all decisions about them are equal (SCH-250)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.request_objects import container, environment, pod_set, template, workload
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.equivalence import equivalence
from kohort.engine.requests import RequestRules, demands

Json = Any


def hashed(thing: Workload, priority: int = 0, allowed_flavors: list[str] | None = None) -> str:
    surroundings = environment()
    asked = demands(thing, RequestRules(), surroundings, DEFAULT_GATES)
    return equivalence(thing, priority, asked, surroundings, allowed_flavors)


def of(**spec: Json) -> str:
    """The text of a workload whose only pod set has this template."""
    return hashed(workload({"name": "main", "count": 2, "template": template(container({"cpu": "1"}), **spec)}))


def test_a_limit_used_as_request_is_equivalent_to_a_request() -> None:
    """SCH-122: pods count as they would be created."""
    limited = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}
    asking = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    texts = {hashed(workload({"name": "main", "template": template(each)})) for each in (limited, asking)}
    assert len(texts) == 1


def test_it_is_sixteen_hexadecimal_digits() -> None:
    text = hashed(workload(pod_set({"cpu": "1"})))
    assert len(text) == 16
    assert int(text, 16) >= 0


DIFFERENT = {
    "priority": hashed(workload(pod_set({"cpu": "1"})), priority=1),
    "request": hashed(workload(pod_set({"cpu": "2"}))),
    "resource": hashed(workload(pod_set({"cpu": "1", "memory": "1Gi"}))),
    "count": hashed(workload(pod_set({"cpu": "1"}, count=2))),
    "name": hashed(workload(pod_set({"cpu": "1"}, name="other"))),
    "minCount": hashed(workload(pod_set({"cpu": "1"}, minCount=1))),
    "topologyRequest": hashed(workload(pod_set({"cpu": "1"}, topologyRequest={"required": "rack"}))),
    "another pod set": hashed(workload(pod_set({"cpu": "1"}), pod_set({"cpu": "1"}, name="more"))),
    "reclaimable pods": hashed(workload(pod_set({"cpu": "1"}), reclaimablePods=[{"name": "main", "count": 1}])),
    "allowed flavors": hashed(workload(pod_set({"cpu": "1"})), allowed_flavors=["spot"]),
}


@pytest.mark.parametrize("other", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_different_requests_give_different_hashes(other: str) -> None:
    """SCH-250"""
    assert other != hashed(workload(pod_set({"cpu": "1"})))


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeSelector": {"zone": "a"}},
        {"affinity": {"nodeAffinity": {}}},
        {"tolerations": [{"key": "spot", "operator": "Exists"}]},
        {"runtimeClassName": "kata"},
        {"priority": 7},
        {"topologySpreadConstraints": [{"maxSkew": 1}]},
        {"overhead": {"cpu": "0"}},
        {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]},
        {"resources": {"requests": {"cpu": "1"}}},
        {"init": [container({"cpu": "1"})]},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_constraints_of_the_template_make_a_difference(spec: Json) -> None:
    """SCH-250"""
    assert of(**spec) != of()


def test_ports_make_a_difference() -> None:
    """SCH-250"""
    opened = template(container({"cpu": "1"}, ports=[{"containerPort": 80, "hostPort": 80}]))
    assert hashed(workload({"name": "main", "count": 2, "template": opened})) != of()


@pytest.mark.parametrize(
    "spec", [{"restartPolicy": "Never"}, {"volumes": [{"name": "v"}]}, {"serviceAccountName": "s"}]
)
def test_what_no_decision_reads_makes_none(spec: Json) -> None:
    """SCH-250"""
    assert of(**spec) == of()


def test_labels_images_and_names_of_the_template_make_none() -> None:
    """SCH-250"""
    labelled = template(container({"cpu": "1"}, image="other", env=[{"name": "A", "value": "b"}]))
    labelled["metadata"] = {"labels": {"job-name": "mine"}}
    assert hashed(workload({"name": "main", "count": 2, "template": labelled})) == of()


def test_reclaimed_pods_count_as_if_they_had_never_been_requested() -> None:
    """SCH-250: the effective count"""
    reclaimed = workload(pod_set({"cpu": "1"}, count=3), reclaimablePods=[{"name": "main", "count": 1}])
    assert hashed(reclaimed) == hashed(workload(pod_set({"cpu": "1"}, count=2)))


def test_the_same_quantity_in_other_words_is_the_same() -> None:
    """SCH-250"""
    assert hashed(workload(pod_set({"cpu": "1"}))) == hashed(workload(pod_set({"cpu": "1000m"})))


@given(st.permutations(["cpu", "memory", "nvidia.com/gpu"]), st.permutations(["a", "b", "c"]))
def test_the_order_of_keys_makes_no_difference(resources: list[str], labels: list[str]) -> None:
    """SCH-250: canonical"""
    some = workload({"name": "main", "count": 1, "template": _template(resources, labels)})
    same = workload({"name": "main", "count": 1, "template": _template(sorted(resources), sorted(labels))})
    assert hashed(some) == hashed(same)


def _template(resources: list[str], labels: list[str]) -> Json:
    return template(container(dict.fromkeys(resources, "1")), nodeSelector=dict.fromkeys(labels, "x"))
