"""Builders of Jobs."""

from typing import Any

QUEUE_NAME = "kueue.x-k8s.io/queue-name"

Object = dict[str, Any]


def make_job(name: str = "etl", queue: str = "q", cpu: str = "1", **spec: Any) -> Object:
    """A Job of one pod as the webhook leaves it: suspended; keyword arguments are further fields of the spec."""
    labels = {QUEUE_NAME: queue} if queue else {}
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
            **spec,
        },
    }
