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
async def world() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(ReplicaSetController) as running:
        yield running


def replica_set(replicas: int, **spec: Any) -> Object:
    found = {**deployment("web", replicas), "kind": "ReplicaSet"}
    return {**found, "spec": {**found["spec"], **spec}}


async def counts(world: ControllerHarness, found: Object) -> tuple[int, int, int]:
    status = (await world.get(found))["status"]
    return status["replicas"], status.get("readyReplicas", 0), status.get("availableReplicas", 0)


async def test_pods_are_made_with_all_fields_of_their_template(world: ControllerHarness) -> None:
    found = await world.create(replica_set(3))
    await world.settle()
    pods = await world.pods()
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
    assert await counts(world, found) == (3, 0, 0)
    assert (await world.get(found))["status"]["observedGeneration"] == 1
    assert sum(reason == "SuccessfulCreate" for reason, _ in await world.events()) == 3


async def test_a_failed_or_deleted_pod_is_replaced(world: ControllerHarness) -> None:
    found = await world.create(replica_set(2))
    await world.run_all_pods()
    first, second = await world.pods()
    await world.set_status(first, phase="Failed")
    await world.delete(second, gracePeriodSeconds=0)
    await world.run_all_pods()
    assert await counts(world, found) == (2, 2, 2)
    assert len(await world.pods()) == 3


async def test_pods_become_available_after_their_ready_seconds(world: ControllerHarness) -> None:
    found = await world.create(replica_set(1, minReadySeconds=30))
    await world.run_all_pods()
    assert await counts(world, found) == (1, 1, 0)
    await world.advance(31)
    assert await counts(world, found) == (1, 1, 1)


async def test_scaling_down_spares_what_serves(world: ControllerHarness) -> None:
    found = await world.create(replica_set(3))
    await world.settle()
    serving, *_ = await world.pods()
    await world.mark_running(serving)
    await world.merge(found, {"spec": {"replicas": 1}})
    await world.settle()
    assert await world.names() == [serving["metadata"]["name"]]
    assert await counts(world, found) == (1, 1, 1)


async def test_a_matching_stray_is_adopted_and_one_that_no_longer_matches_is_released(world: ControllerHarness) -> None:
    stray = await world.create(with_labels(make_pod("stray"), app="web"))
    await world.settle()
    found = await world.create(replica_set(2))
    await world.settle()
    assert len(await world.pods()) == 2
    assert (await world.get(stray))["metadata"]["ownerReferences"][0]["uid"] == found["metadata"]["uid"]
    await world.merge(stray, {"metadata": {"labels": {"app": "else"}}})
    await world.settle()
    assert not (await world.get(stray))["metadata"].get("ownerReferences")
    assert len(await world.pods()) == 3


async def test_pods_of_others_are_left_alone(world: ControllerHarness) -> None:
    other = await world.create(make_config_map("other"))
    theirs = await world.create(with_controller(with_labels(make_pod("theirs"), app="web"), other))
    await world.create(replica_set(1))
    await world.settle()
    assert len(await world.pods()) == 2
    assert (await world.get(theirs))["metadata"]["ownerReferences"][0]["kind"] == "ConfigMap"


async def test_a_refusal_is_reported_and_taken_back(world: ControllerHarness) -> None:
    limit = await world.create(make_resource_quota("few", pods="1"))
    found = await world.create(replica_set(3))
    await world.settle()
    (condition,) = (await world.get(found))["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("ReplicaFailure", "True", "FailedCreate")
    assert "exceeded quota: few" in condition["message"]
    assert await counts(world, found) == (1, 0, 0)
    await world.delete(limit)
    await world.advance(60)
    assert await counts(world, found) == (3, 0, 0)
    assert not (await world.get(found))["status"].get("conditions")


async def test_a_cache_that_lags_never_makes_pods_twice(world: ControllerHarness) -> None:
    world.interceptor.hold_watches("pods")
    found = await world.create(replica_set(3))
    await world.settle()
    await world.merge(found, {"metadata": {"labels": {"look": "again"}}})
    await world.settle()
    assert len(await world.pods()) == 3
    world.interceptor.release_watches("pods")
    await world.settle()
    assert len(await world.pods()) == 3


async def test_a_terminating_set_creates_nothing(world: ControllerHarness) -> None:
    found = replica_set(0)
    found["metadata"]["finalizers"] = ["a.b/c"]
    made = await world.create(found)
    await world.delete(made)
    await world.merge(made, {"spec": {"replicas": 2}})
    await world.settle()
    assert await world.pods() == []


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
