"""All checks, and a cluster put to them: each check once, the worst findings first."""

from collections.abc import Collection, Iterable
from typing import Any, Final

from kohort.api.core.batch import Job
from kohort.api.core.namespaces import ResourceQuota
from kohort.api.core.nodes import Node
from kohort.api.kueue.v1beta2 import WorkloadPriorityClass
from kohort.insight.doctor import cohorts, jobs, nodes, objects, queues, quotas, workloads
from kohort.insight.doctor.facts import Facts
from kohort.insight.doctor.model import Check, Finding, Report
from kohort.insight.snapshot import Snapshot

CHECKS: Final[tuple[Check, ...]] = tuple(
    sorted(
        (
            *queues.CHECKS,
            *nodes.CHECKS,
            *quotas.CHECKS,
            *cohorts.CHECKS,
            *jobs.CHECKS,
            *workloads.CHECKS,
            *objects.CHECKS,
        ),
        key=lambda check: check.severity.rank,
    )
)
"""The worst first, and those about one thing together."""

LOOKED_AT: Final[tuple[type[Any], ...]] = (Node, ResourceQuota, Job, WorkloadPriorityClass)
"""Kinds that checks look at besides those that decisions depend on."""


def examine(snapshot: Snapshot, checks: Iterable[Check] = CHECKS) -> Report:
    """Put a cluster to some checks; those that can't be answered from what one may see are told."""
    facts = Facts(snapshot)
    asked, left_out = [], []
    findings: list[Finding] = []
    for check in checks:
        if not _can_answer(snapshot, check):
            left_out.append(check)
            continue
        asked.append(check)
        findings += [Finding(check, sighting) for sighting in check.look(facts)]
    findings.sort(key=lambda finding: finding.check.severity.rank)
    unseen = tuple(each for each in snapshot.unseen if each.kind != "Configuration")
    return Report(tuple(findings), tuple(asked), tuple(left_out), unseen)


def _can_answer(snapshot: Snapshot, check: Check) -> bool:
    return _sees_something(snapshot, check.needs) and all(snapshot.sees(kind) for kind in check.whole)


def _sees_something(snapshot: Snapshot, kinds: Collection[type[Any]]) -> bool:
    unseen = (snapshot.found[kind].unseen for kind in kinds)
    return all(each is None or each.seen_in for each in unseen)
