"""Passes over pods and groups that no recording shows (JOB-148 to JOB-171)."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from jobs.pass_harness import PassResult
from jobs.pod_builders import GROUP, K, failed, gated, make_member, make_pod, pod_harness, running
from jobs.pod_flows import PODS, PodPassHarness
from kohort.api.codec import JsonObject
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import CustomLabel, Metrics
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.api.merge import merge
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import (
    ADMITTED,
    EVICTED,
    QUOTA_RESERVED,
    condition_true,
    with_condition_set,
    with_status,
    without_condition,
)
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.jobs.contract import JobKey
from kohort.jobs.frameworks.pods.members import role_of

SINGLE = JobKey("ns", "a")
THE_WORKLOAD = ObjectKey("ns", "g")
FOREIGN: JsonObject = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {"name": "g", "namespace": "ns"},
    "spec": {"podSets": [{"name": "main", "count": 1, "template": {"spec": {}}}]},
}


def admit(on: PodPassHarness, key: ObjectKey = THE_WORKLOAD) -> None:
    workload = on.workloads[key]
    given = [PodSetAssignment(name=each.name, flavors={"cpu": "f"}) for each in workload.spec.pod_sets]
    admission = Admission(cluster_queue="cq", pod_set_assignments=tuple(given))
    admitted = with_status(workload, replace(workload.status, admission=admission))
    for each in (QUOTA_RESERVED, ADMITTED):
        admitted = with_condition_set(admitted, each, condition_true(each, ""), on.now)
    on.put_workload(admitted)


def preempt(on: PodPassHarness) -> None:
    on.put_workload(evict(on.workloads[THE_WORKLOAD], EvictionCause("Preempted", "why"), on.now).workload)


def reasons(seen: PassResult) -> list[str]:
    return [reason for _, reason, _, _ in seen.events]


def names(on: PodPassHarness) -> list[str]:
    return sorted(key.name for kind, key in on.objects if kind == "Pod")


def owners(on: PodPassHarness) -> dict[str, str]:
    return {owner.name: owner.uid for owner in on.workloads[THE_WORKLOAD].metadata.owner_references}


async def test_too_many_pods_before_there_is_a_workload_are_deleted_and_the_rest_is_queued() -> None:
    on = pod_harness(*(gated(make_member(name, created=f"1{index}:00")) for index, name in enumerate("abc")))
    seen = await on.reconcile(PODS, GROUP)
    assert reasons(seen) == ["ExcessPodDeleted", "CreatedWorkload"]
    assert names(on) == ["a", "b"]
    assert sorted(owners(on)) == ["a", "b"]


async def test_a_group_of_too_many_roles_is_not_queued() -> None:
    on = pod_harness(*(gated(make_member(f"p{index}", total=19, cpu=str(index + 1))) for index in range(19)))
    seen = await on.reconcile(PODS, GROUP)
    assert seen.error == "pod group can't include more than 18 roles"
    assert not on.workloads


async def test_members_with_different_values_of_a_label_to_copy_are_an_error() -> None:
    on = pod_harness(*(gated(make_member(name, metadata={"labels": {"team": name}})) for name in "ab"))
    integrations = Integrations(frameworks=("pod",), label_keys_to_copy=("team",))
    on.configuration = replace(on.configuration, integrations=integrations)
    seen = await on.reconcile(PODS, GROUP)
    assert seen.error == "pods of group g have different values of label team"


async def test_labels_on_which_members_agree_are_copied_also_from_the_one_that_has_them() -> None:
    on = pod_harness(gated(make_member("a")), gated(make_member("b", metadata={"labels": {"team": "blue"}})))
    integrations = Integrations(frameworks=("pod",), label_keys_to_copy=("team",))
    on.configuration = replace(on.configuration, integrations=integrations)
    await on.reconcile(PODS, GROUP)
    assert on.workloads[THE_WORKLOAD].metadata.labels == {"team": "blue"}


async def test_metric_labels_of_workloads_are_copied_from_members_that_agree() -> None:
    cost = {"annotations": {"example.com/cost": "7"}}
    on = pod_harness(gated(make_member("a")), gated(make_member("b", metadata=cost)), CustomMetricLabels=True)
    wanted = CustomLabel(name="cost", source_kind="Workload", source_annotation_key="example.com/cost")
    on.configuration = replace(on.configuration, metrics=Metrics(custom_labels=(wanted,)))
    await on.reconcile(PODS, GROUP)
    assert on.workloads[THE_WORKLOAD].metadata.annotations["example.com/cost"] == "7"


async def test_a_pod_that_came_again_under_its_name_owns_the_workload_again() -> None:
    on = pod_harness(gated(make_member("a")), gated(make_member("b")))
    await on.reconcile(PODS, GROUP)
    on.put(gated(make_member("a", metadata={"uid": "second life"})))
    assert reasons(await on.reconcile(PODS, GROUP)) == []
    assert owners(on) == {"a": "second life", "b": "uid-b"}
    assert await on.reconcile(PODS, GROUP) == PassResult()


async def test_pods_without_a_queue_are_left_alone_where_pods_are_only_parts_of_their_parents() -> None:
    on = pod_harness(gated(make_pod("a")), gated(make_member("x")), gated(make_member("y")))
    on.configuration = replace(on.configuration, integrations=Integrations(frameworks=("deployment",)))
    assert await on.reconcile(PODS, SINGLE) == PassResult()
    assert await on.reconcile(PODS, GROUP) == PassResult()
    on.put(gated(make_pod("a", metadata={"annotations": {f"{K}pod-suspending-parent": "deployment"}})))
    assert reasons(await on.reconcile(PODS, SINGLE)) == ["CreatedWorkload"]


async def test_a_pod_that_runs_without_admission_is_deleted() -> None:
    on = pod_harness(gated(make_pod("a")))
    await on.reconcile(PODS, SINGLE)
    on.put(running(make_pod("a")))
    seen = await on.reconcile(PODS, SINGLE)
    assert seen.events == [("Normal", "Stopped", "Not admitted by cluster queue", "ns/a")]
    target = on.objects["Pod", ObjectKey("ns", "a")]["status"]["conditions"][0]
    assert (target["type"], target["reason"]) == ("TerminationTarget", "NotAdmitted")


async def test_a_pod_that_was_marked_already_is_marked_anew_once() -> None:
    old = {"type": "TerminationTarget", "status": "True", "reason": "Old", "message": "", "lastTransitionTime": "x"}
    on = pod_harness(gated(make_pod("a")))
    await on.reconcile(PODS, SINGLE)
    on.put(merge(running(make_pod("a")), {"status": {"conditions": [old]}}))
    await on.reconcile(PODS, SINGLE)
    conditions = on.objects["Pod", ObjectKey("ns", "a")]["status"]["conditions"]
    assert [each["reason"] for each in conditions] == ["NotAdmitted"]


async def evicted(on: PodPassHarness) -> None:
    await on.reconcile(PODS, GROUP)
    admit(on)
    await on.reconcile(PODS, GROUP)
    for name in "ab":
        on.patch("Pod", ObjectKey("ns", name), {"status": {"phase": "Running"}, "spec": {"nodeName": "n"}})
    preempt(on)
    await on.reconcile(PODS, GROUP)


async def test_quota_stays_until_the_pods_of_an_evicted_group_have_stopped_or_should_have() -> None:
    on = pod_harness(gated(make_member("a")), gated(make_member("b")))
    await evicted(on)
    assert on.workloads[THE_WORKLOAD].status.admission is not None
    for name in "ab":
        on.patch("Pod", ObjectKey("ns", name), {"metadata": {"deletionGracePeriodSeconds": 30}})
    on.advance(31)
    await on.reconcile(PODS, GROUP)
    assert on.workloads[THE_WORKLOAD].status.admission is None


async def test_quota_is_released_at_once_with_fast_release() -> None:
    on = pod_harness(gated(make_member("a")), gated(make_member("b")), FastQuotaReleaseInPodIntegration=True)
    await evicted(on)
    await on.reconcile(PODS, GROUP)
    assert on.workloads[THE_WORKLOAD].status.admission is None


async def test_the_reason_why_a_group_waits_for_pods_is_kept_when_it_is_admitted_again() -> None:
    on = pod_harness(gated(make_member("a")), gated(make_member("b")))
    await evicted(on)
    for name in "ab":
        on.patch("Pod", ObjectKey("ns", name), {"status": {"phase": "Failed"}})
    for _ in range(3):
        await on.reconcile(PODS, GROUP)
    on.put_workload(without_condition(on.workloads[THE_WORKLOAD], EVICTED))
    admit(on)
    await on.reconcile(PODS, GROUP)
    (waiting,) = [each for each in on.workloads[THE_WORKLOAD].status.conditions if each.type.startswith("Waiting")]
    assert (waiting.status, waiting.reason) == ("True", "Preempted")


async def test_a_name_of_another_workload_releases_ended_pods_only() -> None:
    on = pod_harness(FOREIGN, gated(make_member("a")), failed(make_member("b")))
    seen = await on.reconcile(PODS, GROUP)
    assert reasons(seen) == ["WorkloadNameConflict"]
    assert [kind for _, kind, _, _ in seen.writes] == ["Pod"]
    assert on.objects["Pod", ObjectKey("ns", "b")]["metadata"].get("finalizers") is None


async def test_a_foreign_workload_outlives_the_last_pod_of_the_group() -> None:
    controlled = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    on = pod_harness(merge(FOREIGN, {"metadata": {"ownerReferences": [controlled], "finalizers": ["x"]}}))
    assert await on.reconcile(PODS, GROUP) == PassResult()


async def test_a_prebuilt_workload_with_too_few_pods_for_a_member_is_out_of_sync() -> None:
    prebuilt: Any = {"metadata": {"annotations": {f"{K}prebuilt-workload-name": "g"}}}
    marked = {"annotations": {f"{K}is-group-workload": "true"}}
    sets = [{"name": "dc85db45", "count": 1, "template": {"spec": {}}}]
    on = pod_harness(
        merge(FOREIGN, {"metadata": marked, "spec": {"podSets": sets}}),
        *(gated(make_member(name, **prebuilt)) for name in "ab"),
    )
    seen = await on.reconcile(PODS, GROUP)
    assert seen.error == "prebuilt workload not found"
    (finished,) = on.workloads[THE_WORKLOAD].status.conditions
    assert (finished.type, finished.reason) == ("Finished", "OutOfSync")


async def test_the_queue_of_a_serving_group_is_its_parents_affair() -> None:
    serving = {"annotations": {f"{K}pod-group-serving": "true"}}
    on = pod_harness(*(gated(make_member(name, metadata=serving)) for name in "ab"))
    await on.reconcile(PODS, GROUP)
    for name in "ab":
        on.patch("Pod", ObjectKey("ns", name), {"metadata": {"labels": {f"{K}queue-name": "z"}}})
    assert await on.reconcile(PODS, GROUP) == PassResult()
    assert on.workloads[THE_WORKLOAD].spec.queue_name == "q"


async def test_the_queue_of_another_group_follows_its_pods() -> None:
    on = pod_harness(*(gated(make_member(name)) for name in "ab"))
    await on.reconcile(PODS, GROUP)
    for name in "ab":
        on.patch("Pod", ObjectKey("ns", name), {"metadata": {"labels": {f"{K}queue-name": "z"}}})
    await on.reconcile(PODS, GROUP)
    assert on.workloads[THE_WORKLOAD].spec.queue_name == "z"


async def test_the_last_pod_takes_the_finalizer_of_the_groups_workload_along() -> None:
    on = pod_harness(*(gated(make_member(name)) for name in "ab"))
    await on.reconcile(PODS, GROUP)
    on.objects.clear()
    await on.reconcile(PODS, GROUP)
    assert on.workloads[THE_WORKLOAD].metadata.finalizers == ()


def test_pods_without_a_queue_have_no_key() -> None:
    assert PODS.key(make_pod("a")) is None
    assert PODS.key(gated(make_pod("a"))) == SINGLE
    assert PODS.key(gated(make_member("a"))) == GROUP
    labelled = merge(make_pod("a"), {"metadata": {"labels": {f"{K}pod-group-name": "g"}}})
    assert PODS.key(gated(labelled)) == GROUP


MAKERS: Any = st.sampled_from([gated, running, failed])


@settings(max_examples=40)
@given(st.lists(st.tuples(MAKERS, st.sampled_from("12")), min_size=1, max_size=5), st.integers(1, 4), st.booleans())
async def test_a_group_converges_from_every_state(pods: Any, total: int, is_admitted: bool) -> None:
    on = pod_harness(*(make(make_member(f"p{index}", total, cpu)) for index, (make, cpu) in enumerate(pods)))
    for _ in range(12):
        seen = await on.reconcile(PODS, GROUP)
        if is_admitted and THE_WORKLOAD in on.workloads and on.workloads[THE_WORKLOAD].status.admission is None:
            admit(on)
            continue
        if not seen.writes:
            break
    else:
        raise AssertionError("the group does not come to rest")
    workload = on.workloads.get(THE_WORKLOAD)
    if workload is not None:
        counts = {each.name: each.count for each in workload.spec.pod_sets}
        free = [
            obj for (kind, _), obj in on.objects.items() if kind == "Pod" and not obj["spec"].get("schedulingGates")
        ]
        for role, count in counts.items():
            alive = [each for each in free if each.get("status", {}).get("phase") != "Failed"]
            assert sum(role_of(each) == role for each in alive) <= count


async def test_a_member_with_larger_requests_than_its_role_stays_gated() -> None:
    """DEV-9: the annotation that names a role is anybody's to write."""
    named: Any = {"metadata": {"annotations": {f"{K}role-hash": "worker"}}}
    small, large = make_member("a", **named), make_member("b", cpu="100", created="12:00", **named)
    on = pod_harness(gated(small), gated(large))
    await on.reconcile(PODS, GROUP)
    (workload,) = on.workloads.values()
    assert [(each.name, each.count) for each in workload.spec.pod_sets] == [("worker", 2)]
    admit(on)
    seen = await on.reconcile(PODS, GROUP)
    assert sorted(reasons(seen)) == ["PodExceedsPodSet", "Started"]
    assert "schedulingGates" not in on.objects["Pod", ObjectKey("ns", "a")]["spec"]
    assert on.objects["Pod", ObjectKey("ns", "b")]["spec"]["schedulingGates"]


async def test_members_with_a_role_of_their_own_run_if_they_have_its_size() -> None:
    named: Any = {"metadata": {"annotations": {f"{K}role-hash": "worker"}}}
    on = pod_harness(gated(make_member("a", **named)), gated(make_member("b", cpu="500m", **named)))
    await on.reconcile(PODS, GROUP)
    admit(on)
    assert reasons(await on.reconcile(PODS, GROUP)) == ["Started", "Started"]
