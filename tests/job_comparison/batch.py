"""Random Jobs and JobSets."""

from typing import Any

from job_comparison.cases import metadata
from job_comparison.choices import Choices
from job_comparison.templates import K, pod_template, shared_topology

Json = Any
COUNTS = (0, 1, 1, 2, 3, 5, 20)


def job(c: Choices, name: str, namespace: str) -> list[Json]:
    """A Job."""
    head, counts = metadata(c, name, namespace, elastic=0.12), _counts(c)
    notes = {**_minimum(c, counts), **c.member(0.1, f"{K}job-completions-equal-parallelism", *_sync(c, counts))}
    if notes:
        head["annotations"] = {**head.get("annotations", {}), **notes}
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": head, "spec": {**counts, **_job_spec(c, counts)}}
    return [*([_prebuilt(c, made, counts)] if c.chance(0.08) else ()), made]


def _prebuilt(c: Choices, made: Json, counts: Json) -> Json:
    """A Workload that the Job names from now on; it may be of another size than the Job."""
    head = made["metadata"]
    workload = f"{head['name']}-prebuilt"
    named = {f"{K}prebuilt-workload-name": workload}
    members = c.one("labels", "annotations")
    head[members] = {**head.get(members, {}), **named}
    pods = {"name": "main", "count": max(1, _pods(counts)) + c.one(0, 0, 0, 1), "template": made["spec"]["template"]}
    queue = head.get("labels", {}).get(f"{K}queue-name", "main")
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": workload, "namespace": head["namespace"]},
        "spec": {"queueName": queue, "podSets": [pods]},
    }


def _counts(c: Choices) -> Json:
    count = c.one(*COUNTS)
    found: Json = c.one(
        {},
        {"parallelism": count},
        {"completions": count},
        {"parallelism": c.one(*COUNTS), "completions": count},
        {"parallelism": count, "completions": count, "completionMode": "Indexed"},
    )
    return found


def _pods(counts: Json) -> int:
    parallelism = counts.get("parallelism", 1)
    return int(min(parallelism, counts.get("completions", parallelism)))


def _minimum(c: Choices, counts: Json) -> Json:
    """A minimum for partial admission."""
    if c.error(0.2):
        return {f"{K}job-min-parallelism": c.one("0", "two", str(_pods(counts)), "-1")}
    return c.maybe(0.3, **{f"{K}job-min-parallelism": c.one("1", str(_pods(counts) - 1))}) if _pods(counts) > 1 else {}


def _sync(c: Choices, counts: Json) -> tuple[str, ...]:
    if c.error(0.3):
        return "maybe", "true"
    return ("true", "false") if counts.get("completionMode") else ("false",)


def _job_spec(c: Choices, counts: Json) -> Json:
    return {
        **c.member(0.3, "suspend", True, False),
        **c.maybe(0.2, backoffLimit=0),
        **c.member(0.06, "managedBy", "kueue.x-k8s.io/multikueue", "example.com/mine", "kubernetes.io/job-controller"),
        "template": pod_template(c, restart=c.one("Never", "OnFailure"), pods=_pods(counts)),
    }


def job_set(c: Choices, name: str, namespace: str) -> list[Json]:
    """A JobSet."""
    number = 19 if c.error(0.1) else c.one(1, 1, 2, 2, 3, 4, 9, 18)
    request = shared_topology(c) if number == 2 else None
    names = [f"{c.one('Driver', 'job')}-{index}" if c.error(0.1) else f"job-{index}" for index in range(number)]
    spec = {
        "replicatedJobs": [_replicated_job(c, each, request) for each in names],
        **c.member(0.3, "suspend", True, False),
        **c.member(0.06, "managedBy", "kueue.x-k8s.io/multikueue", "example.com/mine"),
    }
    head = metadata(c, name, namespace)
    return [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": head, "spec": spec}]


def _replicated_job(c: Choices, name: str, request: Json) -> Json:
    counts, replicas = _counts(c), c.member(0.5, "replicas", 0, 1, 2, 4)
    pods = _pods(counts) * replicas.get("replicas", 1)
    template = pod_template(c, restart=c.one("Never", "OnFailure"), pods=pods, request=request)
    return {"name": name, **replicas, "template": {"spec": {**counts, "template": template}}}
