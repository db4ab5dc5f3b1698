"""Objects that do not have the shape of their kind."""

from collections.abc import Iterator

from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import AffectedObject, Check, CheckSeverity, Subject


def _unreadable(facts: ClusterFacts) -> Iterator[AffectedObject]:
    for kind, bad in facts.snapshot.unreadable:
        key = bad.identity.key
        fix = f"kubectl edit {kind.lower()} {key.name}{f' -n {key.namespace}' if key.namespace else ''}"
        yield AffectedObject(Subject(kind, key.name, key.namespace), f"can't be read: {bad.why}", fix)


CHECKS = (
    Check(
        "unreadable-object",
        CheckSeverity.ERROR,
        "an object that does not have the shape of its kind",
        "nothing here knows of it, and whatever refers to it looks as if it were missing",
        _unreadable,
        (),
    ),
)
