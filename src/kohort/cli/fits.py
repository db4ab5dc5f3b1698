"""`kohort fits`: whether jobs would be admitted now; if not, what is missing and what would admit them."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click

from kohort.api.codec import Json
from kohort.api.documents import Document, discover, load
from kohort.api.errors import ApiError
from kohort.api.gates import DEFAULT_GATES
from kohort.api.manifests.checking import Checker
from kohort.api.manifests.findings import FindingSeverity
from kohort.api.resource import Resource
from kohort.cli.options import (
    ClusterOptions,
    OutputFormat,
    cluster_options,
    data_text,
    output_option,
    running,
    running_client,
    screen,
    show,
)
from kohort.controllers.devices.claims import TEMPLATES
from kohort.insight.fit_check.candidates import CandidateReader, kinds_read_by
from kohort.insight.fit_check.evaluation import FitResult, evaluate_fit
from kohort.insight.fit_check.manifests import offline, split, with_manifests
from kohort.insight.fit_check.reads import ALSO_READ
from kohort.insight.listing import served
from kohort.insight.snapshot import Snapshot, take_snapshot
from kohort.insight.workload_report.data import explanation_data
from kohort.insight.workload_report.model import WorkloadReport
from kohort.insight.workload_report.text import render_report
from kohort.terminal.screen import Screen
from kohort.terminal.sections import Section, sections_text

EXAMPLES = """\b
Examples:
  kohort fits -f train.yaml                       # check one job
  kohort fits -f train.yaml --queue team-b        # in another LocalQueue
  kohort fits -f more-quota.yaml -f train.yaml    # with a changed ClusterQueue
  kubectl create job x --image=i --dry-run=client -o yaml | kohort fits -f - --queue team-a
  kohort fits --state queues/ -f train.yaml       # offline, with the cluster described by manifests
Exit code: 0 if all jobs would be admitted now, 1 if some would not, 2 if that cannot be determined.
"""
_REMEDY = "specify a Job, another supported kind, or a Workload"
NOT_ADMITTED = 1
UNDETERMINED = 2


@click.command(epilog=EXAMPLES)
@click.option(
    "-f", "--filename", "files", multiple=True, required=True, metavar="FILE|DIR|-", help="Manifests to evaluate."
)
@click.option("--queue", default="", metavar="NAME", help="LocalQueue to use instead of the one in the manifests.")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="FILE|DIR",
    help="Manifests that describe the cluster; no server is contacted.",
)
@output_option(OutputFormat.JSON, OutputFormat.YAML)
@cluster_options
def fits(
    *, where: ClusterOptions, files: tuple[str, ...], queue: str, states: tuple[str, ...], output: OutputFormat | None
) -> None:
    """Check whether jobs would be admitted now, without submitting them.

    Documents are evaluated in order, each as if the previous ones had been submitted. Queues, flavors and cohorts are
    treated as applied; other kinds are ignored. Nothing is written.
    """
    documents = [document for file in discover(files) for document in load(file)]
    applied, submitted = split(documents)
    if not submitted:
        raise ApiError(f"no jobs found in {', '.join(files)}: {_REMEDY}")
    _reject_invalid(submitted)
    results = running(_evaluate(where, applied, submitted, queue, states))
    _print(results, output)
    sys.exit(_exit_code(results))


def _reject_invalid(documents: Sequence[Document]) -> None:
    """Raise an ApiError for manifests that an API server would reject."""
    checker = Checker(DEFAULT_GATES)
    checker.read(documents)
    bad = [
        each
        for each in checker.report().findings
        if each.severity in (FindingSeverity.ERROR, FindingSeverity.MALFORMED)
    ]
    if bad:
        place, _, text = bad[0].parts
        more = f" (and {len(bad) - 1} more: run kohort validate)" if len(bad) > 1 else ""
        raise ApiError(f"{place}: {text}{more}")


async def _evaluate(
    where: ClusterOptions, applied: Sequence[Document], submitted: Sequence[Document], queue: str, states: Sequence[str]
) -> list[FitResult]:
    if states:
        given = [document for file in discover(states) for document in load(file)]
        return _results(offline(given, datetime.now(UTC)), applied, submitted, where.namespace or "default", queue)
    access = where.access()
    async with running_client(access) as client:
        wanted = kinds_read_by(submitted)
        read = await served(client, wanted) if wanted else []
        snapshot = await take_snapshot(client, (*ALSO_READ, *_claimed(submitted), *read), home=access.namespace)
    return _results(snapshot, applied, submitted, access.namespace, queue)


def _claimed(documents: Sequence[Document]) -> tuple[Resource, ...]:
    """Claim templates, if pods of a manifest claim devices (API-124)."""
    return (TEMPLATES,) if any('"resourceClaims"' in json.dumps(each.value, default=str) for each in documents) else ()


def _results(
    snapshot: Snapshot, applied: Sequence[Document], submitted: Sequence[Document], namespace: str, queue: str
) -> list[FitResult]:
    if not snapshot.can_evaluate:
        unseen = next(each for each in snapshot.unseen if each.kind in ("ClusterQueue", "Workload"))
        raise ApiError(f"cannot evaluate without listing all {unseen.kind} objects: {unseen.why}")
    known = with_manifests(snapshot, applied) if applied else snapshot
    reader = CandidateReader(known, namespace, queue)
    queued = [each for each in submitted if reader.is_queued(each)]
    if not queued:
        raise ApiError(f"no jobs found: {_REMEDY}")
    return list(evaluate_fit(known, reader.candidates(queued)))


def _exit_code(results: Sequence[FitResult]) -> int:
    if any(each.explanation is None for each in results):
        return UNDETERMINED
    return 0 if all(each.starts for each in results) else NOT_ADMITTED


# Output


def _print(results: Sequence[FitResult], output: OutputFormat | None) -> None:
    if output is not None:
        click.echo(data_text([_data(each) for each in results], output))
        return
    here = screen()
    sections = [section for each in results for section in _sections(each, here)]
    show(sections_text(sections, here))


def _sections(result: FitResult, screen: Screen) -> Iterator[Section]:
    candidate, explanation = result.candidate, result.explanation
    mark = screen.glyphs.tick if result.starts else screen.glyphs.cross
    heading = f"{mark} {candidate.subject} ({candidate.place})"
    if explanation is None:
        yield Section(heading, (f"{result.problem}.",))
        return
    report = WorkloadReport(candidate.subject, explanation, holders=result.holders, hints=result.hints)
    _, answer, *rest = render_report(report, datetime.now(UTC))
    yield Section(heading, (_counted(result), *answer.lines))
    yield from () if result.starts else rest


def _counted(result: FitResult) -> str:
    total, queue = len(result.candidate.workloads), result.candidate.queue
    where = f"in LocalQueue {queue.name} of namespace {queue.namespace}"
    if result.starts:
        return f"Would be admitted now {where}."
    if result.checks:
        checks = ", ".join(result.checks)
        return f"Would reserve quota now {where}, and be admitted once its admission checks pass: {checks}."
    if total > 1:
        return f"{result.started} of its {total} pods would be admitted now {where}."
    return f"Would not be admitted now {where}."


def _data(result: FitResult) -> Json:
    explanation = result.explanation
    return {
        "subject": result.candidate.subject,
        "place": result.candidate.place,
        "namespace": result.candidate.queue.namespace,
        "starts": result.starts if explanation is not None else None,
        "started": result.started,
        "of": len(result.candidate.workloads),
        "checks": list(result.checks),
        "problem": result.problem,
        "explanation": explanation_data(explanation) if explanation is not None else None,
    }
