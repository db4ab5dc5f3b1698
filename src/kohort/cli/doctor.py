"""`kohort doctor`: what silently goes wrong on a cluster with queues: the object, why it hurts, and the fix."""

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
from kohort.insight.doctor.model import Check, CheckSeverity, DoctorReport, Finding
from kohort.insight.doctor.runner import CHECKS, look_at, run_checks
from kohort.insight.doctor.text import counted
from kohort.insight.snapshot import Snapshot
from kohort.terminal.nearest import did_you_mean
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role
from kohort.terminal.tables import Column, table

FOUND = 1
MOST_SHOWN = 10
"""Findings of one check that are shown to people; machines get all."""

_ROLES = {CheckSeverity.ERROR: Role.BAD, CheckSeverity.WARNING: Role.WARN, CheckSeverity.HINT: Role.ACCENT}
_FAILING = {"error": (CheckSeverity.ERROR,), "warning": (CheckSeverity.ERROR, CheckSeverity.WARNING), "never": ()}

EXAMPLES = """\b
Examples:
  kohort doctor                                        # everything, on the cluster of the current context
  kohort doctor --fail-on warning                      # for CI: exit code 1 for warnings too
  kohort doctor --only quota-above-nodes --only flavor-without-nodes
  kohort doctor --skip queue-unused -o json
  kohort doctor --list                                 # what is looked for
"""


def _named(_context: click.Context, _parameter: click.Parameter, ids: tuple[str, ...]) -> frozenset[str]:
    known = {check.id for check in CHECKS}
    for each in ids:
        if each not in known:
            raise click.BadParameter(f"there is no check {each}: {did_you_mean(each, known)}")
    return frozenset(ids)


@click.command(epilog=EXAMPLES)
@cluster_options
@click.option("--only", multiple=True, callback=_named, metavar="ID", help="Look for this only; repeatable.")
@click.option("--skip", multiple=True, callback=_named, metavar="ID", help="Do not look for this; repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="error",
    show_default=True,
    help="From what on the exit code is 1.",
)
@click.option("--list", "lists", is_flag=True, help="List all that can be looked for; asks no cluster.")
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
    """Look for what silently goes wrong: queues that lead nowhere, quota without nodes, jobs that bypass the queue.

    Reads the cluster once and writes nothing. What your rights do not reach is told and left out; of kinds that you may
    see in one namespace only, that of -n is looked at. Exits with 1 when something was found that --fail-on names.
    """
    checks = [check for check in CHECKS if check.id not in skip and (not only or check.id in only)]
    if lists:
        _print(_catalogue(checks, output))
        return
    report = run_checks(running(_look(where)), checks)
    _print([data_text(_record(report), output)] if output else _lines(report, screen()))
    if any(report.count(severity) for severity in _FAILING[fail_on]):
        sys.exit(FOUND)


async def _look(where: ClusterOptions) -> Snapshot:
    access = where.access()
    async with running_client(access) as client:
        return await look_at(client, access.namespace or "default")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


# For people


def _lines(report: DoctorReport, place: Screen) -> Iterator[str]:
    for check, found in groupby(report.findings, key=lambda finding: finding.check):
        yield from _group(check, list(found), place)
        yield ""
    yield from _left_out(report, place)
    yield _summary(report, place)


def _group(check: Check, found: list[Finding], place: Screen) -> Iterator[str]:
    signs, severity = place.glyphs, f"{check.severity.value}: "
    first, *more = _wrapped(f"{check.title} ({check.id})", " " * len(severity), "  ", place, Role.TITLE)
    yield place.style.paint(severity, _ROLES[check.severity]) + first[len(severity) :]
    yield from more
    yield from _wrapped(check.hurts, "  ", "  ", place, Role.DIM)
    for each in found[:MOST_SHOWN]:
        sighting = each.sighting
        yield from _wrapped(f"{sighting.subject}: {sighting.problem}", f"  {signs.dot} ", "    ", place)
        yield from _wrapped(
            sighting.fix, f"    {signs.arrow} ", "    " + " " * (len(signs.arrow) + 1), place, Role.GOOD
        )
    if len(found) > MOST_SHOWN:
        yield f"  {signs.ellipsis} and {len(found) - MOST_SHOWN} more; -o json lists all"


def _wrapped(text: str, first: str, rest: str, place: Screen, role: Role = Role.PLAIN) -> Iterator[str]:
    """Whole words in the width of the screen; one line where it has none."""
    plain = place.glyphs.plain(text)
    if place.width is None:
        yield first + place.style.paint(plain, role)
        return
    room = max(place.width - len(first), 20)
    for number, line in enumerate(textwrap.wrap(plain, room, break_long_words=False, break_on_hyphens=False)):
        yield (rest if number else first) + place.style.paint(line, role)


def _left_out(report: DoctorReport, place: Screen) -> Iterator[str]:
    for unseen in report.unseen:
        reach = f"only in namespace {unseen.seen_in}" if unseen.seen_in else "not at all"
        yield from _wrapped(f"you may not see every {unseen.kind}, {reach}: {unseen.why}", "", "  ", place, Role.DIM)
    if report.left_out:
        ids = ", ".join(check.id for check in report.left_out)
        yield from _wrapped(f"left out for that: {ids}", "", "  ", place, Role.WARN)
        yield ""


def _summary(report: DoctorReport, place: Screen) -> str:
    asked = counted(len(report.asked), "check")
    if not report.findings:
        return f"{place.style.paint(place.glyphs.tick, Role.GOOD)} nothing found by {asked}"
    counts = [_count(report, severity, place) for severity in CheckSeverity if report.count(severity)]
    return f"{', '.join(counts)}, found by {asked}"


def _count(report: DoctorReport, severity: CheckSeverity, place: Screen) -> str:
    return place.style.paint(counted(report.count(severity), severity.value), _ROLES[severity])


# For machines, and the list of checks


def _record(report: DoctorReport) -> Json:
    return {
        "findings": [_finding_record(each) for each in report.findings],
        "counts": {severity.value: report.count(severity) for severity in CheckSeverity},
        "checks": [check.id for check in report.asked],
        "leftOut": [check.id for check in report.left_out],
        "unseen": [{"kind": each.kind, "why": each.why, "seenIn": each.seen_in} for each in report.unseen],
    }


def _finding_record(finding: Finding) -> Json:
    check, sighting = finding.check, finding.sighting
    return {
        "id": check.id,
        "severity": check.severity.value,
        "kind": sighting.subject.kind,
        "namespace": sighting.subject.namespace,
        "name": sighting.subject.name,
        "problem": sighting.problem,
        "why": check.hurts,
        "fix": sighting.fix,
    }


def _catalogue(checks: Iterable[Check], output: OutputFormat | None) -> Iterable[str]:
    if output is not None:
        rows = [
            {"id": each.id, "severity": each.severity.value, "title": each.title, "why": each.hurts} for each in checks
        ]
        return [data_text(rows, output)]
    columns = (Column("ID"), Column("SEVERITY"), Column("WHAT IT FINDS", min_width=20))
    return table(columns, [(each.id, each.severity.value, each.title) for each in checks], screen())
