"""Builders of Jobs."""

from typing import Any

from kit.builders.core import Object, make_container, make_object

QUEUE_NAME = "kueue.x-k8s.io/queue-name"


def make_job(name: str = "etl", queue: str = "q", cpu: str = "1", **spec: Any) -> Object:
    """A Job of one pod as the webhook leaves it: suspended; keyword arguments are further fields of the spec."""
    template = {"spec": {"restartPolicy": "Never", "containers": [make_container({"cpu": cpu})]}}
    spec = {"parallelism": 1, "completions": 1, "suspend": True, "template": template, **spec}
    return make_object("batch/v1", "Job", name, "default", {QUEUE_NAME: queue} if queue else {}, spec=spec)
