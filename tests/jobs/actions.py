"""Actions of the scheduler and of users in a pass harness, and builders of jobs."""

from typing import Any

from msgspec.structs import replace

from jobs.golden_jobs import FLAVOR_F
from jobs.pass_harness import PassHarness
from kohort.api.codec import JsonObject
from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import DEFAULT_GATES, FeatureGates
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import (
    ADMITTED,
    EVICTED,
    QUOTA_RESERVED,
    condition_true,
    with_condition_set,
    with_status,
    without_condition,
)
from kohort.engine.lifecycle.eviction import EvictionCause, evict
from kohort.jobs.contract import Framework, JobKey
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.registry import registry_of

JOB = BatchJobFramework()
KEY = JobKey("ns", "etl")
OBJECT = ObjectKey("ns", "etl")
ELASTIC = {"kueue.x-k8s.io/elastic-job": "true"}


def pass_harness(
    *frameworks: Framework, configuration: Configuration | None = None, gates: FeatureGates = DEFAULT_GATES
) -> PassHarness:
    """A harness with flavor `f`, by default for batch Jobs."""
    settings = configuration or Configuration(wait_for_pods_ready=None)
    harness = PassHarness(registry_of(settings, frameworks or (JOB,)), settings, gates)
    harness.put(FLAVOR_F)
    return harness


def make_stored_job(name: str = "etl", queue: str = "q", uid: str = "uid-1", **more: Any) -> JsonObject:
    """A suspended Job; `annotations`, `labels`, `owners` and members of the spec may be given."""
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": uid,
            "generation": more.pop("generation", 1),
            "labels": {**labels, **more.pop("labels", {})},
            "annotations": more.pop("annotations", {}),
            "ownerReferences": more.pop("owners", []),
        },
        "spec": {
            "parallelism": 3,
            "suspend": True,
            "template": {"spec": {"containers": [container], **more.pop("pod", {})}},
            **more,
        },
        "status": {},
    }


def admit(harness: PassHarness, workload: Workload, flavor: str = "f") -> Workload:
    """The scheduler admits a Workload with all its pods."""
    assignments = tuple(
        PodSetAssignment(name=each.name, flavors={"cpu": flavor}, count=each.count) for each in workload.spec.pod_sets
    )
    admission = Admission(cluster_queue="cq", pod_set_assignments=assignments)
    admitted = without_condition(with_status(workload, replace(workload.status, admission=admission)), EVICTED)
    for each in (QUOTA_RESERVED, ADMITTED):
        admitted = with_condition_set(admitted, each, condition_true(each, ""), harness.now)
    harness.put_workload(admitted)
    return admitted


def preempt(harness: PassHarness, workload: Workload) -> None:
    """The scheduler preempts a Workload."""
    harness.put_workload(evict(workload, EvictionCause("Preempted", "for another"), harness.now).workload)


def newest_workload(harness: PassHarness) -> Workload:
    """The Workload that was created last."""
    return max(harness.workloads.values(), key=lambda each: (each.metadata.creation_timestamp, each.metadata.name))


async def run_until_settled(harness: PassHarness, framework: Framework = JOB, key: JobKey = KEY) -> None:
    """Run passes until one writes nothing."""
    for _ in range(20):
        seen = await harness.reconcile(framework, key)
        if not seen.writes:
            return
    raise AssertionError("the job does not settle")
