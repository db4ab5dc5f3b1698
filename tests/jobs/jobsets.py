"""JobSets of the tests, and a definition with the fields that Kohort reads; the operator's has many more."""

from typing import Any

Json = Any

ANY: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
COUNT: Json = {"type": "integer", "format": "int32"}
STATES = ("ready", "succeeded", "failed", "active", "suspended")


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def jobset_definition() -> Json:
    """The CustomResourceDefinition."""
    job = _object(parallelism=COUNT, completions=COUNT, template=ANY)
    replicated = _object(
        name={"type": "string"}, replicas={**COUNT, "default": 1}, template=_object(metadata=ANY, spec=job)
    )
    spec = _object(suspend={"type": "boolean"}, managedBy={"type": "string"}, replicatedJobs=_list(replicated))
    counts = _object(name={"type": "string"}, **dict.fromkeys(STATES, COUNT))
    status = _object(conditions=_list(ANY), replicatedJobsStatus=_list(counts))
    version = {
        "name": "v1alpha2",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _object(spec=spec, status=status)},
        "subresources": {"status": {}},
    }
    names = {"plural": "jobsets", "singular": "jobset", "kind": "JobSet", "listKind": "JobSetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "jobsets.jobset.x-k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {"group": "jobset.x-k8s.io", "names": names, "scope": "Namespaced", "versions": [version]},
    }


def pod_template(cpu: str = "1", **spec: Json) -> Json:
    container = {"name": "c", "image": "registry.test/c:1", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"containers": [container], **spec}}


def replicated_job(name: str, replicas: int = 1, template: Json = None, **job: Json) -> Json:
    spec = {**job, "template": template if template is not None else pod_template()}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}}


def make_jobset(*jobs: Json, name: str = "sweep", namespace: str = "default", **spec: Json) -> Json:
    """A suspended JobSet in queue `q`, by default of one driver and two Jobs of two workers."""
    replicated = jobs or (
        replicated_job("driver"),
        replicated_job("workers", 2, parallelism=2, completions=2),
    )
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": "0a1b2c3d-0000-4000-8000-000000000003",
            "labels": {"kueue.x-k8s.io/queue-name": "q"},
        },
        "spec": {"suspend": True, "replicatedJobs": list(replicated), **spec},
    }


def job_states(**counts: dict[str, int]) -> Json:
    """The status with these numbers of Jobs by state, for each replicated Job."""
    rows = [{"name": name, **dict.fromkeys(STATES, 0), **states} for name, states in counts.items()]
    return {"replicatedJobsStatus": rows}


def ended(condition: str) -> Json:
    met = {"type": condition, "status": "True", "reason": "R", "message": "over"}
    return {"conditions": [{**met, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
