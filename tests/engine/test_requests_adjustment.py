"""What is added to a pending pod before its requests count (docs/spec/scheduling.md §1.3)."""

from engine.request_objects import Json, container, environment, limits, pod, runtime_class
from kohort.api.core.containers import ResourceRequirements
from kohort.api.core.pods import QuotaPodSpec
from kohort.engine.requests import Environment, adjusted, pod_amounts

GVISOR = environment(runtime_classes=(runtime_class("gvisor", {"cpu": "250m"}),))


def amounts(spec: QuotaPodSpec, surroundings: Environment) -> dict[str, int]:
    return pod_amounts(adjusted(spec, surroundings))


def first(spec: QuotaPodSpec) -> ResourceRequirements:
    return spec.containers[0].resources


def test_a_runtime_class_adds_its_overhead() -> None:
    """SCH-120."""
    assert amounts(pod(container({"cpu": 1}), runtimeClassName="gvisor"), GVISOR) == {"cpu": 1250}


def test_overhead_in_the_template_wins_over_the_runtime_class() -> None:
    """SCH-120."""
    spec = pod(container({"cpu": 1}), runtimeClassName="gvisor", overhead={"cpu": "1m"})
    assert amounts(spec, GVISOR) == {"cpu": 1001}


def test_a_pod_that_names_no_runtime_class_or_an_unknown_one_has_no_overhead() -> None:
    """SCH-120."""
    assert amounts(pod(container({"cpu": 1})), GVISOR) == {"cpu": 1000}
    assert amounts(pod(container({"cpu": 1}), runtimeClassName="kata"), GVISOR) == {"cpu": 1000}


def test_defaults_fill_in_what_containers_leave_open() -> None:
    """SCH-121."""
    surroundings = environment(limits("Container", default={"cpu": 4}, defaultRequest={"cpu": 1, "memory": 7}))
    spec = adjusted(pod(container({"cpu": 2}), init=[container()]), surroundings)
    assert first(spec) == ResourceRequirements(limits={"cpu": 4}, requests={"cpu": 2, "memory": 7})
    assert spec.init_containers[0].resources == ResourceRequirements(
        limits={"cpu": 4}, requests={"cpu": 1, "memory": 7}
    )


def test_pod_defaults_apply_only_to_a_pod_level_block_that_is_there() -> None:
    """SCH-121."""
    surroundings = environment(limits("Pod", default={"memory": 9}, defaultRequest={"cpu": 3}))
    assert amounts(pod(container({"cpu": 1})), surroundings) == {"cpu": 1000}
    assert amounts(pod(container({"cpu": 1}), resources={}), surroundings) == {"cpu": 3000, "memory": 9}


def test_container_defaults_leave_the_pod_level_alone() -> None:
    """SCH-121."""
    surroundings = environment(limits("Container", defaultRequest={"cpu": 3}))
    assert amounts(pod(container(), resources={"requests": {"memory": 5}}), surroundings) == {"cpu": 3000, "memory": 5}


def test_the_first_limit_range_by_name_provides_the_defaults() -> None:
    """SCH-121."""
    later = limits("Container", "b", defaultRequest={"cpu": 2, "x": 1}, default={"cpu": 4, "x": 3})
    sooner = limits("Container", "a", defaultRequest={"cpu": 1}, default={"cpu": 3})
    assert first(adjusted(pod(container()), environment(later, sooner))) == ResourceRequirements(
        limits={"cpu": 3, "x": 3}, requests={"cpu": 1, "x": 1}
    )


def test_other_types_of_limit_range_change_nothing() -> None:
    """SCH-121."""
    claims = limits("PersistentVolumeClaim", defaultRequest={"cpu": 1}, default={"cpu": 1}, max={"cpu": 1})
    assert amounts(pod(container({"memory": 1})), environment(claims)) == {"memory": 1}


def test_a_limit_counts_as_the_request_that_is_missing() -> None:
    """SCH-122."""
    spec = pod(
        container({"cpu": 1}, limits={"cpu": 2, "memory": 5}),
        init=[container(limits={"x": 3})],
        resources={"limits": {"hugepages-2Mi": 8}},
    )
    assert amounts(spec, environment()) == {"cpu": 1000, "hugepages-2Mi": 8, "memory": 5, "x": 3}


def test_a_default_limit_counts_as_the_request_that_is_missing() -> None:
    """SCH-121, SCH-122."""
    assert amounts(pod(container()), environment(limits("Container", default={"cpu": 4}))) == {"cpu": 4000}


def test_a_default_request_wins_over_the_limit() -> None:
    """G38: SCH-121, SCH-122."""
    surroundings = environment(limits("Container", defaultRequest={"cpu": 1}))
    assert amounts(pod(container(limits={"cpu": 4})), surroundings) == {"cpu": 1000}


def test_a_pod_to_which_nothing_is_added_stays_as_it_is() -> None:
    """SCH-120..122."""
    template: Json = {"tolerations": [{"key": "gpu", "operator": "Exists"}], "nodeSelector": {"zone": "a"}}
    spec = pod(container({"cpu": 1}, image="i"), init=[container({"cpu": 1})], **template)
    assert adjusted(spec, environment()) == spec


def test_adjusting_leaves_everything_but_resources_and_overhead_untouched() -> None:
    """SCH-120..122."""
    spec = pod(container(limits={"cpu": 1}, ports=["p"]), runtimeClassName="gvisor", nodeSelector={"zone": "a"})
    after = adjusted(spec, GVISOR)
    assert (after.node_selector, after.containers[0].ports) == ({"zone": "a"}, ("p",))
    assert first(spec).requests == {}
