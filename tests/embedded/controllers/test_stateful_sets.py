"""StatefulSets keep numbered pods with stable names and claims, and change them in order."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.controllers.harness import ControllerHarness, running_controller_harness, with_labels
from embedded.server.objects import deployment
from kit.apiserver import Object
from kit.builders.core import make_pod
from kit.virtual_time import START
from kohort.api.core.apps import Ordinals, RollingUpdate, UpdateStrategy
from kohort.api.core.objects import StatusCondition
from kohort.api.core.pods import PodStatus
from kohort.api.meta import ObjectMeta
from kohort.embedded.controllers.serving import StatefulSetSpecView, StatefulSetView
from kohort.embedded.controllers.statefulsets.controller import StatefulSetController
from kohort.embedded.controllers.statefulsets.identity import NAME_LABEL, REVISION_LABEL
from kohort.embedded.controllers.statefulsets.plan import RevisionNames, plan, status_of
from kohort.embedded.controllers.views import ControllerPod, ControllerPodSpec

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
DISK = {
    "metadata": {"name": "disk"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(StatefulSetController) as running:
        yield running


def db(replicas: int = 3, **spec: Any) -> Object:
    found = deployment("db", replicas)
    return {**found, "kind": "StatefulSet", "spec": {**found["spec"], "serviceName": "db", **spec}}


def image(name: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


def partition(number: int) -> Object:
    return {"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": number}}}}


async def images(harness: ControllerHarness) -> dict[str, str]:
    return {each["metadata"]["name"]: each["spec"]["containers"][0]["image"] for each in await harness.pods()}


async def claims(harness: ControllerHarness) -> list[str]:
    return [each["metadata"]["name"] for each in await harness.items(CLAIMS)]


async def test_pods_come_one_after_the_other(harness: ControllerHarness) -> None:
    found = await harness.create(db())
    for expected in (["db-0"], ["db-0", "db-1"], ["db-0", "db-1", "db-2"]):
        await harness.settle()
        assert await harness.names() == expected
        await harness.mark_running(*[each for each in await harness.pods() if each["status"]["phase"] == "Pending"])
    await harness.settle()
    status = (await harness.get(found))["status"]
    revision = status["updateRevision"]
    assert status == {
        "observedGeneration": 1,
        "replicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "currentReplicas": 3,
        "updatedReplicas": 3,
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }
    second = (await harness.pods())[1]
    assert second["metadata"]["labels"] == {
        "app": "db",
        "apps.kubernetes.io/pod-index": "1",
        "statefulset.kubernetes.io/pod-name": "db-1",
        "controller-revision-hash": revision,
    }
    assert (second["spec"]["hostname"], second["spec"]["subdomain"]) == ("db-1", "db")
    assert ("SuccessfulCreate", "Create Pod db-1 in StatefulSet db successful") in await harness.events()


async def test_parallel_sets_do_not_wait(harness: ControllerHarness) -> None:
    found = await harness.create(db(podManagementPolicy="Parallel"))
    await harness.settle()
    assert await harness.names() == ["db-0", "db-1", "db-2"]
    await harness.merge(found, {"spec": {"replicas": 0}})
    await harness.settle()
    assert await harness.names() == []


async def test_pods_go_highest_first_and_one_by_one(harness: ControllerHarness) -> None:
    found = await harness.create(db())
    await harness.run_all_pods()
    await harness.merge(found, {"spec": {"replicas": 1}})
    await harness.settle()
    terminating = [each for each in await harness.pods() if each["metadata"].get("deletionTimestamp")]
    assert [each["metadata"]["name"] for each in terminating] == ["db-2"]
    await harness.run_all_pods()
    assert await harness.names() == ["db-0"]


async def test_a_pod_that_ended_is_replaced_under_its_name(harness: ControllerHarness) -> None:
    await harness.create(db(2))
    await harness.run_all_pods()
    first, _ = await harness.pods()
    await harness.set_status(first, phase="Failed")
    await harness.run_all_pods()
    assert await harness.names() == ["db-0", "db-1"]
    assert not await harness.exists(first)


async def test_an_update_is_in_reverse_order_and_waits_for_each_pod(harness: ControllerHarness) -> None:
    found = await harness.create(db(2))
    await harness.run_all_pods()
    before = (await harness.get(found))["status"]["currentRevision"]
    await harness.merge(found, image("new"))
    await harness.settle()
    status = (await harness.get(found))["status"]
    assert status["currentRevision"] == before != status["updateRevision"]
    terminating = [each for each in await harness.pods() if each["metadata"].get("deletionTimestamp")]
    assert [each["metadata"]["name"] for each in terminating] == ["db-1"]
    await harness.delete(terminating[0], gracePeriodSeconds=0)
    await harness.settle()
    assert await images(harness) == {"db-0": "busybox:1", "db-1": "new"}
    await harness.run_all_pods()
    assert await images(harness) == {"db-0": "new", "db-1": "new"}
    status = (await harness.get(found))["status"]
    assert status["currentRevision"] == status["updateRevision"]
    assert status["currentReplicas"] == status["updatedReplicas"] == 2


async def test_a_partition_keeps_the_lower_pods_as_they_were(harness: ControllerHarness) -> None:
    found = await harness.create(db())
    await harness.run_all_pods()
    await harness.merge(found, {"spec": {**image("new")["spec"], **partition(2)["spec"]}})
    await harness.run_all_pods()
    assert await images(harness) == {"db-0": "busybox:1", "db-1": "busybox:1", "db-2": "new"}
    await harness.delete((await harness.pods())[0], gracePeriodSeconds=0)
    await harness.run_all_pods()
    assert (await images(harness))["db-0"] == "busybox:1"
    status = (await harness.get(found))["status"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
    await harness.merge(found, partition(0))
    await harness.run_all_pods()
    assert set((await images(harness)).values()) == {"new"}


async def test_on_delete_waits_for_deletions(harness: ControllerHarness) -> None:
    found = await harness.create(db(2, updateStrategy={"type": "OnDelete"}))
    await harness.run_all_pods()
    await harness.merge(found, image("new"))
    await harness.run_all_pods()
    assert set((await images(harness)).values()) == {"busybox:1"}
    await harness.delete((await harness.pods())[0], gracePeriodSeconds=0)
    await harness.run_all_pods()
    assert await images(harness) == {"db-0": "new", "db-1": "busybox:1"}


async def test_numbers_can_start_elsewhere(harness: ControllerHarness) -> None:
    await harness.create(db(2, ordinals={"start": 5}))
    await harness.run_all_pods()
    assert await harness.names() == ["db-5", "db-6"]


async def test_a_pod_waits_until_the_one_before_is_available(harness: ControllerHarness) -> None:
    await harness.create(db(2, minReadySeconds=20))
    await harness.run_all_pods()
    assert await harness.names() == ["db-0"]
    await harness.advance(21)
    assert await harness.names() == ["db-0", "db-1"]


async def test_claims_come_with_pods_and_stay_behind(harness: ControllerHarness) -> None:
    found = await harness.create(db(2, volumeClaimTemplates=[DISK]))
    await harness.run_all_pods()
    assert await claims(harness) == ["disk-db-0", "disk-db-1"]
    assert (await harness.pods())[1]["spec"]["volumes"] == [
        {"name": "disk", "persistentVolumeClaim": {"claimName": "disk-db-1"}}
    ]
    assert (await harness.items(CLAIMS))[0]["metadata"]["labels"] == {"app": "db"}
    await harness.merge(found, {"spec": {"replicas": 1}})
    await harness.run_all_pods()
    assert await harness.names() == ["db-0"]
    assert await claims(harness) == ["disk-db-0", "disk-db-1"]


async def test_claims_are_owned_by_the_object_with_which_they_are_deleted(harness: ControllerHarness) -> None:
    policy = {"whenScaled": "Delete", "whenDeleted": "Delete"}
    spec = {"volumeClaimTemplates": [DISK], "persistentVolumeClaimRetentionPolicy": policy}
    found = await harness.create(db(2, **spec))
    await harness.run_all_pods()
    owners = [each["metadata"]["ownerReferences"] for each in await harness.items(CLAIMS)]
    assert [[one["kind"] for one in each] for each in owners] == [["StatefulSet"], ["StatefulSet"]]
    await harness.merge(found, {"spec": {"replicas": 1}})
    await harness.settle()
    owners = [each["metadata"]["ownerReferences"] for each in await harness.items(CLAIMS)]
    assert [[one["kind"] for one in each] for each in owners] == [["StatefulSet"], ["Pod"]]


async def test_a_new_pod_waits_for_claims_that_go_with_its_predecessor(harness: ControllerHarness) -> None:
    policy = {"whenScaled": "Delete"}
    spec = {"volumeClaimTemplates": [DISK], "persistentVolumeClaimRetentionPolicy": policy}
    found = await harness.create(db(1, **spec))
    await harness.run_all_pods()
    await harness.merge(found, {"spec": {"replicas": 0}})
    await harness.run_all_pods()
    await harness.merge(found, {"spec": {"replicas": 1}})
    await harness.advance(3)
    assert await harness.names() == []
    await harness.cluster.request("DELETE", f"{CLAIMS}/disk-db-0")
    await harness.advance(3)
    assert await harness.names() == ["db-0"]


async def test_a_rollback_uses_the_old_revision(harness: ControllerHarness) -> None:
    found = await harness.create(db(1))
    await harness.run_all_pods()
    first = (await harness.get(found))["status"]["updateRevision"]
    await harness.merge(found, image("new"))
    await harness.run_all_pods()
    await harness.merge(found, image("busybox:1"))
    await harness.run_all_pods()
    assert (await harness.get(found))["status"]["updateRevision"] == first
    numbers = {each["metadata"]["name"]: each["revision"] for each in await harness.items(REVISIONS)}
    assert len(numbers) == 2
    assert numbers[first] == 3


async def test_the_history_is_bounded(harness: ControllerHarness) -> None:
    found = await harness.create(db(1, revisionHistoryLimit=1))
    for name in ("a", "b", "c"):
        await harness.run_all_pods()
        await harness.merge(found, image(name))
    await harness.run_all_pods()
    assert sorted(each["revision"] for each in await harness.items(REVISIONS)) == [3, 4]


async def test_only_pods_that_bear_its_name_are_adopted(harness: ControllerHarness) -> None:
    stray = await harness.create(with_labels(make_pod("stray"), app="db"))
    mine = await harness.create(with_labels(make_pod("db-0"), app="db"))
    await harness.create(db(1))
    await harness.run_all_pods()
    assert not (await harness.get(stray))["metadata"].get("ownerReferences")
    found = await harness.get(mine)
    assert found["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet"
    assert found["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "db-0"


async def test_a_set_at_rest_writes_nothing(harness: ControllerHarness) -> None:
    await harness.create(db(2, volumeClaimTemplates=[DISK]))
    await harness.run_all_pods()
    before = harness.cluster.core.store.revision
    await harness.advance(700)
    assert harness.cluster.core.store.revision == before


# The plan

NAMES = RevisionNames("old", "new")


def seen(ordinal: int, revision: str, phase: str) -> ControllerPod:
    ready = (StatusCondition(type="Ready", status="True", last_transition_time=START),) if phase == "Running" else ()
    name = f"db-{ordinal}"
    return ControllerPod(
        metadata=ObjectMeta(name=name, uid=f"{name}-{revision}", labels={REVISION_LABEL: revision, NAME_LABEL: name}),
        spec=ControllerPodSpec(node_name="node"),
        status=PodStatus(phase=phase, conditions=ready),
    )


SETS = st.builds(
    lambda replicas, policy, low, start, most: StatefulSetView(
        metadata=ObjectMeta(name="db", uid="db"),
        spec=StatefulSetSpecView(
            replicas=replicas,
            pod_management_policy=policy,
            ordinals=Ordinals(start=start),
            update_strategy=UpdateStrategy(
                type="RollingUpdate", rolling_update=RollingUpdate(partition=low, max_unavailable=most)
            ),
        ),
    ),
    st.integers(0, 6),
    st.sampled_from(["OrderedReady", "Parallel"]),
    st.integers(0, 4),
    st.integers(0, 2),
    st.sampled_from([None, 1, 2, "50%"]),
)
PODS = st.dictionaries(
    st.integers(0, 8),
    st.tuples(st.sampled_from(["old", "new"]), st.sampled_from(["Pending", "Running", "Failed"])),
    max_size=6,
)


@given(SETS, PODS)
def test_every_set_comes_to_rest_with_its_numbers_filled(
    found: StatefulSetView, start: dict[int, tuple[str, str]]
) -> None:
    pods = {ordinal: seen(ordinal, *what) for ordinal, what in start.items()}
    for _ in range(60):
        wanted = plan(found, list(pods.values()), NAMES, START)
        if found.spec.pod_management_policy == "OrderedReady":
            assert len(wanted.creates) <= 1
            assert not (wanted.creates and wanted.deletes)
        assert all(birth.ordinal not in pods for birth in wanted.creates)
        for each in wanted.deletes:
            del pods[int(each.metadata.name.removeprefix("db-"))]
        for birth in wanted.creates:
            pods[birth.ordinal] = seen(birth.ordinal, birth.revision, "Pending")
        waiting = [ordinal for ordinal, each in pods.items() if each.status.phase == "Pending"]
        if not (waiting or wanted.creates or wanted.deletes):
            break
        pods |= {n: seen(n, pods[n].metadata.labels[REVISION_LABEL], "Running") for n in waiting[:1]}
    first = found.spec.ordinals.start
    assert sorted(pods) == list(range(first, first + found.spec.replicas))
    low = found.spec.update_strategy.rolling_update
    assert low is not None
    moved = [pods[n].metadata.labels[REVISION_LABEL] for n in sorted(pods)[low.partition or 0 :]]
    assert set(moved) <= {"new"}
    status = status_of(found, list(pods.values()), NAMES, 0, START)
    assert status.ready_replicas == status.replicas == found.spec.replicas
