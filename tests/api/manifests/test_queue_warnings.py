"""Queues and flavors that are accepted and will not do what their authors mean: W201 to W207, W301 to W303."""

from typing import Any

import pytest

from api.manifest_sets import (
    COMPLETE,
    cpus,
    flavor,
    kueue,
    local_queue,
    message,
    queue,
    report,
    report_of_text,
    warnings,
)
from kit.builders.core import make_namespace

FLAVOR_NAME = "spec.resourceGroups[0].flavors[0].name"
LIMIT = "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit"


def borrower(name: str = "cq", cohort: str = "all", limit: Any = 5) -> Any:
    return queue(name, cohortName=cohort, resourceGroups=[cpus(10, borrowingLimit=limit)])


def cohort(name: str = "all", **spec: Any) -> Any:
    return kueue("Cohort", name, **spec)


# W201, W202: which namespaces


def test_a_queue_without_selector_takes_nothing_from_anybody() -> None:
    """SCH-125."""
    closed = queue()
    del closed["spec"]["namespaceSelector"]
    assert warnings(flavor(), closed) == ["W201 ClusterQueue cq spec.namespaceSelector"]
    assert "use {}" in message("W201", flavor(), closed)


def test_a_namespace_that_the_queue_does_not_select_is_reported_at_the_local_queue() -> None:
    """SCH-124."""
    given = (flavor(), queue(namespaceSelector={"matchLabels": {"team": "a"}}), local_queue())
    assert warnings(*given, make_namespace("ns", team="a")) == []
    assert warnings(*given, make_namespace("ns", team="b")) == ["W202 LocalQueue ns/lq spec.clusterQueue"]
    assert warnings(*given) == []


def test_every_namespace_carries_its_name_as_a_label() -> None:
    by_name = {"matchLabels": {"kubernetes.io/metadata.name": "ns"}}
    assert warnings(flavor(), queue(namespaceSelector=by_name), local_queue(), make_namespace("ns")) == []


# W203 to W206: names of what is not there


def test_a_flavor_that_is_undefined_is_always_reported() -> None:
    """API-29."""
    assert warnings(queue()) == [f"W203 ClusterQueue cq {FLAVOR_NAME}"]
    assert warnings(cohort(resourceGroups=[cpus(1)])) == [f"W203 Cohort all {FLAVOR_NAME}"]


def test_a_flavor_with_errors_is_there_all_the_same() -> None:
    assert [each.code for each in report(flavor(nodeLabels=3), queue()).findings] == [""]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_an_admission_check_that_is_undefined_is_reported_where_it_is_named(version: str) -> None:
    """API-29."""
    checked = queue(admissionChecksStrategy={"admissionChecks": [{"name": "prov"}]})
    checked["apiVersion"] = f"kueue.x-k8s.io/{version}"
    field = "spec.admissionChecksStrategy.admissionChecks[0].name"
    assert f"W204 ClusterQueue cq {field}" in warnings(flavor(), checked)
    check = kueue("AdmissionCheck", "prov", controllerName="kueue.x-k8s.io/provisioning-request")
    assert not [each for each in warnings(flavor(), check, checked) if each.startswith("W204")]


def test_the_short_form_of_admission_checks_is_understood() -> None:
    """API-73."""
    checked = queue(admissionChecks=["prov"])
    checked["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    assert "W204 ClusterQueue cq spec.admissionChecks[0]" in warnings(flavor(), checked)


def test_a_topology_that_is_undefined_is_reported_at_the_flavor() -> None:
    placed = flavor(nodeLabels={"pool": "a"}, topologyName="racks")
    assert "W205 ResourceFlavor f1 spec.topologyName" in warnings(placed)
    topology = kueue("Topology", "racks", levels=[{"nodeLabel": "kubernetes.io/hostname"}])
    assert not any(each.startswith("W205") for each in warnings(placed, topology))


def test_a_local_queue_leans_on_cluster_queues_that_exist_already() -> None:
    assert warnings(local_queue(cluster_queue="elsewhere")) == []


def test_a_missing_cluster_queue_is_reported_among_existing_ones() -> None:
    assert warnings(*COMPLETE, local_queue("b", cluster_queue="qc")) == ["W206 LocalQueue ns/b spec.clusterQueue"]


def test_a_local_queue_without_a_cluster_queue_is_reported() -> None:
    aimless = kueue("LocalQueue", "lq", "ns")
    assert warnings(aimless) == ["W206 LocalQueue ns/lq spec.clusterQueue"]


# W207: no queue to borrow from


@pytest.mark.parametrize(
    "others",
    [
        (borrower("b"),),
        (cohort(resourceGroups=[cpus(1)]),),
        (cohort(parentName="root"),),
        (cohort("child", parentName="all"),),
    ],
    ids=["another member", "quota of the cohort", "a parent", "a child"],
)
def test_a_borrowing_limit_is_fine_where_a_member_may_lend(others: tuple[Any, ...]) -> None:
    assert warnings(flavor(), borrower(), *others) == []


@pytest.mark.parametrize("others", [(), (queue("b"),), (borrower("b", "c"), borrower("d", "c")), (cohort(),)])
def test_a_borrowing_limit_is_of_no_effect_where_the_queue_is_alone(others: tuple[Any, ...]) -> None:
    assert warnings(flavor(), borrower(), *others) == [f"W207 ClusterQueue cq {LIMIT}"]


def test_a_limit_of_nothing_is_meant_so() -> None:
    assert warnings(flavor(), borrower(limit=0)) == []


def test_a_queue_with_errors_may_be_in_the_cohort() -> None:
    broken = borrower("b")
    broken["spec"]["queueingStrategy"] = "Random"
    assert [each.code for each in report(flavor(), borrower(), broken).findings] == [""]


# W301 to W303: the set


def test_a_duplicate_object_is_reported_with_its_first_position() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    (found,) = report_of_text(f"{text}---\n{text}").findings
    assert (found.code, found.line) == ("W301", 5)
    assert "duplicate of set.yaml:1" in found.message


def test_the_same_name_in_another_namespace_or_group_is_another_object() -> None:
    other_group = {"apiVersion": "example.com/v1", "kind": "LocalQueue", "metadata": {"name": "lq", "namespace": "ns"}}
    assert warnings(*COMPLETE, local_queue(namespace="other"), other_group) == ["W402 LocalQueue ns/lq kind"]


def test_generated_names_are_never_the_same() -> None:
    generated = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}
    assert warnings(generated, generated) == []


def test_the_older_version_is_reported_with_the_fields_that_changed() -> None:
    """API-2."""
    old = queue()
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    old["spec"]["cohort"] = "all"
    assert warnings(flavor(), old) == ["W302 ClusterQueue cq apiVersion"]
    text = message("W302", flavor(), old)
    assert text.endswith("use kueue.x-k8s.io/v1beta2; renamed fields: spec.cohort")


def test_a_setting_without_effect_is_reported() -> None:
    idle = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    idle["metrics"] = {"customLabels": [{"name": "team", "sourceLabelKey": "team"}]}  # type: ignore[assignment]
    assert warnings(idle) == ["W303 Configuration "]
