"""Requests of workloads, cached for equal ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.scenario_builders import CPU, ScenarioBuilder
from kohort.api.codec import from_json
from kohort.api.kueue import v1beta2
from kohort.api.kueue.keys import ELASTIC_JOB_ANNOTATION
from kohort.api.meta import ObjectKey
from kohort.engine import request_cache
from kohort.engine.records import WorkloadInfo
from kohort.engine.request_cache import RequestCache
from kohort.engine.requests import Environment
from kohort.engine.settings import EngineSettings

Json = Any
PLAIN = Environment.of((), ())
ANOTHER = Environment.of((), ())


def reading(
    reader: RequestCache, thing: Json, environment: Environment = PLAIN, **facts: Any
) -> request_cache.WorkloadRequests:
    workload = WorkloadInfo(ObjectKey("ns", "w"), "uid")
    for name, value in facts.items():
        setattr(workload, name, value)
    return reader.read(workload, from_json(thing, v1beta2.Workload), environment)


def a_workload(cores: str = "1", count: int = 2, reclaimable: int = 0, annotations: Json = None) -> Json:
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": {CPU: cores}}}]}}
    pod_set = {"name": "main", "count": count, "minCount": 1, "template": template}
    status = {"reclaimablePods": [{"name": "main", "count": reclaimable}]} if reclaimable else {}
    return {"metadata": {"annotations": annotations or {}}, "spec": {"podSets": [pod_set]}, "status": status}


OBJECTS = (
    a_workload(),
    a_workload(cores="2"),
    a_workload(cores="none"),
    a_workload(count=3),
    a_workload(reclaimable=1),
    a_workload(annotations={ELASTIC_JOB_ANNOTATION: "true"}),
)
FACTS: tuple[Json, ...] = (
    {},
    {"priority": 1},
    {"allowed_flavors": frozenset("f")},
    {"replaces": WorkloadInfo(ObjectKey("ns", "old"), "old")},
)


@given(
    st.lists(st.tuples(st.sampled_from(OBJECTS), st.sampled_from(FACTS), st.sampled_from((PLAIN, ANOTHER))), max_size=9)
)
def test_a_cached_request_equals_a_fresh_one(questions: list[tuple[Json, Json, Environment]]) -> None:
    reader = RequestCache(EngineSettings())
    for thing, facts, environment in questions:
        anew = reading(RequestCache(EngineSettings()), thing, environment, **facts)
        assert reading(reader, thing, environment, **facts) == anew


def test_workloads_with_equal_requests_share_one_result() -> None:
    builder = ScenarioBuilder()
    builder.queue("q", 1)
    builder.submit("a", 1)
    builder.submit("b", 1)
    a, b = (builder.engine.store.workloads[ObjectKey("ns", name)] for name in "ab")
    assert a.pod_sets is b.pod_sets
    assert a.local_queue is b.local_queue


def test_the_number_of_cached_results_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_cache, "MOST_REMEMBERED", 2)
    reader = RequestCache(EngineSettings())
    first = reading(reader, a_workload())
    assert reading(reader, a_workload()) is first
    for count in range(2, 5):
        reading(reader, a_workload(count=count, cores="3"))
    assert reading(reader, a_workload()) is not first
