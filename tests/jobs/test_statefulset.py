"""StatefulSets: their Workload, their pods as its group, and what may change of them (JOB-175 to JOB-181, DEV-5)."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobs.pass_harness import PassResult
from jobs.pod_builders import K, make_pod, of_kind, owned, pod_harness
from jobs.pod_flows import PODS, PodPassHarness
from jobs.test_group_passes import admit
from kohort.api.codec import JsonObject
from kohort.api.config.common import Integrations
from kohort.api.kueue.group import RESOURCE_IN_USE_FINALIZER
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.merge import merge
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.engine.lifecycle.finishing import finish
from kohort.jobs.contract import JobKey
from kohort.jobs.frameworks.statefulset import StatefulSetFramework

SETS = StatefulSetFramework()
DB = ObjectKey("ns", "db")


def a_set(**changes: Any) -> JsonObject:
    marked = {"template": {"metadata": {"annotations": {f"{K}pod-suspending-parent": "statefulset"}}}}
    return dict(merge(of_kind("StatefulSet", "db", spec=marked), changes))


def set_pod(index: int = 0, **changes: Any) -> JsonObject:
    labels = {f"{K}queue-name": None, "controller-revision-hash": "r1"}
    notes = {f"{K}pod-suspending-parent": "statefulset"}
    made = make_pod(f"db-{index}", metadata={**owned("StatefulSet", "db"), "labels": labels, "annotations": notes})
    gates = {"schedulingGates": [{"name": f"{K}admission"}, {"name": f"{K}topology"}]}
    return dict(merge(merge(made, {"spec": gates}), changes))


async def queued(obj: JsonObject | None = None) -> PodPassHarness:
    """A harness with a set that has its Workload."""
    on = pod_harness(obj or a_set())
    await on.look("statefulset", "db")
    return on


def workload_of(on: PodPassHarness) -> Workload:
    (found,) = on.workloads.values()
    return found


def workload_key(on: PodPassHarness) -> ObjectKey:
    (found,) = on.workloads
    return found


def pod_of(on: PodPassHarness, name: str = "db-0") -> JsonObject:
    return on.objects["Pod", ObjectKey("ns", name)]


def reserved(on: PodPassHarness) -> tuple[str, str]:
    (found,) = [each for each in workload_of(on).status.conditions if each.type == "QuotaReserved"]
    return found.status, found.reason


async def test_the_workload_is_there_before_any_pod() -> None:
    on = await queued()
    head, spec = workload_of(on).metadata, workload_of(on).spec
    assert head.labels == {f"{K}job-uid": "uid-db"}
    assert [(owner.kind, owner.controller) for owner in head.owner_references] == [("StatefulSet", None)]
    assert (spec.queue_name, [(each.name, each.count) for each in spec.pod_sets]) == ("q", [("main", 3)])
    assert await on.look("statefulset", "db") == PassResult()


async def test_the_workload_stays_protected_until_its_pods_come() -> None:
    """The finalizer, which holds the quota of a deleted Workload, survives a pass over the group (JOB-58)."""
    on = await queued()
    group = JobKey("ns", workload_key(on).name, is_group=True)
    assert await on.reconcile(PODS, group) == PassResult()
    assert workload_of(on).metadata.finalizers == (RESOURCE_IN_USE_FINALIZER,)


async def test_a_deleted_workload_without_pods_is_released() -> None:
    on = await queued()
    found = workload_of(on)
    on.workloads[workload_key(on)] = replace(found, metadata=replace(found.metadata, deletion_timestamp=on.now))
    await on.reconcile(PODS, JobKey("ns", workload_key(on).name, is_group=True))
    assert not on.workloads or workload_of(on).metadata.finalizers == ()


async def test_the_workload_gets_the_labels_that_the_configuration_copies() -> None:
    """JOB-37."""
    on = PodPassHarness({})
    on.configuration = replace(on.configuration, integrations=Integrations(label_keys_to_copy=("project",)))
    on.put(a_set(metadata={"labels": {"project": "a", "other": "b"}}))
    await on.look("statefulset", "db")
    assert workload_of(on).metadata.labels == {f"{K}job-uid": "uid-db", "project": "a"}


@pytest.mark.parametrize(
    "unwanted",
    [
        {"spec": {"replicas": 0}},
        {"metadata": {"labels": {f"{K}queue-name": None}}},
        {"metadata": {"labels": {f"{K}multikueue-origin": "hub"}}},
        {"metadata": {"deletionTimestamp": "2026-08-01T12:00:00Z", "finalizers": ["x"]}},
    ],
)
async def test_no_workload_is_created_where_none_is_needed(unwanted: JsonObject) -> None:
    assert not (await queued(a_set(**unwanted))).workloads


async def test_no_workload_is_made_in_a_namespace_that_is_not_managed() -> None:
    on = pod_harness(a_set())
    on.namespaces = {}
    assert await on.look("statefulset", "db") == PassResult()


async def test_a_set_whose_priority_class_is_missing_waits_and_the_cause_is_reported() -> None:
    on = pod_harness(a_set(metadata={"labels": {f"{K}priority-class": "gold"}}))
    seen = await on.look("statefulset", "db")
    assert [event[1] for event in seen.events] == ["WorkloadPriorityClassNotFound"]
    assert seen.error == 'WorkloadPriorityClass "gold" not found'


async def test_a_time_limit_of_the_set_does_not_separate_its_pods_from_the_workload() -> None:
    """JOB-29: pods of a set have no such label."""
    on = await queued(a_set(metadata={"labels": {f"{K}max-exec-time-seconds": "60"}}, spec={"replicas": 1}))
    on.put(set_pod())
    await on.look("statefulset_pod", "db-0")
    await on.reconcile(PODS, JobKey("ns", workload_key(on).name, is_group=True))
    assert workload_of(on).spec.maximum_execution_time_seconds == 60
    assert [each.name for each in workload_of(on).metadata.owner_references] == ["db", "db-0"]


async def test_a_pod_becomes_a_member_once() -> None:
    on = await queued(a_set(metadata={"labels": {f"{K}priority-class": "p"}}))
    on.put(set_pod())
    await on.look("statefulset_pod", "db-0")
    stamped = pod_of(on)["metadata"]
    assert (
        stamped["labels"] | {f"{K}managed": "true", f"{K}queue-name": "q", f"{K}priority-class": "p"}
        == stamped["labels"]
    )
    assert stamped["annotations"][f"{K}role-hash"] == "main"
    assert await on.look("statefulset_pod", "db-0") == PassResult()


async def test_pods_and_workload_follow_the_queue_of_the_set() -> None:
    on = await queued()
    on.put(set_pod())
    await on.look("statefulset_pod", "db-0")
    on.patch("StatefulSet", DB, {"metadata": {"labels": {f"{K}queue-name": "z"}}})
    await on.look("statefulset", "db")
    assert workload_of(on).spec.queue_name == "z"
    assert pod_of(on)["metadata"]["labels"][f"{K}queue-name"] == "z"
    assert await on.look("statefulset", "db") == PassResult()


async def test_the_workload_follows_the_admission_gates_of_the_set() -> None:
    on = await queued()
    on.patch("StatefulSet", DB, {"metadata": {"annotations": {f"{K}admission-gated-by": "a.b/c"}}})
    seen = await on.look("statefulset", "db")
    assert [event[2] for event in seen.events] == ['Updated workload AdmissionGatedBy to "a.b/c"']
    assert workload_of(on).metadata.annotations[f"{K}admission-gated-by"] == "a.b/c"


async def test_a_workload_that_the_set_does_not_own_yet_is_taken() -> None:
    on = await queued()
    on.patch("Workload", workload_key(on), {"metadata": {"ownerReferences": None}})
    await on.look("statefulset", "db")
    assert [owner.name for owner in workload_of(on).metadata.owner_references] == ["db"]


async def test_a_finished_pod_is_released() -> None:
    on = await queued()
    on.put(set_pod(metadata={"finalizers": [f"{K}managed"]}, status={"phase": "Failed"}))
    await on.look("statefulset_pod", "db-0")
    assert pod_of(on)["metadata"].get("finalizers") is None


async def test_a_pod_whose_set_is_gone_is_left_alone() -> None:
    on = pod_harness(set_pod())
    assert await on.look("statefulset_pod", "db-0") == PassResult()


async def test_in_a_rollout_pods_of_the_old_revision_pass_both_gates() -> None:
    on = await queued()
    for index, revision in enumerate(("r1", "r2")):
        on.put(set_pod(index, metadata={"labels": {"controller-revision-hash": revision}}))
        await on.look("statefulset_pod", f"db-{index}")
    on.patch("StatefulSet", DB, {"status": {"currentRevision": "r1", "updateRevision": "r2"}})
    await on.look("statefulset", "db")
    assert "schedulingGates" not in pod_of(on, "db-0")["spec"]
    assert len(pod_of(on, "db-1")["spec"]["schedulingGates"]) == 2


async def test_without_a_rollout_pods_wait_at_their_gates() -> None:
    on = await queued()
    on.put(set_pod())
    await on.look("statefulset_pod", "db-0")
    on.patch("StatefulSet", DB, {"status": {"currentRevision": "r1", "updateRevision": "r1"}})
    assert await on.look("statefulset", "db") == PassResult()


# To zero and back


async def at_zero() -> PodPassHarness:
    on = await queued()
    admit(on, workload_key(on))
    on.patch("StatefulSet", DB, {"spec": {"replicas": 0}})
    await on.look("statefulset", "db")
    return on


async def test_without_replicas_the_workload_is_on_hold_and_without_quota() -> None:
    on = await at_zero()
    assert reserved(on) == ("False", "OnHold")
    assert workload_of(on).status.admission is None
    assert await on.look("statefulset", "db") == PassResult()


async def test_a_set_evicted_while_it_scales_to_zero_stays_on_hold() -> None:
    on = await queued()
    on.put(set_pod())
    await on.look("statefulset_pod", "db-0")
    admit(on, workload_key(on))
    on.put_workload(evict(workload_of(on), EvictionCause("Preempted", "why"), on.now).workload)
    on.patch("StatefulSet", DB, {"spec": {"replicas": 0}})
    await on.look("statefulset", "db")
    assert reserved(on) == ("False", "OnHold")
    await on.reconcile(PODS, JobKey("ns", workload_key(on).name, is_group=True))
    assert reserved(on) == ("False", "OnHold")


async def test_a_workload_that_is_over_is_not_put_on_hold() -> None:
    on = await queued()
    admit(on, workload_key(on))
    on.put_workload(finish(workload_of(on), "OutOfSync", "", on.now))
    on.patch("StatefulSet", DB, {"spec": {"replicas": 0}})
    assert await on.look("statefulset", "db") == PassResult()


async def test_with_replicas_again_the_workload_has_the_size_and_the_pods_of_now() -> None:
    on = await at_zero()
    other = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
    assert await on.change("StatefulSet", "db", {"spec": {"template": {"spec": other}}}) == []
    assert await on.change("StatefulSet", "db", {"spec": {"replicas": 4}}) == []
    await on.look("statefulset", "db")
    (pods,) = workload_of(on).spec.pod_sets
    assert pods.count == 4
    assert b'"cpu":"2"' in bytes(pods.template)
    assert reserved(on) == ("False", "PendingEvaluation")
    assert await on.look("statefulset", "db") == PassResult()


async def test_the_size_of_a_set_that_runs_stays_and_so_do_its_pods() -> None:
    on = await queued()
    (resized,) = await on.change("StatefulSet", "db", {"spec": {"replicas": 5}})
    assert str(resized) == "spec.replicas: Invalid value: 5: field is immutable"
    selector = {"spec": {"template": {"spec": {"nodeSelector": {"x": "y"}}}}}
    (reshaped,) = await on.change("StatefulSet", "db", selector)
    assert str(reshaped.path) == "spec.template.spec.nodeSelector"


async def test_a_set_without_a_queue_may_change_freely() -> None:
    on = pod_harness(a_set(metadata={"labels": {f"{K}queue-name": None}}))
    assert await on.change("StatefulSet", "db", {"spec": {"replicas": 5}}) == []


def test_its_planners_ignore_other_frameworks() -> None:
    sets, members = SETS.planners
    foreign = {"template": {"metadata": {"annotations": {f"{K}pod-suspending-parent": "leaderworkerset"}}}}
    assert sets.key(a_set(spec=foreign)) is None
    assert members.key(make_pod("a")) is None
