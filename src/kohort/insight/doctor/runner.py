"""All checks, and a cluster put to them: each check once, the worst findings first."""

from collections.abc import Iterable
from typing import Any, Final

from kohort.api.core.batch import Job
from kohort.api.core.namespaces import ResourceQuota
from kohort.api.core.nodes import Node
from kohort.api.kueue.v1beta2 import WorkloadPriorityClass
from kohort.api.unsupported import UNSUPPORTED_FRAMEWORKS
from kohort.insight.doctor import cohorts, jobs, nodes, objects, queues, quotas, unsupported, workloads
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import Check, DoctorReport, Finding
from kohort.insight.listing import served
from kohort.insight.snapshot import Snapshot, take_snapshot
from kohort.kube.client import Client

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
            *unsupported.CHECKS,
        ),
        key=lambda check: check.severity.rank,
    )
)
"""The worst first, and those about one thing together."""

_MAY_NOT: Final = 403

LOOKED_AT: Final[tuple[type[Any], ...]] = (Node, ResourceQuota, Job, WorkloadPriorityClass)
"""Kinds that checks look at besides those that decisions depend on."""


async def look_at(client: Client, home: str = "") -> Snapshot:
    """A cluster with every kind that checks look at: of unsupported frameworks, those whose API group is served."""
    foreign = await served(client, UNSUPPORTED_FRAMEWORKS.values())
    return await take_snapshot(client, (*LOOKED_AT, *foreign), home)


def run_checks(snapshot: Snapshot, checks: Iterable[Check] = CHECKS) -> DoctorReport:
    """Put a cluster to some checks; those that can't be answered from what one may see are told."""
    facts = ClusterFacts(snapshot)
    asked, left_out = [], []
    findings: list[Finding] = []
    for check in checks:
        if not _can_answer(snapshot, check):
            left_out.append(check)
            continue
        asked.append(check)
        findings += [Finding(check, sighting) for sighting in check.look(facts)]
    findings.sort(key=lambda finding: finding.check.severity.rank)
    refused = tuple(each for each in snapshot.unseen if each.code == _MAY_NOT and each.kind != "Configuration")
    return DoctorReport(tuple(findings), tuple(asked), tuple(left_out), refused)


def _can_answer(snapshot: Snapshot, check: Check) -> bool:
    """A kind that the server does not have has no objects; that is all there is to know of it."""
    parts, wholes = (
        [unseen for kind in kinds if (unseen := snapshot.found[kind].unseen) and unseen.code == _MAY_NOT]
        for kinds in (check.needs, check.whole)
    )
    return all(each.seen_in for each in parts) and not wholes
