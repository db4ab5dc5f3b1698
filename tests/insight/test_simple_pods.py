"""Counting the plain pods at once comes to the same as counting them by all the rules."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.insight.list_views import LeanPodSet, LeanSpec, LeanWorkload
from kohort.insight.queues import workload_row
from kohort.insight.requested_resources import requested_by
from kohort.insight.simple_pods import simple_request

resources = st.sampled_from(["cpu", "memory", "nvidia.com/gpu"])
quantities = st.sampled_from(["1", "500m", "2Gi", "1500M", 3, "0", "1e2"])
lists = st.dictionaries(resources, quantities, max_size=3)
containers = st.fixed_dictionaries(
    {"name": st.just("c")}, optional={"resources": st.fixed_dictionaries({}, optional={"requests": lists})}
)
specs = st.fixed_dictionaries(
    {"containers": st.lists(containers, max_size=3)},
    optional={
        "initContainers": st.lists(containers, max_size=2),
        "overhead": lists,
        "runtimeClassName": st.just("slow"),
        "nodeSelector": st.just({"a": "b"}),
    },
)


def workload(spec: object, count: int) -> LeanWorkload:
    template = msgspec.Raw(json.dumps({"spec": spec}).encode())
    return LeanWorkload(spec=LeanSpec(pod_sets=(LeanPodSet(name="main", count=count, template=template),)))


@given(specs, st.integers(0, 100))
def test_the_shortcut_and_the_full_computation_agree(spec: dict[str, object], count: int) -> None:
    given_ = workload(spec, count)
    (pods,) = given_.spec.pod_sets
    assert workload_row(given_, {}, {}).amounts == requested_by(((bytes(pods.template), count),))


@pytest.mark.parametrize(
    "special",
    [
        {"initContainers": [{"name": "i"}]},
        {"overhead": {"cpu": "1"}},
        {"resources": {"requests": {"cpu": "1"}}},
        {"runtimeClassName": "slow"},
        {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]},
    ],
)
def test_what_is_special_is_left_to_the_rules(special: dict[str, object]) -> None:
    assert simple_request(json.dumps({"spec": special}).encode(), 1) is None


def test_what_makes_no_sense_is_left_to_the_rules() -> None:
    nonsense = {"spec": {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}}
    assert simple_request(json.dumps(nonsense).encode(), 1) is None
    assert simple_request(b'{"spec": 7}', 1) is None
