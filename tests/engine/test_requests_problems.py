"""Which requests rule a workload out at nomination (docs/spec/scheduling.md, SCH-124)."""

import pytest

from engine.request_objects import Json, container, environment, limits, pod_set, template, workload
from kohort.api.kueue.v1beta2 import Workload
from kohort.engine.requests import resource_problem

SPEC = "spec.podSets[0].template.spec"
ABOVE_LIMITS = "resources validation failed: "
OUT_OF_RANGE = "resources didn't satisfy LimitRange constraints: "


def of(*containers: Json, **spec: Json) -> Workload:
    return workload({"name": "main", "count": 1, "template": template(*containers, **spec)})


def test_requests_within_their_limits_and_ranges_are_fine() -> None:
    """SCH-124."""
    ranges = limits("Container", min={"cpu": 1}, max={"cpu": 2})
    assert resource_problem(of(container({"cpu": 1}, limits={"cpu": 2})), environment(ranges)) is None


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        (template(container({"cpu": 2}, limits={"cpu": 1})), "containers[0]"),
        (template(container(), init=[container(), container({"cpu": 2}, limits={"cpu": 1})]), "initContainers[1]"),
        (template(container(), resources={"requests": {"cpu": 2}, "limits": {"cpu": 1}}), "resources"),
    ],
    ids=["container", "init container", "pod"],
)
def test_a_request_above_its_limit_is_reported_with_its_path(spec: Json, place: str) -> None:
    """SCH-124.3."""
    wl = workload({"name": "main", "count": 1, "template": spec})
    expected = f'{ABOVE_LIMITS}{SPEC}.{place}: Invalid value: ["cpu"]: requests must not exceed its limits'
    assert resource_problem(wl, environment()) == expected


def test_all_requests_above_limits_are_reported_at_once() -> None:
    """SCH-124.3."""
    high = container({"memory": 2, "cpu": 2, "x": 1}, limits={"memory": 1, "cpu": 1, "x": 1})
    wl = workload(pod_set({"cpu": 1}), {"name": "second", "count": 1, "template": template(high, high)})
    text = 'Invalid value: ["cpu","memory"]: requests must not exceed its limits'
    place = "spec.podSets[1].template.spec.containers"
    assert resource_problem(wl, environment()) == f"{ABOVE_LIMITS}[{place}[0]: {text}, {place}[1]: {text}]"


def test_amounts_are_compared_in_internal_units() -> None:
    """SCH-101, SCH-124.3."""
    assert resource_problem(of(container({"cpu": "0.2m"}, limits={"cpu": "0.1m"})), environment()) is None
    assert resource_problem(of(container({"cpu": "1000m"}, limits={"cpu": "1"})), environment()) is None


def test_a_default_request_above_the_limit_rules_the_workload_out() -> None:
    """SCH-121, SCH-124.3: what counts is the adjusted pod."""
    problem = resource_problem(
        of(container(limits={"cpu": 1})), environment(limits("Container", defaultRequest={"cpu": 2}))
    )
    assert problem is not None
    assert problem.startswith(ABOVE_LIMITS)


MAX = "requests must not be above the limitRange max"
MIN = "requests must not be below the limitRange min"


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"max": {"cpu": 3}}, MAX),
        ({"min": {"cpu": 3}}, MIN),
    ],
    ids=["the limit, if higher, is held against max", "the request, if lower, is held against min"],
)
def test_a_container_must_keep_within_the_limit_range(bounds: Json, message: str) -> None:
    """SCH-124.4."""
    wl = of(container({"cpu": 2}, limits={"cpu": 4}))
    expected = f'{OUT_OF_RANGE}{SPEC}.containers[0]: Invalid value: ["cpu"]: {message}'
    assert resource_problem(wl, environment(limits("Container", **bounds))) == expected


def test_init_containers_must_keep_within_the_limit_range_too() -> None:
    """SCH-124.4."""
    wl = of(container({"cpu": 1}), init=[container({"cpu": 5})])
    expected = f'{OUT_OF_RANGE}{SPEC}.initContainers[0]: Invalid value: ["cpu"]: {MAX}'
    assert resource_problem(wl, environment(limits("Container", max={"cpu": 3}))) == expected


@pytest.mark.parametrize(("bounds", "message"), [({"max": {"cpu": 3}}, MAX), ({"min": {"cpu": 6}}, MIN)])
def test_the_whole_pod_must_keep_within_the_limit_range(bounds: Json, message: str) -> None:
    """SCH-124.4: the total with init containers and overhead."""
    wl = of(container({"cpu": 1}), container({"cpu": 1}), init=[container({"cpu": 3})], overhead={"cpu": 1})
    expected = f'{OUT_OF_RANGE}{SPEC}: Invalid value: ["cpu"]: {message}'
    assert resource_problem(wl, environment(limits("Pod", **bounds))) == expected


def test_a_resource_that_is_not_requested_is_not_below_the_minimum() -> None:
    """SCH-124.4."""
    ranges = (limits("Container", min={"memory": 1}), limits("Pod", min={"memory": 1}))
    assert resource_problem(of(container({"cpu": 1})), environment(*ranges)) is None


def test_several_limit_ranges_bind_as_the_strictest_of_them() -> None:
    """SCH-121: the smallest max and the largest min."""
    ranges = (
        limits("Container", "a", max={"cpu": 4}, min={"cpu": 2}),
        limits("Container", "b", max={"cpu": 6}, min={"cpu": 1}),
        limits("Container", "c", max={"memory": 5}),
    )
    for request, fine in (({"cpu": 3}, True), ({"cpu": 5}, False), ({"cpu": 1}, False), ({"memory": 6}, False)):
        assert (resource_problem(of(container(request)), environment(*ranges)) is None) is fine


def test_requests_above_limits_are_reported_before_limit_ranges() -> None:
    """SCH-124: the first failure wins."""
    wl = workload(
        pod_set({"cpu": 9}), {"name": "b", "count": 1, "template": template(container({"cpu": 2}, limits={"cpu": 1}))}
    )
    problem = resource_problem(wl, environment(limits("Container", max={"cpu": 3})))
    assert problem is not None
    assert problem.startswith(ABOVE_LIMITS)


@pytest.mark.parametrize(
    ("bad", "what"),
    [({"spec": {"containers": [container({"cpu": "two"})]}}, '"two"'), ({"spec": {"containers": "none"}}, "array")],
)
def test_an_unreadable_template_is_reported_and_not_raised(bad: Json, what: str) -> None:
    wl = workload({"name": "main", "count": 1, "template": bad})
    problem = resource_problem(wl, environment())
    assert problem is not None
    assert problem.startswith(f"{ABOVE_LIMITS}spec.podSets[0].template: ")
    assert what in problem
