"""What the doctor finds, and does not: requests for what is not supported."""

from insight.doctor_cases.case import ill, well
from insight.doctor_snapshots import QUEUE, admission_checks_spec, cluster_queue, job_set, owned_by, workload
from kit.builders.kueue import make_admission_check

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
        "check-without-controller",
        "a check of MultiKueue",
        make_admission_check("far", controller="kueue.x-k8s.io/multikueue"),
        cluster_queue(admissionChecksStrategy=admission_checks_spec("far")),
        about="AdmissionCheck far",
        problem="MultiKueue is not supported by this version of Kohort yet; 1 ClusterQueue is inactive because of it",
        fix="remove the check from spec.admissionChecksStrategy of the queues, or use Kueue to manage them",
    ),
)
