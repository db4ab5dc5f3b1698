"""Random pods, pod groups, and kinds that create pods."""

from collections.abc import Callable
from typing import Any, Final

from job_comparison.cases import metadata
from job_comparison.choices import Choices
from job_comparison.templates import K, pod_template, shared_topology

Json = Any
Generator = Callable[[Choices, str, str], list[Json]]
ROLLOUT: Final = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0}}


def pod(c: Choices, name: str, namespace: str) -> list[Json]:
    """A single pod."""
    return [_pod(c, metadata(c, name, namespace, elastic=0.0), pod_template(c))]


def _pod(c: Choices, head: Json, template: Json) -> Json:
    own = template.get("metadata", {})
    for members in ("labels", "annotations"):
        if own.get(members) or head.get(members):
            head = {**head, members: {**own.get(members, {}), **head.get(members, {})}}
    spec = {each: value for each, value in template["spec"].items() if each != "schedulingGates"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": {**spec, **c.maybe(0.05, nodeName="n")}}


def pod_group(c: Choices, name: str, namespace: str) -> list[Json]:
    """Pods of a group, of up to three roles; sometimes too few or too many."""
    head, count = metadata(c, name, namespace, elastic=0.0), c.number(1, 4)
    templates = [pod_template(c, pods=count) for _ in range(c.one(1, 1, 2, 3))]
    total = c.one("0", "many") if c.error(0.2) else str(count + c.one(*(0,) * 8, 1, -1))
    notes = {
        f"{K}pod-group-total-count": total,
        **c.member(0.15, f"{K}pod-group-fast-admission", "true"),
        **c.member(0.1, f"{K}retriable-in-group", "false"),
    }
    if c.error(0.1):
        del notes[f"{K}pod-group-total-count"]
    group = {f"{K}pod-group-name": "Not_A_Name" if c.error(0.1) else name}
    labels, annotations = {**head.get("labels", {}), **group}, {**head.get("annotations", {}), **notes}
    return [
        _pod(c, {**head, "name": f"{name}-{index}", "labels": labels, "annotations": annotations}, c.one(*templates))
        for index in range(count)
    ]


def _serving(kind: str) -> Generator:
    def generate(c: Choices, name: str, namespace: str) -> list[Json]:
        replicas = c.member(0.8, "replicas", 0, 1, 2, 3)
        pods = replicas.get("replicas", 1) if kind == "StatefulSet" else 1
        template = pod_template(c, restart="Always", pods=pods)
        head = template.get("metadata", {})
        labels = {**head.get("labels", {}), "set": name}
        spec = {
            **replicas,
            "selector": {"matchLabels": {"set": name}},
            "template": {**template, "metadata": {**head, "labels": labels}},
            **(c.maybe(0.3, podManagementPolicy="Parallel") if kind == "StatefulSet" else {}),
        }
        return [{"apiVersion": "apps/v1", "kind": kind, "metadata": metadata(c, name, namespace), "spec": spec}]

    return generate


deployment = _serving("Deployment")
stateful_set = _serving("StatefulSet")


def leader_worker_set(c: Choices, name: str, namespace: str) -> list[Json]:
    """A LeaderWorkerSet."""
    size, has_leader = c.member(0.8, "size", 1, 2, 3, 5), c.chance(0.5)
    request, workers = shared_topology(c) if has_leader else None, size.get("size", 1) - has_leader
    leader = {"leaderTemplate": pod_template(c, "leader", restart="", request=request)} if has_leader else {}
    pods = {**size, **leader, "workerTemplate": pod_template(c, "worker", restart="", pods=workers, request=request)}
    # The operator's webhook would add the strategy, which no other webhook may leave empty.
    spec = {**c.member(0.8, "replicas", 0, 1, 2, 3), "rolloutStrategy": ROLLOUT, "leaderWorkerTemplate": pods}
    head = metadata(c, name, namespace)
    return [{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": head, "spec": spec}]
