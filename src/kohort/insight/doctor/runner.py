"""Runs the checks on a snapshot."""

from collections.abc import Iterable
from typing import Any, Final

from kohort.api.core.batch import Job
from kohort.api.core.namespaces import ResourceQuota
from kohort.api.core.nodes import Node
from kohort.api.kueue.v1beta2 import WorkloadPriorityClass
from kohort.insight.doctor import cohorts, jobs, nodes, objects, queues, quotas, topologies, unsupported, workloads
from kohort.insight.doctor.cluster_facts import ClusterFacts
from kohort.insight.doctor.model import DoctorCheck, DoctorFinding, DoctorReport
from kohort.insight.snapshot import Snapshot, take_snapshot
from kohort.kube.client import Client

CHECKS: Final[tuple[DoctorCheck, ...]] = tuple(
    sorted(
        (
            *queues.CHECKS,
            *nodes.CHECKS,
            *topologies.CHECKS,
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
"""All checks, worst first, then by subject."""

_FORBIDDEN: Final = 403

EXTRA_KINDS: Final[tuple[type[Any], ...]] = (Node, ResourceQuota, Job, WorkloadPriorityClass)
"""Kinds of checks besides those that decisions depend on."""


async def take_doctor_snapshot(client: Client, home: str = "") -> Snapshot:
    """A snapshot with the kinds of all checks."""
    return await take_snapshot(client, EXTRA_KINDS, home)


def run_checks(snapshot: Snapshot, checks: Iterable[DoctorCheck] = CHECKS) -> DoctorReport:
    """Run checks on a snapshot; checks without sufficient permissions are skipped and reported."""
    facts = ClusterFacts(snapshot)
    completed, skipped = [], []
    findings: list[DoctorFinding] = []
    for check in checks:
        if not _can_run(snapshot, check):
            skipped.append(check)
            continue
        completed.append(check)
        findings += [DoctorFinding(check, affected) for affected in check.run(facts)]
    findings.sort(key=lambda finding: finding.check.severity.rank)
    forbidden = tuple(each for each in snapshot.unseen if each.code == _FORBIDDEN and each.kind != "Configuration")
    return DoctorReport(tuple(findings), tuple(completed), tuple(skipped), forbidden)


def _can_run(snapshot: Snapshot, check: DoctorCheck) -> bool:
    """Whether the kinds of a check could be listed; kinds that are not served have no objects."""
    parts, wholes = (
        [unseen for kind in kinds if (unseen := snapshot.found[kind].unseen) and unseen.code == _FORBIDDEN]
        for kinds in (check.needs, check.whole)
    )
    return all(each.seen_in for each in parts) and not wholes
