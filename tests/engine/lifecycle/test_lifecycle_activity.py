from typing import Any

import pytest
from msgspec.structs import replace

from engine.lifecycle.queues import PLAIN, answering, queue, topological
from engine.lifecycle.sample_workloads import at, rule
from kohort.api.kueue.v1beta2 import AdmissionCheck, ClusterQueue, LocalQueue
from kohort.api.kueue.v1beta2.queues import LocalQueueSpec
from kohort.api.meta import ObjectMeta
from kohort.engine.lifecycle.activity import QueueReferences, with_cluster_queue_activity, with_local_queue_activity

NOW = at(100)
MULTIKUEUE = "kueue.x-k8s.io/multikueue"
PROVISIONING = "kueue.x-k8s.io/provisioning-request"


def verdict(cq: ClusterQueue, **surroundings: Any) -> tuple[str, str, str]:
    (active,) = with_cluster_queue_activity(cq, QueueReferences(**surroundings), NOW).status.conditions
    return active.status, active.reason, active.message


BLOCKED = "Can't admit new workloads: "


class TestClusterQueue:
    def test_with_all_it_needs_is_ready(self) -> None:
        """SCH-1051"""
        cq = queue("a", "b", checks=(rule("c"),))
        expected = ("True", "Ready", "Can admit new workloads")
        assert verdict(cq, flavors={"a": PLAIN, "b": PLAIN}, checks={"c": answering()}) == expected
        assert verdict(queue()) == expected

    def test_a_deleted_object_has_only_that_reason(self) -> None:
        """SCH-1051, API-107"""
        expected = ("False", "Terminating", "Can't admit new workloads; clusterQueue is terminating")
        assert verdict(queue("missing", deleted=True, stop_policy="Hold")) == expected

    @pytest.mark.parametrize("policy", ["Hold", "HoldAndDrain"])
    def test_can_be_stopped(self, policy: str) -> None:
        """SCH-1051"""
        assert verdict(queue(stop_policy=policy)) == ("False", "Stopped", f"{BLOCKED}is stopped.")

    def test_names_what_is_missing_or_inactive_in_order(self) -> None:
        """SCH-1051, API-78"""
        cq = queue("z", "a", "here", checks=(rule("gone"), rule("off"), rule("mute"), rule("on")), stop_policy="Hold")
        known = {"off": answering(status="False"), "mute": AdmissionCheck(), "on": answering()}
        assert verdict(cq, flavors={"here": PLAIN}, checks=known) == (
            "False",
            "Stopped",
            f"{BLOCKED}is stopped, references missing ResourceFlavor(s): z,a, "
            "references missing AdmissionCheck(s): gone, references inactive AdmissionCheck(s): mute,off.",
        )

    def test_names_what_an_inactive_check_would_need(self) -> None:
        known = {"c": answering(MULTIKUEUE, status="False"), "other": answering("example.com/x", status="False")}
        assert verdict(queue(checks=(rule("c"), rule("other"))), checks=known)[2] == (
            f"{BLOCKED}references inactive AdmissionCheck(s): c,other"
            " (MultiKueue is not supported by this version of Kohort yet)."
        )

    def test_has_the_first_cause_as_the_reason(self) -> None:
        """API-78"""
        cq = queue("a", checks=(rule("gone"), rule("off")))
        off = {"off": answering(status="False")}
        assert verdict(cq, checks=off)[1] == "FlavorNotFound"
        assert verdict(cq, flavors={"a": PLAIN}, checks=off)[1] == "AdmissionCheckNotFound"
        known = {**off, "gone": answering()}
        assert verdict(cq, flavors={"a": PLAIN}, checks=known)[1] == "AdmissionCheckInactive"

    @pytest.mark.parametrize(
        ("checks", "reason"),
        [
            ((rule("m"),), "Ready"),
            ((rule("m", "a", "b"),), "Ready"),
            ((rule("m", "a"),), "MultiKueueAdmissionCheckAppliedPerFlavor"),
            ((rule("m"), rule("n")), "MultipleMultiKueueAdmissionChecks"),
            ((rule("m"), rule("n", "a")), "MultipleMultiKueueAdmissionChecks"),
            ((rule("m"), rule("p")), "MultiKueueWithProvisioningRequest"),
            ((rule("p", "a"),), "Ready"),
        ],
    )
    def test_takes_one_multikueue_check_for_all_flavors_without_a_provisioning_check(
        self, checks: Any, reason: str
    ) -> None:
        """MK-3, SCH-1051"""
        known = {"m": answering(MULTIKUEUE), "n": answering(MULTIKUEUE), "p": answering(PROVISIONING)}
        cq = queue("a", "b", checks=checks)
        assert verdict(cq, flavors={"a": PLAIN, "b": PLAIN}, checks=known)[1] == reason

    @pytest.mark.parametrize(
        ("checks", "parts"),
        [
            (
                (rule("n"), rule("m")),
                "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: m,n",
            ),
            ((rule("m", "a"),), "Cannot specify MultiKueue AdmissionCheck per flavor, found: m"),
            (
                (rule("p"), rule("m")),
                "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: m, p",
            ),
        ],
    )
    def test_names_the_checks_that_do_not_go_together(self, checks: Any, parts: str) -> None:
        """API-78"""
        known = {"m": answering(MULTIKUEUE), "n": answering(MULTIKUEUE), "p": answering(PROVISIONING)}
        cq = queue("a", "b", checks=checks)
        assert verdict(cq, flavors={"a": PLAIN, "b": PLAIN}, checks=known)[2] == f"{BLOCKED}{parts}."

    def test_needs_the_topologies_of_its_flavors(self) -> None:
        """TAS-6, SCH-1051"""
        flavors = {"a": topological("t")}
        message = f'{BLOCKED}there is no Topology "t" for TAS flavor "a".'
        assert verdict(queue("a"), flavors=flavors) == ("False", "TopologyNotFound", message)
        assert verdict(queue("a"), flavors=flavors, topologies={"t"})[1] == "Ready"

    def test_needs_none_where_multikueue_places_the_pods(self) -> None:
        """TAS-6"""
        cq = queue("a", checks=(rule("m"),))
        assert verdict(cq, flavors={"a": topological("t")}, checks={"m": answering(MULTIKUEUE)})[1] == "Ready"

    def test_may_have_another_problem(self) -> None:
        """SCH-1051"""
        assert verdict(queue(), other_problem="is part of a cohort cycle") == (
            "False",
            "Unknown",
            f"{BLOCKED}is part of a cohort cycle.",
        )

    def test_is_written_only_when_it_changes(self) -> None:
        """API-7, API-106"""
        ready = with_cluster_queue_activity(queue(), QueueReferences(), NOW)
        assert with_cluster_queue_activity(ready, QueueReferences(), at(500)) is ready
        assert ready.status.conditions[0].observed_generation == 3
        stopped = replace(ready, spec=replace(ready.spec, stop_policy="Hold"))
        later = with_cluster_queue_activity(stopped, QueueReferences(), at(500))
        assert later.status.conditions[0].last_transition_time == at(500)


class TestLocalQueue:
    READY = with_cluster_queue_activity(queue(), QueueReferences(), NOW)
    INACTIVE = with_cluster_queue_activity(queue(stop_policy="Hold"), QueueReferences(), NOW)

    @pytest.mark.parametrize(
        ("policy", "behind", "expected"),
        [
            ("Hold", None, ("False", "Stopped", "LocalQueue is stopped")),
            ("None", None, ("False", "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")),
            ("None", INACTIVE, ("False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")),
            ("None", queue(), ("False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue")),
            ("None", READY, ("True", "Ready", "Can submit new workloads to localQueue")),
        ],
    )
    def test_follows_its_policy_and_its_clusterqueue(
        self, policy: Any, behind: ClusterQueue | None, expected: tuple[str, str, str]
    ) -> None:
        """SCH-1053"""
        lq = LocalQueue(metadata=ObjectMeta(generation=2), spec=LocalQueueSpec(stop_policy=policy))
        after = with_local_queue_activity(lq, behind, NOW)
        (active,) = after.status.conditions
        assert (active.status, active.reason, active.message) == expected
        assert active.observed_generation == 2
        assert with_local_queue_activity(after, behind, at(500)) is after
