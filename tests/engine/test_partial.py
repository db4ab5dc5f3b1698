"""Partial admission beside pods that are done already (SCH-133, SCH-561)."""

from typing import Any

from engine.scenario_builders import CPU, ScenarioBuilder

Json = Any


def pod_set(name: str, count: int, cpu: int, **more: Json) -> Json:
    container = {"name": "c", "resources": {"requests": {CPU: str(cpu)}}}
    return {"name": name, "count": count, "template": {"spec": {"containers": [container]}}, **more}


def builder(*pod_sets: Json, done: Json) -> ScenarioBuilder:
    """A workload of these pod sets in a queue of 3 cores, some of whose pods are done before it is looked at."""
    builder = ScenarioBuilder()
    builder.queue("q", 3)
    manifest = builder.workload("w", 1, "q")
    manifest["spec"]["podSets"] = list(pod_sets)
    builder.put(manifest)
    builder.reclaim({"workload": "ns/w", "pods": done})
    return builder.turn()


def counts(builder: ScenarioBuilder) -> dict[str, int | None]:
    ((_, workload),) = builder.workloads.items()
    admission = workload.status.admission
    return {each.name: each.count for each in admission.pod_set_assignments} if admission else {}


def test_a_pod_set_that_is_all_done_stays_empty() -> None:
    assert counts(builder(pod_set("a", 2, 3, minCount=1), pod_set("b", 1, 1), done={"b": 1})) == {"a": 1, "b": 0}


def test_a_pod_set_that_is_partly_done_counts_in_full() -> None:
    """As in the real one: at the size that is tried, reclaimable pods are not subtracted."""
    assert counts(builder(pod_set("a", 2, 2, minCount=1), pod_set("b", 2, 1), done={"b": 1})) == {}
