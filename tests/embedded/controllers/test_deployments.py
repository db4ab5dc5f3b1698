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
async def harness() -> AsyncIterator[ControllerHarness]:
    async with running_controller_harness(ReplicaSetController, DeploymentController) as running:
        yield running


def web(replicas: int = 3, **spec: Any) -> Object:
    found = deployment("web", replicas)
    return {**found, "spec": {**found["spec"], **spec}}


def rolling(surge: int | str, unavailable: int | str) -> Object:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}


def image(name: str) -> Object:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


async def sets(harness: ControllerHarness) -> dict[str, Object]:
    """The ReplicaSets by revision."""
    found = await harness.items("/apis/apps/v1/namespaces/default/replicasets")
    return {each["metadata"]["annotations"][REVISION]: each for each in found}


async def sizes(harness: ControllerHarness) -> dict[str, int]:
    return {number: each["spec"]["replicas"] for number, each in (await sets(harness)).items()}


async def output(harness: ControllerHarness, found: Object, kind: str) -> tuple[str, str]:
    conditions = (await harness.get(found))["status"].get("conditions", ())
    (one,) = [each for each in conditions if each["type"] == kind]
    return one["status"], one["reason"]


async def test_a_new_deployment_comes_up(harness: ControllerHarness) -> None:
    found = await harness.create(web())
    await harness.run_all_pods()
    now = await harness.get(found)
    status = {key: value for key, value in now["status"].items() if key != "conditions"}
    assert status == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
    }
    assert await output(harness, found, "Available") == ("True", "MinimumReplicasAvailable")
    assert await output(harness, found, "Progressing") == ("True", "NewReplicaSetAvailable")
    assert now["metadata"]["annotations"][REVISION] == "1"
    only = (await sets(harness))["1"]
    mark = only["metadata"]["labels"]["pod-template-hash"]
    assert only["metadata"]["name"] == f"web-{mark}"
    assert only["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": mark}
    assert all(pod["metadata"]["labels"]["pod-template-hash"] == mark for pod in await harness.pods())
    annotations = only["metadata"]["annotations"]
    assert annotations["deployment.kubernetes.io/desired-replicas"] == "3"
    assert annotations["deployment.kubernetes.io/max-replicas"] == "4"
    name = only["metadata"]["name"]
    assert ("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 3") in await harness.events()


async def test_a_rolling_update_keeps_its_bounds_at_every_step(harness: ControllerHarness) -> None:
    found = await harness.create(web(4, strategy=rolling(1, 1)))
    await harness.run_all_pods()
    await harness.merge(found, image("new"))
    for _ in range(20):
        await harness.settle()
        pods = await harness.pods()
        terminating = [pod for pod in pods if pod["metadata"].get("deletionTimestamp")]
        staying = [pod for pod in pods if pod not in terminating]
        ready = [pod for pod in staying if pod["status"]["phase"] == "Running"]
        assert len(staying) <= 5
        assert len(ready) >= 3
        for pod in terminating:
            await harness.delete(pod, gracePeriodSeconds=0)
        waiting = [pod for pod in staying if pod not in ready]
        if not waiting and not terminating:
            break
        await harness.mark_running(*waiting[:1])
    assert await sizes(harness) == {"1": 0, "2": 4}
    assert await output(harness, found, "Progressing") == ("True", "NewReplicaSetAvailable")


async def test_recreate_waits_until_the_last_old_pod_is_gone(harness: ControllerHarness) -> None:
    found = await harness.create(web(2, strategy={"type": "Recreate"}))
    await harness.run_all_pods()
    await harness.merge(found, image("new"))
    await harness.settle()
    terminating = await harness.pods()
    assert len(terminating) == 2
    assert all(pod["metadata"]["deletionTimestamp"] for pod in terminating)
    assert await sizes(harness) == {"1": 0}
    await harness.delete(terminating[0], gracePeriodSeconds=0)
    await harness.settle()
    assert await sizes(harness) == {"1": 0}
    await harness.run_all_pods()
    assert await sizes(harness) == {"1": 0, "2": 2}
    assert await output(harness, found, "Progressing") == ("True", "NewReplicaSetAvailable")


