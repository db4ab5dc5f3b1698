"""What the doctor finds, and does not: requests for what is not supported."""

from insight.clinic import (
    QUEUE,
    admission_check,
    checked_by,
    cluster_queue,
    condition,
    flavor,
    job_set,
    owned_by,
    running,
    topology,
    workload,
)
from insight.doctor_cases.case import ill, well

_HELD = (
    "pod set main requires a topology: topology-aware scheduling is not supported by this version of Kohort yet: "
    "its Workload is held, because this topology is required"
)
_PLACED = {
    "name": "main",
    "count": 1,
    "topologyAssignment": {
        "levels": ["kubernetes.io/hostname"],
        "slices": [{"domainCount": 1, "podCounts": {"universal": 1}, "valuesPerLevel": [{"universal": "n"}]}],
    },
}

UNSUPPORTED_REQUESTS = (
    ill(
        "framework-unsupported",
        "JobSets with a queue",
        job_set("b", {QUEUE: "lq"}),
        job_set("a", {QUEUE: "lq"}),
        about="Namespace default",
        problem="2 JobSets reference a queue: a, b; JobSet is not supported by this version of Kohort yet: no Workload",
        fix="use Kueue to manage this namespace, or remove the queue name from each JobSet",
    ),
    well("framework-unsupported", "a JobSet without a queue", job_set()),
    well(
        "framework-unsupported",
        "a JobSet that Kueue has made a Workload of",
        job_set("sweep", {QUEUE: "lq"}),
        workload(metadata=owned_by("JobSet", "sweep")),
    ),
    well(
        "framework-unsupported",
        "a JobSet that is part of another job",
        job_set("sweep", {QUEUE: "lq"}, ownerReferences=[{"kind": "TrainJob", "uid": "u", "controller": True}]),
    ),
    ill(
        "topology-held",
        "a workload that requires a rack",
        workload("w", "lq", 1, condition("QuotaReserved", "False", message=_HELD), topology={"required": "rack"}),
        about="LocalQueue default/lq",
        problem="1 workload requires a topology: w",
        fix="podset-preferred-topology",
    ),
    well(
        "topology-held",
        "a workload that waits for quota, under Kueue",
        workload("w", "lq", 1, condition("QuotaReserved", "False", message="no quota"), topology={"required": "rack"}),
    ),
    ill(
        "topology-ignored",
        "an admitted workload that prefers a rack",
        running(topology={"preferred": "rack"}),
        about="LocalQueue default/lq",
        problem="1 admitted workload requests a topology: w",
        fix="remove the topology annotation from the pod templates, or use Kueue to manage the queue",
    ),
    well(
        "topology-ignored", "an indexed job, which only names its index label", running(topology={"podIndexLabel": "i"})
    ),
    well(
        "topology-ignored",
        "a workload that Kueue has placed",
        {
            **(placed := running(topology={"preferred": "rack"})),
            "status": {
                **placed["status"],
                "admission": {"clusterQueue": "cq", "podSetAssignments": [_PLACED]},
            },
        },
    ),
    ill(
        "feature-unsupported",
        "a flavor with a topology",
        flavor(labels={"a": "b"}, topologyName="t"),
        about="ResourceFlavor f",
        problem="spec.topologyName: topology-aware scheduling is not supported by this version of Kohort yet",
        fix="remove spec.topologyName, or use Kueue to manage the cluster",
    ),
    ill(
        "feature-unsupported",
        "a topology",
        topology("t"),
        about="Topology t",
        problem="topology-aware scheduling is not supported by this version of Kohort yet",
        fix="delete it, or use Kueue to manage the cluster",
    ),
    well("feature-unsupported", "a flavor without a topology", flavor()),
    ill(
        "check-without-controller",
        "a check of MultiKueue",
        admission_check("far", controller="kueue.x-k8s.io/multikueue"),
        cluster_queue(admissionChecksStrategy=checked_by("far")),
        about="AdmissionCheck far",
        problem="MultiKueue is not supported by this version of Kohort yet; 1 ClusterQueue is inactive because of it",
        fix="remove the check from spec.admissionChecksStrategy of the queues, or use Kueue to manage them",
    ),
)
