"""What can be read off the workloads of a queue besides the figures of its status."""

from collections.abc import Iterable

from kohort.engine.figures import figures_of
from kohort.engine.records import Workload


def has_unseen(workloads: Iterable[Workload]) -> bool:
    """Whether an admission was counted that no watch has shown: its write may fail, and nothing would tell of that."""
    return any(each.has_quota and (each.object is None or each.object.status.admission is None) for each in workloads)


def used_by(workloads: Iterable[Workload]) -> dict[str, int]:
    """What the admitted ones use of each resource, over all flavors (SCH-803)."""
    totals: dict[str, int] = {}
    for fr, amount in figures_of(each for each in workloads if each.has_quota).usage.items():
        totals[fr.resource] = totals.get(fr.resource, 0) + amount
    return totals
