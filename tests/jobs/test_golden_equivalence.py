"""Which edits of a Job end its Workload, as the real Kueue saw it (JOB-32, JOB-65)."""

from typing import Any

import pytest

from jobs.golden_jobs import harness_of
from jobs.pass_harness import PassHarness
from jobs.test_golden_job_flows import admit
from kit.golden.recordings import job_recording
from kohort.api.meta import ObjectKey
from kohort.jobs.contract import JobKey
from kohort.jobs.frameworks.job import BatchJobFramework

Json = Any
JOB = BatchJobFramework()
KEY = JobKey("ns", "etl")
OBJECT_KEY = ObjectKey("ns", "etl")
ADMISSION = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}, "count": 3}]}

ETL: Json = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "etl",
        "namespace": "ns",
        "uid": "0a1b2c3d-0000-4000-8000-000000000001",
        "labels": {"kueue.x-k8s.io/queue-name": "q"},
    },
    "spec": {
        "parallelism": 3,
        "completions": 9,
        "suspend": True,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {"name": "c", "image": "registry.test/c:1", "resources": {"requests": {"cpu": "1"}}},
                ],
            }
        },
    },
}


async def staged(workload: str) -> PassHarness:
    harness = harness_of({"featureGates": {"TopologyAwareScheduling": False}}, JOB)
    harness.put(ETL)
    await harness.reconcile(JOB, KEY)
    if workload == "admitted":
        admit(harness, {"workload": "job-etl-4af5e", "admission": ADMISSION})
        await harness.reconcile(JOB, KEY)
    return harness


@pytest.mark.parametrize("case", job_recording("equivalence"), ids=lambda case: f"{case['edit']}, {case['workload']}")
async def test_an_edit_ends_the_workload_where_it_does_in_kueue(case: Json) -> None:
    harness = await staged(case["workload"])
    before = dict(harness.workloads)
    harness.patch("Job", OBJECT_KEY, case["patch"])
    seen = await harness.reconcile(JOB, KEY)
    assert [(reason, message) for _, reason, message, _ in seen.events] == [
        (each["reason"], each["message"]) for each in case["events"]
    ]
    assert seen.error == case["error"]
    if case["matches"]:
        assert harness.workloads.keys() == before.keys()
