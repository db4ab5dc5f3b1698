"""Webhook rules beyond the golden transcripts: gates off, tolerated faults, elastic workloads."""

from typing import Any

import pytest

from api.kueue.objects import (
    cluster_queue,
    condition,
    flavor_quotas,
    group,
    on_flavors,
    pod_set,
    quota,
    reserved,
    workload,
)
from kohort.api.fields import ROOT
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate, from_settings
from kohort.api.kueue.admission import ObjectWrite, WriteVerdict, admit
from kohort.api.merge import merge

ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


def without(*gates: Gate) -> FeatureGates:
    settled = from_settings({gate.name: False for gate in gates}, ROOT)
    assert not settled.errors
    return settled.gates


def create(value: Any, gates: FeatureGates = DEFAULT_GATES) -> WriteVerdict:
    return admit(ObjectWrite(value), gates)


def update(value: Any, patch: Any, gates: FeatureGates = DEFAULT_GATES) -> WriteVerdict:
    return admit(ObjectWrite(merge(value, patch), old=value), gates)


def update_status(value: Any, patch: Any, gates: FeatureGates = DEFAULT_GATES) -> WriteVerdict:
    return admit(ObjectWrite(merge(value, {"status": patch}), old=value, to_status=True), gates)


def broken(verdict: WriteVerdict) -> list[tuple[str, str]]:
    return [(str(error.path), error.rule) for error in verdict.errors]


class TestOnFlavors:
    """API-25: a check names flavors of its queue; a fault that stood before is not this update's."""

    QUEUE = cluster_queue(admissionChecksStrategy=on_flavors("check", "gone"))
    PATH = "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]"

    def test_an_old_fault_is_tolerated_while_flavors_and_check_stay(self) -> None:
        assert update(self.QUEUE, {"spec": {"stopPolicy": "Hold"}}).accepted

    def test_it_is_refused_once_the_queues_flavors_change(self) -> None:
        groups = [group(flavor_quotas("f2", quota("cpu")))]
        assert broken(update(self.QUEUE, {"spec": {"resourceGroups": groups}})) == [(self.PATH, "API-25")]

    def test_it_is_refused_once_the_checks_flavors_change(self) -> None:
        strategy = on_flavors("check", "gone", "f1")
        assert broken(update(self.QUEUE, {"spec": {"admissionChecksStrategy": strategy}})) == [(self.PATH, "API-25")]

    def test_it_is_refused_always_with_the_gate_on(self) -> None:
        strict = from_settings({"RejectUpdatesToCQWithInvalidOnFlavors": True}, ROOT).gates
        assert broken(update(self.QUEUE, {"spec": {"stopPolicy": "Hold"}}, strict)) == [(self.PATH, "API-25")]


class TestPartialAdmission:
    def test_without_the_gate_min_count_is_dropped_on_create_api_55(self) -> None:
        verdict = create(workload(pod_set(count=3, minCount=2)), without(Gate.PartialAdmission))
        assert "minCount" not in verdict.stored["spec"]["podSets"][0]

    def test_without_the_gate_two_min_counts_are_no_fault_on_create_api_55(self) -> None:
        pods = (pod_set("a", 3, minCount=2), pod_set("b", 3, minCount=2))
        assert create(workload(*pods), without(Gate.PartialAdmission)).accepted
        assert broken(create(workload(*pods))) == [("spec.podSets", "API-56")]