async def test_a_rollback_sets_the_old_set_to_a_new_revision(harness: ControllerHarness) -> None:
    found = await harness.create(web(1))
    await harness.run_all_pods()
    await harness.merge(found, image("new"))
    await harness.run_all_pods()
    await harness.merge(found, image("busybox:1"))
    await harness.run_all_pods()
    assert await sizes(harness) == {"2": 0, "3": 1}
    assert (await sets(harness))["3"]["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"
    assert (await harness.get(found))["metadata"]["annotations"][REVISION] == "3"


async def test_old_sets_beyond_the_history_go(harness: ControllerHarness) -> None:
    found = await harness.create(web(1, revisionHistoryLimit=1))
    for name in ("a", "b", "c"):
        await harness.run_all_pods()
        await harness.merge(found, image(name))
    await harness.run_all_pods()
    assert sorted(await sets(harness)) == ["3", "4"]


async def test_a_paused_deployment_scales_but_does_not_roll(harness: ControllerHarness) -> None:
    found = await harness.create(web(2))
    await harness.run_all_pods()
    await harness.merge(found, {"spec": {"paused": True, "replicas": 4, **image("new")["spec"]}})
    await harness.run_all_pods()
    assert await sizes(harness) == {"1": 4}
    assert await output(harness, found, "Progressing") == ("Unknown", "DeploymentPaused")
    await harness.merge(found, {"spec": {"paused": False}})
    await harness.run_all_pods()
    assert await sizes(harness) == {"1": 0, "2": 4}


async def test_a_rollout_without_progress_exceeds_its_deadline(harness: ControllerHarness) -> None:
    found = await harness.create(web(1, progressDeadlineSeconds=30))
    await harness.advance(20)
    assert await output(harness, found, "Progressing") == ("True", "ReplicaSetUpdated")
    await harness.advance(15)
    assert await output(harness, found, "Progressing") == ("False", "ProgressDeadlineExceeded")
    await harness.run_all_pods()
    assert await output(harness, found, "Progressing") == ("True", "NewReplicaSetAvailable")


async def test_a_new_size_in_the_middle_of_a_rollout_is_shared_out(harness: ControllerHarness) -> None:
    found = await harness.create(web(10, strategy=rolling(3, 2)))
    await harness.run_all_pods()
    await harness.merge(found, image("new"))
    await harness.settle()
    assert await sizes(harness) == {"1": 8, "2": 5}
    await harness.merge(found, {"spec": {"replicas": 20}})
    await harness.settle()
    shared = await sizes(harness)
    assert sum(shared.values()) == 23
    assert shared["1"] > shared["2"] > 5


async def test_a_refusal_reaches_the_deployment(harness: ControllerHarness) -> None:
    await harness.create(make_resource_quota("few", pods="1"))
    found = await harness.create(web(3))
    await harness.settle()
    assert await output(harness, found, "ReplicaFailure") == ("True", "FailedCreate")
    assert await output(harness, found, "Available") == ("False", "MinimumReplicasUnavailable")


async def test_annotations_are_handed_down_and_the_template_stays_the_same(harness: ControllerHarness) -> None:
    found = await harness.create(web(1))
    await harness.run_all_pods()
    await harness.merge(found, {"metadata": {"annotations": {"kubernetes.io/change-cause": "why not"}}})
    await harness.settle()
    assert (await sets(harness))["1"]["metadata"]["annotations"]["kubernetes.io/change-cause"] == "why not"


async def test_a_name_that_is_taken_is_avoided(harness: ControllerHarness) -> None:
    found = await harness.create(web(1))
    await harness.run_all_pods()
    only = (await sets(harness))["1"]
    await harness.delete(found, propagationPolicy="Orphan")
    await harness.merge(found, {"metadata": {"finalizers": None}})
    await harness.merge(
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", **only},
        {"metadata": {"ownerReferences": None, "labels": {"app": "else"}}},
    )
    again = await harness.create(web(1))
    await harness.advance(5)
    assert (await harness.get(again))["status"]["collisionCount"] == 1
    assert len(await harness.items("/apis/apps/v1/namespaces/default/replicasets")) == 2


async def test_orphaned_sets_are_taken_over(harness: ControllerHarness) -> None:
    found = await harness.create(web(2))
    await harness.run_all_pods()
    only = {"apiVersion": "apps/v1", "kind": "ReplicaSet", **(await sets(harness))["1"]}
    await harness.delete(found, propagationPolicy="Orphan")
    await harness.merge(only, {"metadata": {"ownerReferences": None}})
    await harness.merge(found, {"metadata": {"finalizers": None}})
    again = await harness.create(web(2))
    await harness.run_all_pods()
    assert await sizes(harness) == {"1": 2}
    assert (await harness.get(only))["metadata"]["ownerReferences"][0]["uid"] == again["metadata"]["uid"]


async def test_a_deployment_at_rest_writes_nothing(harness: ControllerHarness) -> None:
    await harness.create(web(2))
    await harness.run_all_pods()
    before = harness.cluster.core.store.revision
    await harness.advance(700)
    assert harness.cluster.core.store.revision == before
