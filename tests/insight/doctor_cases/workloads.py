"""What the doctor finds, and does not: Workloads that are stuck."""

from insight.clinic import (
    ago,
    condition,
    job,
    owned_by,
    running,
    workload,
)
from insight.doctor_cases.case import ill, well

WORKLOADS = (
    ill(
        "workload-inactive",
        "put to rest three days ago",
        workload("a", active=False),
        about="LocalQueue default/lq",
        problem="1 workload is inactive for more than 1d, the longest for 3d: a",
        fix="""kubectl patch workload a -n default --type merge -p '{"spec":{"active":true}}'""",
    ),
    well(
        "workload-inactive",
        "an hour ago",
        workload("w", "lq", 1, condition("Evicted", since=ago(hours=1)), active=False),
    ),
    well("workload-inactive", "over", workload("w", "lq", 1, condition("Finished"), active=False)),
    ill(
        "check-stuck",
        "two hours without an answer",
        workload(
            "w",
            "lq",
            1,
            condition("QuotaReserved"),
            status={
                "admissionChecks": [
                    {"name": "ready", "state": "Pending", "message": "", "lastTransitionTime": ago(hours=2)}
                ]
            },
        ),
        about="LocalQueue default/lq",
        problem="1 workload is holding quota and waiting for ready for more than 1h: w",
        fix="kubectl describe workload w -n default",
    ),
    well("check-stuck", "admitted", running()),
    well("check-stuck", "for a minute", workload("w", "lq", 1, condition("QuotaReserved", since=ago(minutes=1)))),
    ill(
        "admitted-not-running",
        "no pod was ever made",
        running(metadata=owned_by("Job", "j")),
        job(),
        about="Job default/j",
        problem="was admitted 2h ago, holds its quota, and has no pods at all",
        fix="look for FailedCreate",
    ),
    ill(
        "admitted-not-running",
        "pods that find no node",
        running(metadata=owned_by("Job", "j")),
        job(status={"active": 3}),
        about="Job default/j",
        problem="was admitted 2h ago, holds its quota, and has 3 pods, none of them ready",
        fix="FailedScheduling",
    ),
    well(
        "admitted-not-running", "it runs", running(metadata=owned_by("Job", "j")), job(status={"active": 3, "ready": 1})
    ),
    well("admitted-not-running", "just admitted", running(since=ago(minutes=1), metadata=owned_by("Job", "j")), job()),
)