class TestRequests:
    """API-57."""

    NEGATIVE = pod_set()
    NEGATIVE["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "-1"}

    def test_negative_amounts_are_refused_unless_the_gate_is_off(self) -> None:
        assert create(workload(self.NEGATIVE)).code == 403
        assert create(workload(self.NEGATIVE), without(Gate.WorkloadValidateResourcesAreNonNegative)).accepted

    def test_an_unreadable_amount_in_a_template_is_refused_by_the_schema(self) -> None:
        odd = pod_set()
        odd["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "many"}
        assert not create(workload(odd)).accepted


class TestReservedPodSets:
    """API-66: pod sets are fixed while quota is reserved, but for shrinking."""

    WORKLOAD = workload(pod_set(count=3), status=reserved(main=3))

    def test_writing_amounts_in_another_form_changes_nothing(self) -> None:
        same = pod_set(count=3)
        same["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1000m"}
        assert update(self.WORKLOAD, {"spec": {"podSets": [same]}}).accepted

    def test_a_count_may_fall_only_with_the_gate_for_elastic_jobs(self) -> None:
        fewer = {"spec": {"podSets": [pod_set(count=2)]}}
        assert update(self.WORKLOAD, fewer).accepted
        gates = without(Gate.ElasticJobsViaWorkloadSlices)
        assert broken(update(self.WORKLOAD, fewer, gates)) == [("spec.podSets.0", "API-66")]

    def test_without_a_reservation_pod_sets_change_freely(self) -> None:
        assert update(workload(pod_set(count=3)), {"spec": {"podSets": [pod_set("other", 9)]}}).accepted


class TestReclaimablePods:
    """API-63 and API-67: what was given back stays given back."""

    WORKLOAD = workload(
        pod_set(count=3), status={**reserved(main=3), "reclaimablePods": [{"name": "main", "count": 2}]}
    )

    def test_an_elastic_workload_may_shrink_below_its_reclaimable_pods(self) -> None:
        elastic = merge(self.WORKLOAD, {"metadata": {"annotations": ELASTIC}})
        assert update(elastic, {"spec": {"podSets": [pod_set(count=1)]}}).accepted
        assert broken(update(self.WORKLOAD, {"spec": {"podSets": [pod_set(count=1)]}})) == [
            ("status.reclaimablePods[main].count", "API-63")
        ]

    def test_an_elastic_workload_may_take_back_in_a_pod_set_that_shrank(self) -> None:
        shrunk = merge(self.WORKLOAD, {"metadata": {"annotations": ELASTIC}, "spec": {"podSets": [pod_set(count=2)]}})
        assert update_status(shrunk, {"reclaimablePods": [{"name": "main", "count": 1}]}).accepted

    def test_any_change_of_an_empty_list_is_accepted(self) -> None:
        fresh = workload(pod_set(count=3), status=reserved(main=3))
        assert update_status(fresh, {"reclaimablePods": [{"name": "main", "count": 3}]}).accepted


class TestBrokenReservation:
    """API-60."""

    def test_a_reservation_that_lacked_its_admission_before_may_still_be_edited(self) -> None:
        broken_before = workload(status={"conditions": [condition("QuotaReserved")]})
        assert update(broken_before, {"metadata": {"labels": {"a": "b"}}}).accepted


class TestClusterName:
    """API-70."""

    def test_a_slice_that_replaces_another_may_name_its_cluster_at_once(self) -> None:
        replacement = workload(annotations={"kueue.x-k8s.io/workload-slice-replacement-for": "ns/old"})
        assert update_status(replacement, {"clusterName": "c"}).accepted
        assert broken(update_status(workload(), {"clusterName": "c"})) == [("status.clusterName", "API-70")]


class TestQueueName:
    """API-51: fixed while reserved before and after; a write that clears the reservation may change it."""

    def test_it_may_change_without_a_reservation(self) -> None:
        assert update(workload(queueName="a"), {"spec": {"queueName": "b"}}).accepted

    def test_it_may_not_change_with_one(self) -> None:
        held = workload(queueName="a", status=reserved(main=1))
        assert broken(update(held, {"spec": {"queueName": "b"}})) == [("<nil>", "API-51")]


class TestMalformedInput:
    """A write of any shape gets a refusal with its field, never a crash."""

    @pytest.mark.parametrize(
        "value",
        [
            {**cluster_queue(), "metadata": ["name"]},
            {**cluster_queue(), "metadata": {"name": "q", "finalizers": "all"}},
            cluster_queue(resourceGroups=[group(flavor_quotas("f1", quota("cpu", 10**300)))]),
            {**workload(), "spec": {"podSets": ["main"]}},
            {**workload(), "spec": ["podSets"]},
            {"apiVersion": "kueue.x-k8s.io/v1beta2"},
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Nothing"},
            ["list"],
        ],
    )
    def test_it_is_refused(self, value: Any) -> None:
        for gates in (DEFAULT_GATES, without(Gate.PartialAdmission)):
            verdict = create(value, gates)
            assert verdict.code in (400, 422)
            assert verdict.errors
