"""What the doctor finds, and does not: requests for what is not supported."""

from insight.doctor_cases.case import ill
from insight.doctor_snapshots import admission_checks_spec, cluster_queue
from kit.builders.kueue import make_admission_check

UNSUPPORTED_REQUESTS = (
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
