"""Deployments roll out templates, and report their progress."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from embedded.controllers.harness import ControllerHarness, running_controller_harness
from embedded.server.objects import deployment
from kit.apiserver import Object
from kit.builders.core import make_resource_quota
from kohort.embedded.controllers.deployments.controller import DeploymentController
from kohort.embedded.controllers.replicasets.controller import ReplicaSetController

REVISION = "deployment.kubernetes.io/revision"


@pytest.fixture
async def world() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(ReplicaSetController, DeploymentController) as running:
        yield running


def web(replicas: int = 3, **spec: Any) -> Object:
    found = deployment("web", replicas)
    return {**found, "spec": {**found["spec"], **spec}}


def rolling(surge: int | str, unavailable: int | str) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def image(name: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


async def sets(world: ControllerHarness) -> dict[str, Object]:
    """The ReplicaSets by revision."""
    found = await world.items("/apis/apps/v1/namespaces/default/replicasets")
    return {each["metadata"]["annotations"][REVISION]: each for each in found}


async def sizes(world: ControllerHarness) -> dict[str, int]:
    return {number: each["spec"]["replicas"] for number, each in (await sets(world)).items()}


async def output(world: ControllerHarness, found: Object, kind: str) -> tuple[str, str]:
    conditions = (await world.get(found))["status"].get("conditions", ())
    (one,) = [each for each in conditions if each["type"] == kind]
    return one["status"], one["reason"]


async def test_a_new_deployment_comes_up(world: ControllerHarness) -> None:
    found = await world.create(web())
    await world.run_all_pods()
    now = await world.get(found)
    status = {key: value for key, value in now["status"].items() if key != "conditions"}
    assert status == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
    }
    assert await output(world, found, "Available") == ("True", "MinimumReplicasAvailable")
    assert await output(world, found, "Progressing") == ("True", "NewReplicaSetAvailable")
    assert now["metadata"]["annotations"][REVISION] == "1"
    only = (await sets(world))["1"]
    mark = only["metadata"]["labels"]["pod-template-hash"]
    assert only["metadata"]["name"] == f"web-{mark}"
    assert only["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": mark}
    assert all(pod["metadata"]["labels"]["pod-template-hash"] == mark for pod in await world.pods())
    annotations = only["metadata"]["annotations"]
    assert annotations["deployment.kubernetes.io/desired-replicas"] == "3"
    assert annotations["deployment.kubernetes.io/max-replicas"] == "4"
    name = only["metadata"]["name"]
    assert ("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 3") in await world.events()


async def test_a_rolling_update_keeps_its_bounds_at_every_step(world: ControllerHarness) -> None:
    found = await world.create(web(4, strategy=rolling(1, 1)))
    await world.run_all_pods()
    await world.merge(found, image("new"))
    for _ in range(20):
        await world.settle()
        pods = await world.pods()
        terminating = [pod for pod in pods if pod["metadata"].get("deletionTimestamp")]
        staying = [pod for pod in pods if pod not in terminating]
        ready = [pod for pod in staying if pod["status"]["phase"] == "Running"]
        assert len(staying) <= 5
        assert len(ready) >= 3
        for pod in terminating:
            await world.delete(pod, gracePeriodSeconds=0)
        waiting = [pod for pod in staying if pod not in ready]
        if not waiting and not terminating:
            break
        await world.mark_running(*waiting[:1])
    assert await sizes(world) == {"1": 0, "2": 4}
    assert await output(world, found, "Progressing") == ("True", "NewReplicaSetAvailable")


async def test_recreate_waits_until_the_last_old_pod_is_gone(world: ControllerHarness) -> None:
    found = await world.create(web(2, strategy={"type": "Recreate"}))
    await world.run_all_pods()
    await world.merge(found, image("new"))
    await world.settle()
    terminating = await world.pods()
    assert len(terminating) == 2
    assert all(pod["metadata"]["deletionTimestamp"] for pod in terminating)
    assert await sizes(world) == {"1": 0}
    await world.delete(terminating[0], gracePeriodSeconds=0)
    await world.settle()
    assert await sizes(world) == {"1": 0}
    await world.run_all_pods()
    assert await sizes(world) == {"1": 0, "2": 2}
    assert await output(world, found, "Progressing") == ("True", "NewReplicaSetAvailable")


async def test_a_rollback_sets_the_old_set_to_a_new_revision(world: ControllerHarness) -> None:
    found = await world.create(web(1))
    await world.run_all_pods()
    await world.merge(found, image("new"))
    await world.run_all_pods()
    await world.merge(found, image("busybox:1"))
    await world.run_all_pods()
    assert await sizes(world) == {"2": 0, "3": 1}
    assert (await sets(world))["3"]["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"
    assert (await world.get(found))["metadata"]["annotations"][REVISION] == "3"


async def test_old_sets_beyond_the_history_go(world: ControllerHarness) -> None:
    found = await world.create(web(1, revisionHistoryLimit=1))
    for name in ("a", "b", "c"):
        await world.run_all_pods()
        await world.merge(found, image(name))
    await world.run_all_pods()
    assert sorted(await sets(world)) == ["3", "4"]


async def test_a_paused_deployment_scales_but_does_not_roll(world: ControllerHarness) -> None:
    found = await world.create(web(2))
    await world.run_all_pods()
    await world.merge(found, {"spec": {"paused": True, "replicas": 4, **image("new")["spec"]}})
    await world.run_all_pods()
    assert await sizes(world) == {"1": 4}
    assert await output(world, found, "Progressing") == ("Unknown", "DeploymentPaused")
    await world.merge(found, {"spec": {"paused": False}})
    await world.run_all_pods()
    assert await sizes(world) == {"1": 0, "2": 4}


async def test_a_rollout_without_progress_exceeds_its_deadline(world: ControllerHarness) -> None:
    found = await world.create(web(1, progressDeadlineSeconds=30))
    await world.advance(20)
    assert await output(world, found, "Progressing") == ("True", "ReplicaSetUpdated")
    await world.advance(15)
    assert await output(world, found, "Progressing") == ("False", "ProgressDeadlineExceeded")
    await world.run_all_pods()
    assert await output(world, found, "Progressing") == ("True", "NewReplicaSetAvailable")


async def test_a_new_size_in_the_middle_of_a_rollout_is_shared_out(world: ControllerHarness) -> None:
    found = await world.create(web(10, strategy=rolling(3, 2)))
    await world.run_all_pods()
    await world.merge(found, image("new"))
    await world.settle()
    assert await sizes(world) == {"1": 8, "2": 5}
    await world.merge(found, {"spec": {"replicas": 20}})
    await world.settle()
    shared = await sizes(world)
    assert sum(shared.values()) == 23
    assert shared["1"] > shared["2"] > 5


async def test_a_refusal_reaches_the_deployment(world: ControllerHarness) -> None:
    await world.create(make_resource_quota("few", pods="1"))
    found = await world.create(web(3))
    await world.settle()
    assert await output(world, found, "ReplicaFailure") == ("True", "FailedCreate")
    assert await output(world, found, "Available") == ("False", "MinimumReplicasUnavailable")


async def test_annotations_are_handed_down_and_the_template_stays_the_same(world: ControllerHarness) -> None:
    found = await world.create(web(1))
    await world.run_all_pods()
    await world.merge(found, {"metadata": {"annotations": {"kubernetes.io/change-cause": "why not"}}})
    await world.settle()
    assert (await sets(world))["1"]["metadata"]["annotations"]["kubernetes.io/change-cause"] == "why not"


async def test_a_name_that_is_taken_is_avoided(world: ControllerHarness) -> None:
    found = await world.create(web(1))
    await world.run_all_pods()
    only = (await sets(world))["1"]
    await world.delete(found, propagationPolicy="Orphan")
    await world.merge(found, {"metadata": {"finalizers": None}})
    await world.merge(
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", **only},
        {"metadata": {"ownerReferences": None, "labels": {"app": "else"}}},
    )
    again = await world.create(web(1))
    await world.advance(5)
    assert (await world.get(again))["status"]["collisionCount"] == 1
    assert len(await world.items("/apis/apps/v1/namespaces/default/replicasets")) == 2


async def test_orphaned_sets_are_taken_over(world: ControllerHarness) -> None:
    found = await world.create(web(2))
    await world.run_all_pods()
    only = {"apiVersion": "apps/v1", "kind": "ReplicaSet", **(await sets(world))["1"]}
    await world.delete(found, propagationPolicy="Orphan")
    await world.merge(only, {"metadata": {"ownerReferences": None}})
    await world.merge(found, {"metadata": {"finalizers": None}})
    again = await world.create(web(2))
    await world.run_all_pods()
    assert await sizes(world) == {"1": 2}
    assert (await world.get(only))["metadata"]["ownerReferences"][0]["uid"] == again["metadata"]["uid"]


async def test_a_deployment_at_rest_writes_nothing(world: ControllerHarness) -> None:
    await world.create(web(2))
    await world.run_all_pods()
    before = world.cluster.core.store.revision
    await world.advance(700)
    assert world.cluster.core.store.revision == before
