"""Pods, groups and what makes pods, one line per object."""

from typing import Any

from jobs.pod_flows import PodPassHarness
from kohort.api.codec import JsonObject
from kohort.api.merge import merge
from kohort.jobs.contract import JobKey
from kohort.jobs.defaulting.job_context import JobContext
from kohort.jobs.frameworks.pods.members import role_of

K = "kueue.x-k8s.io/"
GROUP = JobKey("ns", "g", is_group=True)


def make_pod(name: str = "a", cpu: str = "1", **changes: Any) -> JsonObject:
    """A pod of queue q."""
    head = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": {f"{K}queue-name": "q"}}
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    made = {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": {"containers": [container]}}
    return dict(merge(made, changes))


def make_member(name: str, total: int = 2, cpu: str = "1", created: str = "11:00", **changes: Any) -> JsonObject:
    """A pod of group g."""
    notes = {f"{K}pod-group-name": "g", f"{K}pod-group-total-count": str(total)}
    head = {"annotations": notes, "creationTimestamp": f"2026-08-01T{created}:00Z"}
    return dict(merge(make_pod(name, cpu, metadata=head), changes))


def gated(obj: JsonObject) -> JsonObject:
    """The pod as the webhook leaves it."""
    marks = {"labels": {f"{K}managed": "true"}, "annotations": {f"{K}role-hash": role_of(obj)}}
    head = {**marks, "finalizers": [f"{K}managed"]}
    return dict(merge(obj, {"metadata": head, "spec": {"schedulingGates": [{"name": f"{K}admission"}]}}))


def running(obj: JsonObject) -> JsonObject:
    """The pod as it runs, admitted."""
    return dict(merge(gated(obj), {"spec": {"schedulingGates": None, "nodeName": "n"}, "status": {"phase": "Running"}}))


def failed(obj: JsonObject, at: str | None = None) -> JsonObject:
    """The pod after it failed."""
    ended = {"type": "ContainersReady", "status": "False", "reason": "PodFailed"}
    known = [] if at is None else [{**ended, "lastTransitionTime": f"2026-08-01T{at}:00Z"}]
    return dict(merge(running(obj), {"status": {"phase": "Failed", "conditions": known}}))


def of_kind(kind: str, name: str, api_version: str = "apps/v1", **changes: Any) -> JsonObject:
    """An object with a pod template, of queue q."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}}
    made = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": {f"{K}queue-name": "q"}},
        "spec": {"replicas": 3, "template": template},
    }
    return dict(merge(made, changes))


def owned(kind: str, name: str, api_version: str = "apps/v1") -> JsonObject:
    """Metadata of what that object controls."""
    reference = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
    return {"ownerReferences": [reference]}


def pod_harness(*objects: JsonObject, **gates: bool) -> PodPassHarness:
    """A harness with these objects as they are."""
    made = PodPassHarness({"featureGates": {"TopologyAwareScheduling": False, **gates}})
    for obj in objects:
        made.put(obj)
    return made


def job_context(**changes: Any) -> JobContext:
    """The reconcile context of a job without special circumstances."""
    return JobContext(**{"reads": pod_harness(), **changes})
