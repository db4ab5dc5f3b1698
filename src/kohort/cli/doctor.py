"""`kohort doctor`: checks a cluster for queueing problems; prints objects, consequences and fixes."""

import sys
import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby

import click

from kohort.api.codec import Json
from kohort.cli.options import (
    DATA,
    ClusterOptions,
    OutputFormat,
    cluster_options,
    data_text,
    output_option,
    running,
    running_client,
    screen,
)
from kohort.insight.doctor.model import CheckSeverity, DoctorCheck, DoctorFinding, DoctorReport
from kohort.insight.doctor.runner import CHECKS, run_checks, take_doctor_snapshot
from kohort.insight.snapshot import Snapshot
from kohort.terminal.counts import counted
from kohort.terminal.nearest import did_you_mean
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role
from kohort.terminal.tables import Column, table

FOUND = 1
MAX_SHOWN = 10
"""Findings of one check in the text output; JSON and YAML have all."""

_ROLES = {CheckSeverity.ERROR: Role.BAD, CheckSeverity.WARNING: Role.WARN, CheckSeverity.HINT: Role.ACCENT}
_FAILING = {"error": (CheckSeverity.ERROR,), "warning": (CheckSeverity.ERROR, CheckSeverity.WARNING), "never": ()}

EXAMPLES = """\b
Examples:
  kohort doctor                                        # all checks on the cluster of the current context
  kohort doctor --fail-on warning                      # for CI: exit code 1 for warnings too
  kohort doctor --only quota-above-nodes --only flavor-without-nodes
  kohort doctor --skip queue-unused -o json
  kohort doctor --list                                 # list all checks
"""


def _named(_context: click.Context, _parameter: click.Parameter, ids: tuple[str, ...]) -> frozenset[str]:
    known = {check.id for check in CHECKS}
    for each in ids:
        if each not in known:
            raise click.BadParameter(f"unknown check {each}: {did_you_mean(each, known)}")
    return frozenset(ids)


@click.command(epilog=EXAMPLES)
@cluster_options
@click.option("--only", multiple=True, callback=_named, metavar="ID", help="Run only this check; repeatable.")
@click.option("--skip", multiple=True, callback=_named, metavar="ID", help="Skip this check; repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="error",
    show_default=True,
    help="Exit with 1 for findings of this severity or above.",
)
@click.option("--list", "lists", is_flag=True, help="List all checks; needs no cluster.")
@output_option(*DATA)
def doctor(
    *,
    where: ClusterOptions,
    only: frozenset[str],
    skip: frozenset[str],
    fail_on: str,
    lists: bool,
    output: OutputFormat | None,
) -> None:
    """Check a cluster for misconfigured queues, quota without nodes and jobs that bypass queueing.

    Read-only. Resources you are not permitted to list are reported and skipped; if you may list them in one namespace
    only, the namespace of -n is checked. Exits with 1 if a finding is at or above --fail-on.
    """
    checks = [check for check in CHECKS if check.id not in skip and (not only or check.id in only)]
    if lists:
        _print(_catalogue(checks, output))
        return
    report = run_checks(running(_take(where)), checks)
    _print([data_text(_record(report), output)] if output else _lines(report, screen()))
    if any(report.count(severity) for severity in _FAILING[fail_on]):
        sys.exit(FOUND)


async def _take(where: ClusterOptions) -> Snapshot:
    access = where.access()
    async with running_client(access) as client:
        return await take_doctor_snapshot(client, access.namespace or "default")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


# Text


def _lines(report: DoctorReport, place: Screen) -> Iterator[str]:
    for check, found in groupby(report.findings, key=lambda finding: finding.check):
        yield from _group(check, list(found), place)
        yield ""
    yield from _left_out(report, place)
    yield _summary(report, place)


def _group(check: DoctorCheck, found: list[DoctorFinding], place: Screen) -> Iterator[str]:
    signs, severity = place.glyphs, f"{check.severity.value}: "
    first, *more = _wrapped(f"{check.title} ({check.id})", " " * len(severity), "  ", place, Role.TITLE)
    yield place.style.paint(severity, _ROLES[check.severity]) + first[len(severity) :]
    yield from more
    yield from _wrapped(check.consequence, "  ", "  ", place, Role.DIM)
    for each in found[:MAX_SHOWN]:
        affected = each.affected
        yield from _wrapped(f"{affected.subject}: {affected.problem}", f"  {signs.dot} ", "    ", place)
        yield from _wrapped(
            affected.fix, f"    {signs.arrow} ", "    " + " " * (len(signs.arrow) + 1), place, Role.GOOD
        )
    if len(found) > MAX_SHOWN:
        yield f"  {signs.ellipsis} and {len(found) - MAX_SHOWN} more; -o json lists all"


def _wrapped(text: str, first: str, rest: str, place: Screen, role: Role = Role.PLAIN) -> Iterator[str]:
    """The text wrapped at the width of the screen; one line if it has none."""
    plain = place.glyphs.plain(text)
    if place.width is None:
        yield first + place.style.paint(plain, role)
        return
    width = max(place.width - len(first), 20)
    for number, line in enumerate(textwrap.wrap(plain, width, break_long_words=False, break_on_hyphens=False)):
        yield (rest if number else first) + place.style.paint(line, role)


def _left_out(report: DoctorReport, place: Screen) -> Iterator[str]:
    for unseen in report.unseen:
        reach = f" (listed in namespace {unseen.seen_in} only)" if unseen.seen_in else ""
        yield from _wrapped(f"cannot list all {unseen.kind} objects{reach}: {unseen.why}", "", "  ", place, Role.DIM)
    if report.skipped:
        ids = ", ".join(check.id for check in report.skipped)
        yield from _wrapped(f"skipped checks: {ids}", "", "  ", place, Role.WARN)
        yield ""


def _summary(report: DoctorReport, place: Screen) -> str:
    completed = counted(len(report.completed), "check")
    if not report.findings:
        return f"{place.style.paint(place.glyphs.tick, Role.GOOD)} no findings ({completed})"
    counts = [_count(report, severity, place) for severity in CheckSeverity if report.count(severity)]
    return f"{', '.join(counts)} ({completed})"


def _count(report: DoctorReport, severity: CheckSeverity, place: Screen) -> str:
    return place.style.paint(counted(report.count(severity), severity.value), _ROLES[severity])


# JSON and YAML, and the list of checks


def _record(report: DoctorReport) -> Json:
    return {
        "findings": [_finding_record(each) for each in report.findings],
        "counts": {severity.value: report.count(severity) for severity in CheckSeverity},
        "checks": [check.id for check in report.completed],
        "leftOut": [check.id for check in report.skipped],
        "unseen": [{"kind": each.kind, "why": each.why, "seenIn": each.seen_in} for each in report.unseen],
    }


def _finding_record(finding: DoctorFinding) -> Json:
    check, affected = finding.check, finding.affected
    return {
        "id": check.id,
        "severity": check.severity.value,
        "kind": affected.subject.kind,
        "namespace": affected.subject.namespace,
        "name": affected.subject.name,
        "problem": affected.problem,
        "why": check.consequence,
        "fix": affected.fix,
    }


def _catalogue(checks: Iterable[DoctorCheck], output: OutputFormat | None) -> Iterable[str]:
    if output is not None:
        rows = [
            {"id": each.id, "severity": each.severity.value, "title": each.title, "why": each.consequence}
            for each in checks
        ]
        return [data_text(rows, output)]
    columns = (Column("ID"), Column("SEVERITY"), Column("FINDING", min_width=20))
    return table(columns, [(each.id, each.severity.value, each.title) for each in checks], screen())
