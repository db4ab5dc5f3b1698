"""Pods of an elastic job are placed as far as an admitted slice has capacity (JOB-84)."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jobs.actions import ELASTIC, admit, make_stored_job, newest_workload, pass_harness, run_until_settled
from kohort.api.codec import JsonObject
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import AdmissionCheckState, PodSetUpdate
from kohort.jobs.effects import PatchObject
from kohort.jobs.ungating.chains import chain_of, serving_slice
from kohort.jobs.ungating.elastic_pods import ElasticGatePolicy, is_gated

GATE = {"name": "kueue.x-k8s.io/elastic-job"}


def a_pod(name: str, *, gated: bool = True, phase: str = "Pending", pod_set: str = "main", **spec: Any) -> JsonObject:
    gates = {"schedulingGates": [GATE]} if gated else {}
    metadata = {"name": name, "namespace": "ns", "uid": name, "labels": {"kueue.x-k8s.io/podset": pod_set}}
    return {"kind": "Pod", "metadata": metadata, "spec": {**gates, **spec}, "status": {"phase": phase}}


async def a_slice(pods: int = 3) -> Workload:
    harness = pass_harness()
    harness.put(make_stored_job(annotations=ELASTIC, parallelism=pods))
    await run_until_settled(harness)
    return admit(harness, newest_workload(harness))


def ungate(workload: Workload, pods: Sequence[JsonObject]) -> list[PatchObject]:
    return [each for each in ElasticGatePolicy().ungate(workload, pods) if isinstance(each, PatchObject)]


def opened(workload: Workload, *pods: JsonObject) -> list[str]:
    return [patch.after["metadata"]["name"] for patch in ungate(workload, pods)]


async def test_the_first_pods_by_name_are_placed_while_capacity_remains() -> None:
    pods = [a_pod(name) for name in ("e", "b", "d", "a", "c")]
    assert opened(await a_slice(3), *pods) == ["a", "b", "c"]


async def test_running_pods_use_capacity_and_finished_ones_do_not() -> None:
    running, over = a_pod("r", gated=False), a_pod("o", gated=False, phase="Succeeded")
    assert opened(await a_slice(2), running, over, a_pod("a"), a_pod("b")) == ["a"]


async def test_pods_of_other_sets_wait() -> None:
    assert opened(await a_slice(2), a_pod("a", pod_set="other")) == []


async def test_other_gates_stay_closed() -> None:
    pod = a_pod("a")
    pod["spec"]["schedulingGates"].append({"name": "mine"})
    (patch,) = ungate(await a_slice(), [pod])
    assert patch.after["spec"]["schedulingGates"] == [{"name": "mine"}]
    assert is_gated(pod), "the pod of the cache is left alone"


async def checked(update: PodSetUpdate) -> Workload:
    workload = await a_slice()
    check = AdmissionCheckState(
        name="prov",
        state="Ready",
        message="",
        last_transition_time=pass_harness().now,
        pod_set_updates=(update,),
    )
    return replace(workload, status=replace(workload.status, admission_checks=(check,)))


async def test_additions_of_checks_are_applied() -> None:
    workload = await checked(PodSetUpdate(name="main", node_selector={"pool": "x"}, annotations={"prov": "r1"}))
    (patch,) = ungate(workload, [a_pod("a")])
    assert patch.after["spec"]["nodeSelector"] == {"pool": "x"}
    assert patch.after["metadata"]["annotations"] == {"prov": "r1"}


async def test_a_pod_that_contradicts_a_check_stays_gated() -> None:
    workload = await checked(PodSetUpdate(name="main", node_selector={"pool": "x"}))
    assert opened(workload, a_pod("a", nodeSelector={"pool": "y"}), a_pod("b")) == ["b"]


async def test_only_an_admitted_slice_opens_gates() -> None:
    first = await a_slice()
    waiting = replace(first, status=replace(first.status, conditions=()))
    assert serving_slice([first, waiting]) is first
    assert serving_slice([waiting]) is None
    assert chain_of(first) == first.metadata.name


@given(st.lists(st.booleans(), max_size=8), st.integers(0, 6))
def test_never_more_pods_are_placed_than_the_slice_has(gated: list[bool], capacity: int) -> None:
    import asyncio

    workload = asyncio.run(a_slice(capacity))
    pods = [a_pod(f"p{number}", gated=each) for number, each in enumerate(gated)]
    running = gated.count(False)
    assert running + len(ungate(workload, pods)) <= max(capacity, running)
    assert len(ungate(workload, pods)) == min(max(capacity - running, 0), gated.count(True))
