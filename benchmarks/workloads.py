"""Sample objects of a realistic size, made here so that a run needs nothing but the code."""

import json
from typing import Any

CONDITIONS = ("QuotaReserved", "Admitted", "PodsReady")


def _pod_set(name: str, count: int) -> dict[str, Any]:
    container = {
        "name": "trainer",
        "image": "registry.example/train:2.4.1",
        "command": ["python", "-m", "train"],
        "args": ["--epochs", "90", "--data", "/data/imagenet", "--checkpoint", "/ckpt"],
        "env": [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(3)],
        "resources": {
            "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
            "limits": {"memory": "64Gi", "nvidia.com/gpu": "1"},
        },
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "ckpt", "mountPath": "/ckpt"}],
    }
    return {
        "name": name,
        "count": count,
        "template": {
            "metadata": {"labels": {"app": "train", "role": name}},
            "spec": {
                "containers": [container],
                "restartPolicy": "Never",
                "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            },
        },
    }


def workload(number: int) -> dict[str, Any]:
    """A reserved and admitted Workload of about 3 KB of JSON."""
    name = f"job-train-{number:05d}-3f2a1"
    time = "2026-01-31T12:00:00Z"
    usage = {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8"}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": "team-research",
            "uid": f"0f6b2f0e-6a51-4f0e-9d5c-{number:012d}",
            "resourceVersion": str(100_000 + number),
            "generation": 2,
            "creationTimestamp": time,
            "labels": {"kueue.x-k8s.io/job-uid": f"7d1c7f9a-0a55-4a1e-8f1d-{number:012d}"},
            "finalizers": ["kueue.x-k8s.io/resource-in-use"],
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "7d1c7f9a", "controller": True}
            ],
        },
        "spec": {
            "active": True,
            "queueName": "research",
            "priority": 100,
            "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
            "podSets": [_pod_set("driver", 1), _pod_set("worker", 8)],
        },
        "status": {
            "conditions": [
                {
                    "type": condition,
                    "status": "True",
                    "reason": condition,
                    "message": "Quota reserved in ClusterQueue team-research, wait time since queued was 12s",
                    "lastTransitionTime": time,
                    "observedGeneration": 2,
                }
                for condition in CONDITIONS
            ],
            "admission": {
                "clusterQueue": "team-research",
                "podSetAssignments": [
                    {
                        "name": pod_set,
                        "flavors": dict.fromkeys(usage, "gpu-a100"),
                        "resourceUsage": usage,
                        "count": 8,
                    }
                    for pod_set in ("driver", "worker")
                ],
            },
        },
    }


def workload_bytes(number: int = 1) -> bytes:
    return json.dumps(workload(number), separators=(",", ":")).encode()


def workload_list_bytes(count: int) -> bytes:
    items = [workload(number) for number in range(count)]
    body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadList", "metadata": {}, "items": items}
    return json.dumps(body, separators=(",", ":")).encode()
