"""SparkApplications."""

from typing import Any

Json = Any

UID = "0a1b2c3d-0000-4000-8000-00000000000a"
QUEUE = "kueue.x-k8s.io/queue-name"


def role(core_request: str = "1", **fields: Json) -> Json:
    """The fields of a driver or of executors."""
    return {"coreRequest": core_request, "memory": "1g", **fields}


def make_application(
    name: str = "pi",
    namespace: str = "default",
    driver: Json = None,
    executor: Json = None,
    annotations: Json = None,
    status: Json = None,
    **spec: Json,
) -> Json:
    """A SparkApplication, by default of a driver and two executors."""
    head = {"name": name, "namespace": namespace, "uid": UID, "labels": {QUEUE: "q"}}
    roles = {
        "driver": driver if driver is not None else role(),
        "executor": executor if executor is not None else role(instances=2),
    }
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {**head, **({"annotations": annotations} if annotations else {})},
        "spec": {"type": "Scala", "sparkVersion": "4.0.0", "mode": "cluster", **roles, **spec},
        **({"status": status} if status else {}),
    }


def in_state(state: str, message: str = "", **executors: str) -> Json:
    """A status."""
    return {"applicationState": {"state": state, "errorMessage": message}, "executorState": executors}
