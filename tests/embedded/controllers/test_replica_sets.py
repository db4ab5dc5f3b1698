"""ReplicaSets keep the desired number of pods, and report how many exist."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.controllers.harness import ControllerHarness, running_controller_harness, with_controller, with_labels
from embedded.server.objects import deployment
from kit.apiserver import Object
from kit.builders.core import make_config_map, make_pod, make_resource_quota
from kit.virtual_time import START
from kohort.api.core.objects import StatusCondition
from kohort.api.core.pods import ContainerStatus, PodStatus
from kohort.api.meta import ObjectMeta
from kohort.embedded.controllers.replicasets.controller import ReplicaSetController
from kohort.embedded.controllers.replicasets.plan import BURST, ReplicaSetPlan, plan, status_of
from kohort.embedded.controllers.replicasets.ranking import DELETION_COST, deletion_order
from kohort.embedded.controllers.serving import ReplicaSetSpecView, ReplicaSetView
from kohort.embedded.controllers.views import ControllerPod, ControllerPodSpec


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(ReplicaSetController) as running:
        yield running


def replica_set(replicas: int, **spec: Any) -> Object:
    found = {**deployment("web", replicas), "kind": "ReplicaSet"}
    return {**found, "spec": {**found["spec"], **spec}}


async def counts(harness: ControllerHarness, found: Object) -> tuple[int, int, int]:
    status = (await harness.get(found))["status"]
    return status["replicas"], status.get("readyReplicas", 0), status.get("availableReplicas", 0)


async def test_pods_are_made_with_all_fields_of_their_template(harness: ControllerHarness) -> None:
    found = await harness.create(replica_set(3))
    await harness.settle()
    pods = await harness.pods()
    assert len(pods) == 3
    for one in pods:
        metadata = one["metadata"]
        assert metadata["name"].startswith("web-")
        assert metadata["labels"] == {"app": "web"}
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web",
                "uid": found["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    assert await counts(harness, found) == (3, 0, 0)
    assert (await harness.get(found))["status"]["observedGeneration"] == 1
    assert sum(reason == "SuccessfulCreate" for reason, _ in await harness.events()) == 3


async def test_a_failed_or_deleted_pod_is_replaced(harness: ControllerHarness) -> None:
    found = await harness.create(replica_set(2))
    await harness.run_all_pods()
    first, second = await harness.pods()
    await harness.set_status(first, phase="Failed")
    await harness.delete(second, gracePeriodSeconds=0)
    await harness.run_all_pods()
    assert await counts(harness, found) == (2, 2, 2)
    assert len(await harness.pods()) == 3


async def test_pods_become_available_after_their_ready_seconds(harness: ControllerHarness) -> None:
    found = await harness.create(replica_set(1, minReadySeconds=30))
    await harness.run_all_pods()
    assert await counts(harness, found) == (1, 1, 0)
    await harness.advance(31)
    assert await counts(harness, found) == (1, 1, 1)


async def test_scaling_down_spares_what_serves(harness: ControllerHarness) -> None:
    found = await harness.create(replica_set(3))
    await harness.settle()
    serving, *_ = await harness.pods()
    await harness.mark_running(serving)
    await harness.merge(found, {"spec": {"replicas": 1}})
    await harness.settle()
    assert await harness.names() == [serving["metadata"]["name"]]
    assert await counts(harness, found) == (1, 1, 1)


async def test_a_matching_stray_is_adopted_and_one_that_no_longer_matches_is_released(
    harness: ControllerHarness,
) -> None:
    stray = await harness.create(with_labels(make_pod("stray"), app="web"))
    await harness.settle()
    found = await harness.create(replica_set(2))
    await harness.settle()
    assert len(await harness.pods()) == 2
    assert (await harness.get(stray))["metadata"]["ownerReferences"][0]["uid"] == found["metadata"]["uid"]
    await harness.merge(stray, {"metadata": {"labels": {"app": "else"}}})
    await harness.settle()
    assert not (await harness.get(stray))["metadata"].get("ownerReferences")
    assert len(await harness.pods()) == 3


async def test_pods_of_others_are_left_alone(harness: ControllerHarness) -> None:
    other = await harness.create(make_config_map("other"))
    theirs = await harness.create(with_controller(with_labels(make_pod("theirs"), app="web"), other))
    await harness.create(replica_set(1))
    await harness.settle()
    assert len(await harness.pods()) == 2
    assert (await harness.get(theirs))["metadata"]["ownerReferences"][0]["kind"] == "ConfigMap"


async def test_a_refusal_is_reported_and_taken_back(harness: ControllerHarness) -> None:
    limit = await harness.create(make_resource_quota("few", pods="1"))
    found = await harness.create(replica_set(3))
    await harness.settle()
    (condition,) = (await harness.get(found))["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("ReplicaFailure", "True", "FailedCreate")
    assert "exceeded quota: few" in condition["message"]
    assert await counts(harness, found) == (1, 0, 0)
    await harness.delete(limit)
    await harness.advance(60)
    assert await counts(harness, found) == (3, 0, 0)
    assert not (await harness.get(found))["status"].get("conditions")


async def test_a_cache_that_lags_never_makes_pods_twice(harness: ControllerHarness) -> None:
    harness.interceptor.hold_watches("pods")
    found = await harness.create(replica_set(3))
    await harness.settle()
    await harness.merge(found, {"metadata": {"labels": {"look": "again"}}})
    await harness.settle()
    assert len(await harness.pods()) == 3
    harness.interceptor.release_watches("pods")
    await harness.settle()
    assert len(await harness.pods()) == 3


async def test_a_terminating_set_creates_nothing(harness: ControllerHarness) -> None:
    found = replica_set(0)
    found["metadata"]["finalizers"] = ["a.b/c"]
    made = await harness.create(found)
    await harness.delete(made)
    await harness.merge(made, {"spec": {"replicas": 2}})
    await harness.settle()
    assert await harness.pods() == []


# The order in which pods go


def seen(name: str, *, node: str = "n", phase: str = "Running", ready: int | None = 100, **more: Any) -> ControllerPod:
    """A pod that has been ready for so many seconds."""
    since = None if ready is None else START - timedelta(seconds=ready)
    conditions = () if ready is None else (StatusCondition(type="Ready", status="True", last_transition_time=since),)
    restarts = (ContainerStatus(restart_count=more.get("restarts", 0)),)
    created = START - timedelta(seconds=more.get("age", 1000))
    annotations = {DELETION_COST: more["cost"]} if "cost" in more else {}
    return ControllerPod(
        metadata=ObjectMeta(name=name, uid=name, creation_timestamp=created, annotations=annotations),
        spec=ControllerPodSpec(node_name=node),
        status=PodStatus(phase=phase, conditions=conditions, container_statuses=restarts),
    )


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        (seen("z", node=""), seen("a", phase="Pending", ready=None)),
        (seen("z", phase="Pending", ready=None), seen("a", ready=None)),
        (seen("z", ready=None), seen("a")),
        (seen("z", cost="-5"), seen("a")),
        (seen("z", ready=10), seen("a", ready=1000)),
        (seen("z", restarts=3), seen("a")),
        (seen("z", age=10), seen("a", age=1000)),
    ],
)
def test_pods_that_serve_less_are_deleted_first(goes: ControllerPod, stays: ControllerPod) -> None:
    assert deletion_order([stays, goes], [], 1, START) == [goes]


def test_crowded_pods_go_first() -> None:
    excess_pods = [seen("x", node="full"), seen("y", node="full")]
    alone = seen("a", node="empty")
    assert alone not in deletion_order([alone, *excess_pods], [alone, *excess_pods], 2, START)


@given(
    st.integers(0, 2000),
    st.lists(st.builds(PodStatus, phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])), max_size=20),
)
def test_a_plan_that_is_executed_leaves_the_desired_replicas(replicas: int, statuses: list[PodStatus]) -> None:
    found = ReplicaSetView(spec=ReplicaSetSpecView(replicas=replicas))
    pods = [ControllerPod(metadata=ObjectMeta(uid=str(n)), status=status) for n, status in enumerate(statuses)]
    wanted = plan(found, pods, pods, START)
    left = [one for one in pods if one not in wanted.deletes]
    after = [*left, *(ControllerPod(metadata=ObjectMeta(uid=f"new-{n}")) for n in range(wanted.creates))]
    assert not (wanted.creates and wanted.deletes)
    assert wanted.creates <= BURST
    assert all(one.is_active for one in wanted.deletes)
    if wanted.creates < BURST:
        assert plan(found, after, after, START) == ReplicaSetPlan()
        assert status_of(found, after, None, START).replicas == replicas
