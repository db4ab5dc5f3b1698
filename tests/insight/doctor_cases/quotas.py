"""What the doctor finds, and does not: quotas that contradict each other."""

from insight.doctor_cases.case import ill, well
from insight.doctor_snapshots import GPU, cluster_queue, quota, resource_quota
from kit.builders.kueue import make_local_queue

QUOTAS = (
    ill(
        "resource-quota-below-queue",
        "a namespace may have less than its queue",
        cluster_queue("cq", quota(16, GPU)),
        make_local_queue(),
        resource_quota(f"requests.{GPU}", "8"),
        about="ResourceQuota default/rq",
        problem="limits requests to 8 nvidia.com/gpu, but the queues of the namespace have 16 of nominalQuota in cq",
        fix="kubectl edit resourcequota rq -n default",
    ),
    ill(
        "resource-quota-below-queue",
        "the short name counts too, and two ways to one queue count once",
        cluster_queue("cq", quota(16)),
        make_local_queue("a"),
        make_local_queue("b"),
        resource_quota("cpu", "15"),
        about="ResourceQuota default/rq",
        problem="limits requests to 15 cpu, but the queues of the namespace have 16 of nominalQuota in cq",
        fix="remove cpu from spec.hard, or raise it: kubectl edit resourcequota rq -n default",
    ),
    well(
        "resource-quota-below-queue",
        "as much as the queue",
        cluster_queue(),
        make_local_queue(),
        resource_quota("cpu", "8"),
    ),
    well(
        "resource-quota-below-queue",
        "another namespace",
        cluster_queue(),
        make_local_queue(),
        resource_quota("cpu", "1", "x"),
    ),
    well(
        "resource-quota-below-queue",
        "only for some pods",
        cluster_queue(),
        make_local_queue(),
        resource_quota("cpu", "1", scopes=["BestEffort"]),
    ),
    ill(
        "resource-quota-below-borrowing",
        "enough for what is its own, not for what it may borrow",
        cluster_queue(cohortName="c"),
        cluster_queue("other", cohortName="c"),
        make_local_queue(),
        resource_quota("cpu", "10"),
        about="ResourceQuota default/rq",
        problem="limits requests to 10 cpu, but the queues of the namespace have up to 16, borrowing included, in cq",
        fix="remove cpu from spec.hard, or raise it: kubectl edit resourcequota rq -n default",
    ),
    well(
        "resource-quota-below-borrowing",
        "a limit on borrowing that is lower",
        cluster_queue("cq", quota(8, borrowingLimit=2), cohortName="c"),
        cluster_queue("other", cohortName="c"),
        make_local_queue(),
        resource_quota("cpu", "10"),
    ),
)
