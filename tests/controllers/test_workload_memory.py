"""What a queued job costs in the manager's memory, also where its author fills it with what no decision needs."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from kit.memory import retained_memory
from kohort.api.codec import decode
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kueue.v1beta2 import Workload
from kohort.controllers.workloads.interning import StructInterner
from kohort.engine.engine import Engine
from kohort.engine.events import ObjectUpserted
from kohort.engine.settings import EngineSettings
from kohort.jobs.assume_cache import CachedResource
from kohort.jobs.frameworks.job import BatchJobFramework

Json = Any
JOBS = 8
SIZE = 240_000
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def template(number: int, annotations: Json, **spec: Json) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    metadata = {"annotations": {"number": str(number), **annotations}}
    return {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": [container], **spec}}


def job(name: str, pods: Json) -> bytes:
    whole = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": pods}}
    applied = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(whole)}
    fields = [{"manager": "kubectl", "fieldsV1": {f"f:{key}": {} for key in pods["metadata"]["annotations"]}}]
    metadata = {"name": name, "namespace": "team", "uid": name, "annotations": applied, "managedFields": fields}
    return json.dumps({**whole, "metadata": metadata}).encode()


def workload(name: str, pods: Json) -> bytes:
    metadata = {"name": name, "namespace": "team", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    spec = {"queueName": "q", "podSets": [{"name": "main", "count": 1, "template": pods}]}
    found = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": metadata, "spec": spec}
    return json.dumps(found).encode()


class LeaderCaches:
    """All that keeps jobs and Workloads in memory for long."""

    def __init__(self) -> None:
        self.engine = Engine(EngineSettings(gates=DEFAULT_GATES))
        self.sharing = StructInterner()
        self.jobs: list[Any] = []
        self.workloads: list[Workload] = []

    def see(self, number: int, pods: Json) -> None:
        self.jobs.append(CachedResource(BatchJobFramework().resource).read(job(f"j{number}", pods)))
        found = decode(workload(f"w{number}", pods), Workload)
        self.sharing.share(found)
        self.workloads.append(found)
        self.engine.apply(ObjectUpserted(found), NOW)


def cost(number_of_templates: int, annotations: Json, **spec: Json) -> int:
    """Bytes per job, of jobs with so many different templates."""
    leader = LeaderCaches()
    leader.see(JOBS, template(JOBS, {}))
    with retained_memory() as size:
        for number in range(JOBS):
            leader.see(number, template(number % number_of_templates, annotations, **spec))
        return size() // JOBS


ONE = {"a": "x" * SIZE}
MANY = {f"key-{number}": "x" * 10 for number in range(SIZE // 20)}


@pytest.mark.parametrize("annotations", [ONE, MANY], ids=["one annotation", "many annotations"])
def test_annotations_of_others_are_kept_with_the_job_and_its_workload_only(annotations: Json) -> None:
    """Once with the job and once with its Workload: both are needed to restore the template; 2.4 MiB before."""
    size = len(json.dumps(annotations))
    assert cost(JOBS, annotations) < 2.6 * size + 20_000


def test_equal_templates_of_workloads_are_kept_once() -> None:
    assert cost(1, ONE) < SIZE * 1.8 + 20_000


def test_what_placement_depends_on_is_kept_a_bounded_number_of_times() -> None:
    tolerations = [{"key": f"key-{number:06}", "operator": "Exists"} for number in range(SIZE // 40)]
    assert cost(JOBS, {}, tolerations=tolerations) < 12 * SIZE
