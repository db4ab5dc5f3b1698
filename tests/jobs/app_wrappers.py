"""AppWrappers, and objects to wrap."""

from typing import Any

Json = Any

UID = "0a1b2c3d-0000-4000-8000-000000000008"
QUEUE = "kueue.x-k8s.io/queue-name"
SUCCEEDED: Json = {"phase": "Succeeded"}
FAILED: Json = {"phase": "Failed"}


def pod_template(cpu: str = "1", **spec: Json) -> Json:
    container = {"name": "c", "image": "registry.test/c:1", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"containers": [container], **spec}}


def component(api_version: str, kind: str, spec: Json, name: str = "", **more: Json) -> Json:
    """A component with a wrapped object; its name is that of the kind if none is given."""
    head = {"name": name or kind.lower()}
    return {"template": {"apiVersion": api_version, "kind": kind, "metadata": head, "spec": spec}, **more}


def wrapped_job(parallelism: int = 1, template: Json = None, name: str = "job", **more: Json) -> Json:
    spec = {"parallelism": parallelism, "template": template if template is not None else pod_template()}
    return component("batch/v1", "Job", spec, name, **more)


def wrapped_service() -> Json:
    return component("v1", "Service", {"ports": [{"port": 80}]})


def wrapped_part(*templates: Json, declared: Json = None) -> Json:
    """An object of a kind that is not known, by default with all of its pod sets declared."""
    paths = [{"path": f"template.spec.parts[{index}].pods"} for index in range(len(templates))]
    spec = {"parts": [{"pods": each} for each in templates]}
    return component("x.test/v1", "Foo", spec, podSets=paths if declared is None else declared)


def make_app_wrapper(
    *components: Json, name: str = "wrap", namespace: str = "default", status: Json = None, **spec: Json
) -> Json:
    """An AppWrapper, by default of a Service and a Job of two pods."""
    head = {"name": name, "namespace": namespace, "uid": UID, "labels": {QUEUE: "q"}}
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": head,
        "spec": {"components": list(components) or [wrapped_service(), wrapped_job(2)], **spec},
        **({"status": status} if status else {}),
    }


def with_conditions(phase: str, **conditions: bool) -> Json:
    """A status."""
    found = [
        {
            "type": name,
            "status": str(holds),
            "reason": "R",
            "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
        for name, holds in conditions.items()
    ]
    return {"phase": phase, "conditions": found}


RUNNING: Json = with_conditions("Running", QuotaReserved=True, ResourcesDeployed=True, PodsReady=True)
