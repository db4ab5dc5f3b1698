"""What the doctor finds, and does not: Workloads that are stuck."""

from insight.doctor_cases.case import ill, well
from insight.doctor_snapshots import (
    ago,
    condition,
    job,
    owned_by,
    running,
    workload,
)

WORKLOADS = (
    ill(
        "workload-inactive",
        "deactivated three days ago",
        workload("a", active=False),
        about="LocalQueue default/lq",
        problem="1 workload is inactive for more than 1d (longest: 3d): a",
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
        problem="1 workload is waiting for ready with reserved quota for more than 1h: w",
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
        problem="admitted 2h ago, has no pods",
        fix="kubectl get events -n default: FailedCreate indicates a ResourceQuota",
    ),
    ill(
        "admitted-not-running",
        "pods that find no node",
        running(metadata=owned_by("Job", "j")),
        job(status={"active": 3}),
        about="Job default/j",
        problem="admitted 2h ago, has 3 pods, none ready",
        fix="FailedScheduling",
    ),
    well(
        "admitted-not-running", "it runs", running(metadata=owned_by("Job", "j")), job(status={"active": 3, "ready": 1})
    ),
    well("admitted-not-running", "just admitted", running(since=ago(minutes=1), metadata=owned_by("Job", "j")), job()),
)
