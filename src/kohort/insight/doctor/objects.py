"""Objects that do not have the shape of their kind."""

from collections.abc import Iterator

from kohort.insight.doctor.facts import Facts
from kohort.insight.doctor.model import Check, Severity, Sighting, Subject


def _unreadable(facts: Facts) -> Iterator[Sighting]:
    for kind, bad in facts.snapshot.unreadable:
        key = bad.identity.key
        fix = f"kubectl edit {kind.lower()} {key.name}{f' -n {key.namespace}' if key.namespace else ''}"
        yield Sighting(Subject(kind, key.name, key.namespace), f"can't be read: {bad.why}", fix)


CHECKS = (
    Check(
        "unreadable-object",
        Severity.ERROR,
        "an object that does not have the shape of its kind",
        "nothing here knows of it, and whatever refers to it looks as if it were missing",
        _unreadable,
        (),
    ),
)
