"""Pods on unreachable nodes are ended by force where that is safe (JOB-97)."""

from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime

import pytest

from kit.apiserver import Object
from kit.manager import ManagerHarness, running_manager_harness
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.controllers.context import ControllerContext, ManagerSettings
from kohort.jobs.failure_recovery import failed_status
from kohort.jobs.registry import registry_of
from kohort.jobs.startup import running_job_reconcilers

ON = ManagerSettings(gates=FeatureGates(DEFAULT_GATES.on | {Gate.FailureRecoveryPolicy}))
SAFE = {"kueue.x-k8s.io/safe-to-forcefully-delete": "true"}
NODE = "/api/v1/nodes/n"
POD = "/api/v1/namespaces/default/pods/p"
TAINTED = {"spec": {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]}}
DELETED_BY_FORCE = (
    "Pod forcefully terminated after 1m30s grace period due to unreachable node `n` "
    "(triggered by `kueue.x-k8s.io/safe-to-forcefully-delete` annotation)"
)


def recovery_controllers(context: ControllerContext) -> AbstractAsyncContextManager[None]:
    return running_job_reconcilers(context, registry_of(context.settings.configuration, ()))


async def occupied(harness: ManagerHarness, annotations: Object, phase: str = "Running") -> None:
    """A pod on a node that is reachable."""
    await harness.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 30}
    metadata = {"name": "p", "namespace": "default", "annotations": annotations}
    await harness.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    reply = await harness.server.merge(f"{POD}/status", {"status": {"phase": phase}})
    assert reply.status == 200, reply


async def lose_node(harness: ManagerHarness) -> None:
    reply = await harness.server.merge(NODE, TAINTED)
    assert reply.status == 200, reply


async def delete(harness: ManagerHarness) -> None:
    reply = await harness.server.request("DELETE", POD)
    assert reply.status in (200, 202), reply


async def is_there(harness: ManagerHarness) -> bool:
    return (await harness.server.request("GET", POD)).status == 200


async def events(harness: ManagerHarness) -> list[tuple[str, str, str]]:
    await harness.advance(3)
    listed = await harness.server.get("/apis/events.k8s.io/v1/events")
    return [(each["type"], each["reason"], each["note"]) for each in listed["items"]]


async def test_a_pod_that_cannot_end_on_a_lost_node_is_ended_a_minute_after_its_grace_period() -> None:
    async with running_manager_harness(ON, controllers=recovery_controllers) as harness:
        await occupied(harness, SAFE)
        await lose_node(harness)
        await delete(harness)
        await harness.advance(89)
        assert await is_there(harness)
        await harness.advance(3)
        assert not await is_there(harness)
        assert await events(harness) == [("Warning", "KueueForcefullyDeleted", DELETED_BY_FORCE)]


async def test_a_node_that_is_lost_later_has_its_pods_ended_then() -> None:
    async with running_manager_harness(ON, controllers=recovery_controllers) as harness:
        await occupied(harness, SAFE)
        await delete(harness)
        await harness.advance(120)
        assert await is_there(harness), "the node still answers"
        await lose_node(harness)
        await harness.advance(1)
        assert not await is_there(harness)


async def test_a_pod_with_a_finalizer_is_failed_before_it_is_deleted() -> None:
    async with running_manager_harness(ON, controllers=recovery_controllers) as harness:
        await occupied(harness, SAFE)
        reply = await harness.server.merge(POD, {"metadata": {"finalizers": ["example.com/held"]}})
        assert reply.status == 200, reply
        await lose_node(harness)
        await delete(harness)
        await harness.advance(95)
        status = (await harness.server.get(POD))["status"]
        assert status["phase"] == "Failed"
        conditions = [each for each in status["conditions"] if each["type"] == "KueueFailureRecovery"]
        assert [(each["status"], each["reason"], each["message"]) for each in conditions] == [
            ("True", "KueueForcefullyDeleted", DELETED_BY_FORCE)
        ]
        assert len(await events(harness)) == 1


@pytest.mark.parametrize("annotations", [{}, {"kueue.x-k8s.io/safe-to-forcefully-delete": "yes"}])
async def test_a_pod_whose_owner_did_not_declare_that_it_is_safe_stays(annotations: Object) -> None:
    async with running_manager_harness(ON, controllers=recovery_controllers) as harness:
        await occupied(harness, annotations)
        await lose_node(harness)
        await delete(harness)
        await harness.advance(100)
        assert await is_there(harness)


async def test_without_the_gate_nothing_is_ended() -> None:
    async with running_manager_harness(controllers=recovery_controllers) as harness:
        await occupied(harness, SAFE)
        await lose_node(harness)
        await delete(harness)
        await harness.advance(100)
        assert await is_there(harness)


async def test_a_refused_write_is_made_again() -> None:
    async with running_manager_harness(ON, controllers=recovery_controllers) as harness:
        await occupied(harness, SAFE)
        await lose_node(harness)
        await delete(harness)
        harness.interceptor.reject("PATCH", "pods/p/status", 500, 409)
        harness.interceptor.reject("DELETE", "pods/p", 500)
        await harness.advance(100)
        assert not await is_there(harness)


@pytest.mark.parametrize(("phase", "wanted"), [("Running", "Failed"), ("Succeeded", "Succeeded"), ("Failed", "Failed")])
def test_an_ended_pod_keeps_its_phase_and_its_event_is_recorded_once(phase: str, wanted: str) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n"}, "status": {"phase": phase, "conditions": [{}]}}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    changed = failed_status(pod, now)
    assert changed is not None
    assert changed["phase"] == wanted
    assert len(changed["conditions"]) == 2
    assert failed_status({**pod, "status": changed}, now) is None
