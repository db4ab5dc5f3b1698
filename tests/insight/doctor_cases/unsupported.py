"""What the doctor finds, and does not: requests for what is not supported."""

from insight.doctor_cases.case import ill, well
from insight.doctor_snapshots import QUEUE, admission_checks_spec, application, cluster_queue, owned_by, workload
from kit.builders.kueue import make_admission_check

UNSUPPORTED_REQUESTS = (
    ill(
        "framework-unsupported",
        "SparkApplications with a queue",
        application("b", {QUEUE: "lq"}),
        application("a", {QUEUE: "lq"}),
        about="Namespace default",
        problem="2 SparkApplications reference a queue: a, b; SparkApplication is not supported by this version of "
        "Kohort yet: no Workload",
        fix="use Kueue to manage this namespace, or remove the queue name from each SparkApplication",
    ),
    well("framework-unsupported", "a SparkApplication without a queue", application()),
    well(
        "framework-unsupported",
        "a SparkApplication that Kueue has made a Workload of",
        application("sweep", {QUEUE: "lq"}),
        workload(metadata=owned_by("SparkApplication", "sweep")),
    ),
    well(
        "framework-unsupported",
        "a SparkApplication that is part of another job",
        application("sweep", {QUEUE: "lq"}, ownerReferences=[{"kind": "TrainJob", "uid": "u", "controller": True}]),
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
