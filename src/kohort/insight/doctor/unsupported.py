"""Settings that request what this version of Kohort does not support."""

from collections.abc import Iterator

from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject
from kohort.insight.manager_settings import NAME, NAMESPACE


def _ineffective(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for notice in facts.snapshot.rules.unsupported:
        remedy = f"remove {notice.path.text}, or use Kueue to manage the cluster"
        yield AffectedObject(Subject("ConfigMap", NAME, NAMESPACE), str(notice), remedy)


CHECKS = (
    DoctorCheck(
        "feature-unsupported",
        CheckSeverity.WARNING,
        "settings of unsupported features",
        "they are accepted for compatibility with Kueue, but have no effect",
        _ineffective,
        (),
    ),
)
