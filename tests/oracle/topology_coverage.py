"""What topology scenarios hold and what comes of them, for the table of coverage."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from oracle.oracle_runner import OracleRunner
from oracle.scenario_extras import manifests
from oracle.workload_states import step_by_step

Json = Any


def topology_contents(scenario: Json) -> Iterator[str]:
    """What a scenario is made of, and what our engine decides."""
    yield f"theme: {scenario['theme']}"
    yield from (f"gate: {name}={state}" for name, state in scenario["gates"].items())
    yield from (f"step: {verb}" for step in scenario["steps"] for verb in step)
    yield "sharing: by fair share" if "fairSharing" in scenario["configuration"] else "sharing: classical"
    trees = {each["spec"].get("cohortName", each["metadata"]["name"]) for each in manifests(scenario, "ClusterQueue")}
    yield f"cohort trees: {len(trees)}"
    for node in manifests(scenario, "Node"):
        if node["spec"].get("taints"):
            yield "node: tainted"
    for _, pod_set in _pod_sets(scenario):
        yield from _of_pod_set(pod_set)
    yield from _happened(scenario)


def _pod_sets(scenario: Json) -> Iterator[tuple[str, Json]]:
    """With the names of their workloads."""
    scaled = (step["scale"] for step in scenario["steps"] if "scale" in step)
    for workload in (*manifests(scenario, "Workload"), *scaled):
        metadata = workload["metadata"]
        yield from ((f"{metadata['namespace']}/{metadata['name']}", each) for each in workload["spec"]["podSets"])


def _of_pod_set(pod_set: Json) -> Iterator[str]:
    request = pod_set.get("topologyRequest", {})
    yield from (f"request: {name}" for name in request)
    if not request:
        yield "request: none (implicit)"
    yield from (f"pods: {name}" for name in ("tolerations", "nodeSelector") if name in pod_set["template"]["spec"])
    affinity = pod_set["template"]["spec"].get("affinity", {}).get("nodeAffinity", {})
    yield from (f"pods: affinity, {name}" for name in affinity)
    if "minCount" in pod_set:
        yield "pods: minCount"


def _happened(scenario: Json) -> Iterator[str]:
    """By the states of workloads after one scheduling step and the next."""
    states = [each for each in step_by_step(scenario, OracleRunner) if each is not None]
    requests = {(workload, each["name"]): each.get("topologyRequest", {}) for workload, each in _pod_sets(scenario)}
    for before, after in pairwise([{}, *states]):
        for name, state in after.items():
            yield from (f"happened: {what}" for what in _changes(before.get(name, {}), state))
            placed = (each["name"] for each in state.get("assignments", ()) if "domains" in each)
            yield from (f"placed: {member}" for pod_set in placed for member in requests[name, pod_set])


def _changes(before: Json, after: Json) -> Iterator[str]:
    if after.get("reason"):
        yield f"waits, {after['reason']}"
    yield from (name for name in ("preempted", "evicted", "unhealthyNodes") if name in after)
    if after.get("message", "").startswith("Workload no longer fits"):
        yield "places lost within a cycle"
    old = {each["name"]: each for each in before.get("assignments", ())}
    for assigned in after.get("assignments", ()):
        yield from _assigned(old.get(assigned["name"], {}), assigned, is_preempted="preempted" in after)


def _assigned(old: Json, new: Json, *, is_preempted: bool) -> Iterator[str]:
    if new.get("delayed") == "Pending":
        yield "preempted before its placement" if is_preempted else "delayed placement"
    if "domains" not in new:
        return
    yield "placed"
    if old.get("delayed") == "Pending":
        yield "placed in a second pass"
    if "domains" in old and old["domains"] != new["domains"]:
        yield "failed node replaced"
    if len(new["domains"]) > 1:
        yield "placed in several domains"
