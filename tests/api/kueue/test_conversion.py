"""v1beta1 to v1beta2 and back, beyond the golden transcripts (API-72 to API-77)."""

from typing import Any

import pytest

from api.kueue.objects import cluster_queue, pod_set, workload
from kohort.api.errors import ConversionError
from kohort.api.kinds import all_kinds
from kohort.api.kueue.conversion import V1BETA1, V1BETA2, convert
from kohort.api.kueue.group import GROUP

TIME = "2026-01-31T12:00:00Z"


def test_there_are_eleven_kinds_in_two_versions() -> None:
    """API-1."""
    kinds = all_kinds(GROUP)
    assert len(kinds) == 22
    assert len({kind.info.resource.kind for kind in kinds}) == 11
    assert all(kind.info.is_storage == (kind.info.resource.version == "v1beta2") for kind in kinds)


def test_every_v1beta1_kind_but_multikueueconfig_is_deprecated() -> None:
    """API-2."""
    current = [kind.info for kind in all_kinds(GROUP) if not kind.info.deprecation]
    assert {info.resource.kind for info in current if info.resource.version == "v1beta1"} == {"MultiKueueConfig"}


def test_metadata_passes_untouched() -> None:
    queue = cluster_queue()
    queue["metadata"] |= {"managedFields": [{"manager": "x"}], "selfLink": "/y"}
    assert convert(queue, V1BETA1)["metadata"] == queue["metadata"]


def test_the_same_version_is_returned_as_it_is() -> None:
    queue = cluster_queue()
    assert convert(queue, V1BETA2) is queue


def test_the_original_is_not_changed() -> None:
    queue = cluster_queue(version=V1BETA1, cohort="c", admissionChecks=["a"])
    before = repr(queue)
    convert(queue, V1BETA2)
    assert repr(queue) == before


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ({"apiVersion": V1BETA1, "kind": "Pod"}, V1BETA2),
        ({"apiVersion": "v1", "kind": "ClusterQueue"}, V1BETA2),
        ({"apiVersion": V1BETA1, "kind": "ClusterQueue"}, "kueue.x-k8s.io/v9"),
    ],
)
def test_what_has_no_conversion_is_refused(value: Any, target: str) -> None:
    with pytest.raises(ConversionError, match="no conversion"):
        convert(value, target)


def test_fields_of_v1beta1_without_a_counterpart_in_v1beta2_are_dropped() -> None:
    """API-73."""
    queue = cluster_queue(version=V1BETA1)
    queue["status"] = {
        "pendingWorkloadsStatus": {"clusterQueuePendingWorkload": [], "lastChangeTime": TIME},
        "fairSharing": {
            "weightedShare": 3,
            "admissionFairSharingStatus": {"consumedResources": {"cpu": "1"}, "lastUpdate": TIME},
        },
    }
    assert convert(queue, V1BETA2)["status"] == {
        "fairSharing": {"weightedShare": 3},
        "pendingWorkloads": 0,
        "reservingWorkloads": 0,
        "admittedWorkloads": 0,
    }


def test_fields_of_v1beta2_without_a_counterpart_in_v1beta1_are_dropped() -> None:
    """API-73."""
    request = {"required": "rack", "podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}]}
    value = workload(pod_set(topologyRequest=request), preemptionGates=[{"name": "gate"}])
    value["status"] = {"preemptionGates": [{"name": "gate", "position": "Open", "lastTransitionTime": TIME}]}
    converted = convert(value, V1BETA1)
    assert "preemptionGates" not in converted["spec"]
    assert converted["spec"]["podSets"][0]["topologyRequest"] == {"required": "rack"}
    assert converted["status"] == {}


def test_the_misspelt_time_keeps_its_value() -> None:
    """API-73."""
    value = workload(version=V1BETA1, status={"accumulatedPastExexcutionTimeSeconds": 7})
    hub = convert(value, V1BETA2)
    assert hub["status"] == {"accumulatedPastExecutionTimeSeconds": 7}
    assert convert(hub, V1BETA1)["status"] == {"accumulatedPastExexcutionTimeSeconds": 7}


@pytest.mark.parametrize(
    ("source", "ref"),
    [
        ("kueue.x-k8s.io/workloadpriorityclass", {"group": GROUP, "kind": "WorkloadPriorityClass", "name": "p"}),
        ("scheduling.k8s.io/priorityclass", {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "p"}),
        ("", None),
    ],
)
def test_a_priority_class_source_becomes_a_reference(source: str, ref: Any) -> None:
    """API-73, vector 46: without a source the name is lost."""
    value = workload(version=V1BETA1, priorityClassName="p", priorityClassSource=source, priority=1)
    assert convert(value, V1BETA2)["spec"].get("priorityClassRef") == ref


def test_an_unknown_pair_of_group_and_kind_leaves_no_class() -> None:
    """API-73."""
    value = workload(priorityClassRef={"group": "scheduling.k8s.io", "kind": "Other", "name": "p"}, priority=1)
    spec = convert(value, V1BETA1)["spec"]
    assert "priorityClassName" not in spec
    assert "priorityClassSource" not in spec


def test_admission_checks_replace_the_strategy() -> None:
    """API-77."""
    strategy = {"admissionChecks": [{"name": "s", "onFlavors": ["f1"]}]}
    queue = cluster_queue(version=V1BETA1, admissionChecks=["a"], admissionChecksStrategy=strategy)
    assert convert(queue, V1BETA2)["spec"]["admissionChecksStrategy"] == {"admissionChecks": [{"name": "a"}]}


def test_a_cluster_profile_survives_the_conversion_through_v1beta1() -> None:
    """API-73."""
    value = {
        "apiVersion": V1BETA2,
        "kind": "MultiKueueCluster",
        "metadata": {"name": "w"},
        "spec": {"clusterSource": {"clusterProfileRef": {"name": "p"}}},
    }
    old = convert(value, V1BETA1)
    assert old["spec"] == {"kubeConfig": {"location": "", "locationType": ""}, "clusterProfileRef": {"name": "p"}}
    assert convert(old, V1BETA2)["spec"] == value["spec"]


@pytest.mark.parametrize("spec", [["list"], {"flavorFungibility": ["list"]}, {"admissionChecks": 5}])
def test_an_object_of_the_wrong_shape_is_refused_and_breaks_nothing(spec: Any) -> None:
    value = {"apiVersion": V1BETA1, "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec}
    with pytest.raises(ConversionError, match="does not match the schema"):
        convert(value, V1BETA2)
