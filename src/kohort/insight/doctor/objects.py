"""Checks for objects that cannot be decoded."""

from collections.abc import Iterator

from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, CheckSeverity, DoctorCheck, Subject


def _unreadable(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for kind, bad in facts.snapshot.unreadable:
        key = bad.identity.key
        fix = f"kubectl edit {kind.lower()} {key.name}{f' -n {key.namespace}' if key.namespace else ''}"
        yield AffectedObject(Subject(kind, key.name, key.namespace), f"cannot be decoded: {bad.why}", fix)


CHECKS = (
    DoctorCheck(
        "unreadable-object",
        CheckSeverity.ERROR,
        "object does not match its schema",
        "it is ignored, and references to it count as missing",
        _unreadable,
        (),
    ),
)
