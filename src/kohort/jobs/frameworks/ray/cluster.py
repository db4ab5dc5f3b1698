"""The pods of a RayCluster spec: of the head, and of each worker group (JOB-120, JOB-121).

The operator adds containers to the head that users do not write, and that need quota too.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from kohort.api.codec import JsonObject
from kohort.api.quantity import Quantity, QuantityError
from kohort.jobs.objects import annotations, value_at

HEAD: Final = "head"
AUTOSCALER: Final = "autoscaler"
FAULT_TOLERANCE_ANNOTATION: Final = "ray.io/ft-enabled"
_AUTOSCALER_AMOUNTS: Final = {"cpu": "500m", "memory": "512Mi"}
_AUTOSCALER_RESOURCES: Final = {"requests": _AUTOSCALER_AMOUNTS, "limits": _AUTOSCALER_AMOUNTS}
_REDIS_CLEANUP_REQUESTS: Final = {"cpu": "200m", "memory": "256Mi"}


def worker_groups(spec: JsonObject) -> list[JsonObject]:
    """The worker groups of a cluster."""
    return spec.get("workerGroupSpecs") or []


def group_name(group: JsonObject) -> str:
    """The name of a worker group's pod set."""
    return str(group.get("groupName") or "").lower()


def group_size(group: JsonObject) -> int:
    """The number of pods of a worker group: of each replica on all of its hosts."""
    replicas = group.get("replicas")
    return (1 if replicas is None else int(replicas)) * max(int(group.get("numOfHosts") or 1), 1)


def autoscales(spec: JsonObject) -> bool:
    """Whether the operator runs an autoscaler in the head."""
    return spec.get("enableInTreeAutoscaling") is True


def is_fault_tolerant(obj: JsonObject, spec: JsonObject) -> bool:
    """Whether the cluster keeps its state in Redis, which a Job cleans up afterwards."""
    is_annotated = annotations(obj).get(FAULT_TOLERANCE_ANNOTATION) == "true"
    return is_annotated or spec.get("gcsFaultToleranceOptions") is not None


def head_template(obj: JsonObject, spec: JsonObject) -> JsonObject:
    """The template of the head with what the operator adds (JOB-121)."""
    template = deepcopy(value_at(spec, ("headGroupSpec", "template"))) or {}
    if autoscales(spec):
        resources = value_at(spec, ("autoscalerOptions", "resources"))
        add_container(template, {"name": AUTOSCALER, "resources": deepcopy(resources or _AUTOSCALER_RESOURCES)})
    containers = value_at(template, ("spec", "containers"))
    if containers and is_fault_tolerant(obj, spec):
        _raise_requests(containers[0], _REDIS_CLEANUP_REQUESTS)
    return template


def add_container(template: JsonObject, container: JsonObject) -> None:
    """Add a container to a template, in place."""
    spec = template["spec"] = template.get("spec") or {}
    spec["containers"] = [*(spec.get("containers") or ()), container]


def _raise_requests(container: JsonObject, least: Mapping[str, str]) -> None:
    resources = container["resources"] = container.get("resources") or {}
    requests = resources["requests"] = resources.get("requests") or {}
    for name, amount in least.items():
        if name not in requests or _is_less(requests[name], amount):
            requests[name] = amount


def _is_less(amount: Any, least: str) -> bool:
    try:
        return Quantity.parse(amount) < Quantity.parse(least)
    except QuantityError:  # the Workload is rejected with the field
        return False
