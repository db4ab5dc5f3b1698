"""`kohort fits`: would it start now; if not, what is short, whom it would preempt, what would let it in."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import click

from kohort.api.codec import Json
from kohort.api.documents import Document, discover, load
from kohort.api.errors import ApiError
from kohort.api.gates import DEFAULT_GATES
from kohort.api.manifests import Checker, FindingSeverity
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
from kohort.insight.fit_check.candidates import CandidateReader
from kohort.insight.fit_check.evaluation import FitResult, evaluate_fit
from kohort.insight.fit_check.manifests import offline, split, with_manifests
from kohort.insight.fit_check.reads import ALSO_READ
from kohort.insight.snapshot import Snapshot, take_snapshot
from kohort.insight.workload_report.data import explanation_data
from kohort.insight.workload_report.model import WorkloadReport
from kohort.insight.workload_report.text import render_report
from kohort.terminal.screen import Screen
from kohort.terminal.sections import Section, sections_text

EXAMPLES = """\b
Examples:
  kohort fits -f train.yaml                       # would it start now?
  kohort fits -f train.yaml --queue team-b        # and in that queue?
  kohort fits -f more-quota.yaml -f train.yaml    # and if the ClusterQueue were like this?
  kubectl create job x --image=i --dry-run=client -o yaml | kohort fits -f - --queue team-a
  kohort fits --state queues/ -f train.yaml       # offline: the cluster is what these manifests say
Exit code: 0 if everything would start now, 1 if something would not, 2 if that can't be told.
"""
_NOTHING = "give a Job, another kind that is queued, or a Workload"
NO = 1
CANNOT_TELL = 2


@click.command(epilog=EXAMPLES)
@click.option("-f", "--filename", "files", multiple=True, required=True, metavar="FILE|DIR|-", help="What to judge.")
@click.option("--queue", default="", metavar="NAME", help="The LocalQueue, in place of those in the manifests.")
@click.option(
    "--state", "states", multiple=True, metavar="FILE|DIR", help="Manifests that stand for the cluster; asks no server."
)
@output_option(OutputFormat.JSON, OutputFormat.YAML)
@cluster_options
def fits(
    *, where: ClusterOptions, files: tuple[str, ...], queue: str, states: tuple[str, ...], output: OutputFormat | None
) -> None:
    """Tell whether jobs would start now, without submitting them.

    Several documents are judged in their order, each as if those before it had been submitted. Queues, flavors and
    cohorts among them are taken as if they were applied already; kinds that nobody queues are passed over. Nothing is
    written anywhere.
    """
    documents = [document for file in discover(files) for document in load(file)]
    about, asked = split(documents)
    if not asked:
        raise ApiError(
            f"nothing to judge in {', '.join(files)}: give a Job, another kind that is queued, or a Workload"
        )
    _refuse_bad(asked)
    verdicts = running(_verdicts(where, about, asked, queue, states))
    _print(verdicts, output)
    sys.exit(_exit_code(verdicts))


def _refuse_bad(documents: Sequence[Document]) -> None:
    """What an API server would refuse never starts."""
    checker = Checker(DEFAULT_GATES)
    checker.read(documents)
    bad = [
        each
        for each in checker.report().findings
        if each.severity in (FindingSeverity.ERROR, FindingSeverity.MALFORMED)
    ]
    if bad:
        place, _, text = bad[0].parts
        more = f" (and {len(bad) - 1} more: see kohort validate)" if len(bad) > 1 else ""
        raise ApiError(f"{place}: {text}{more}")


async def _verdicts(
    where: ClusterOptions, about: Sequence[Document], asked: Sequence[Document], queue: str, states: Sequence[str]
) -> list[FitResult]:
    if states:
        given = [document for file in discover(states) for document in load(file)]
        return _judged(offline(given, datetime.now(UTC)), about, asked, where.namespace or "default", queue)
    access = where.access()
    async with running_client(access) as client:
        snapshot = await take_snapshot(client, (*ALSO_READ, *_claimed(asked)), home=access.namespace)
    return _judged(snapshot, about, asked, access.namespace, queue)


def _claimed(documents: Sequence[Document]) -> tuple[Resource, ...]:
    """Claim templates, where pods of some manifest claim devices (API-124)."""
    return (TEMPLATES,) if any('"resourceClaims"' in json.dumps(each.value, default=str) for each in documents) else ()


def _judged(
    snapshot: Snapshot, about: Sequence[Document], asked: Sequence[Document], namespace: str, queue: str
) -> list[FitResult]:
    if not snapshot.can_judge:
        unseen = next(each for each in snapshot.unseen if each.kind in ("ClusterQueue", "Workload"))
        raise ApiError(f"can't tell without seeing every {unseen.kind}: {unseen.why}")
    known = with_manifests(snapshot, about) if about else snapshot
    reader = CandidateReader(known, namespace, queue)
    queued = [each for each in asked if reader.is_queued(each)]
    if not queued:
        raise ApiError(f"nothing to judge: {_NOTHING}")
    return list(evaluate_fit(known, reader.candidates(queued)))


def _exit_code(verdicts: Sequence[FitResult]) -> int:
    if any(each.explanation is None for each in verdicts):
        return CANNOT_TELL
    return 0 if all(each.starts for each in verdicts) else NO


# Output


def _print(verdicts: Sequence[FitResult], output: OutputFormat | None) -> None:
    if output is not None:
        click.echo(data_text([_data(each) for each in verdicts], output))
        return
    here = screen()
    sections = [section for each in verdicts for section in _sections(each, here)]
    show(sections_text(sections, here))


def _sections(verdict: FitResult, screen: Screen) -> Iterator[Section]:
    candidate, explanation = verdict.candidate, verdict.explanation
    mark = screen.glyphs.tick if verdict.starts else screen.glyphs.cross
    heading = f"{mark} {candidate.subject} ({candidate.place})"
    if explanation is None:
        yield Section(heading, (f"{verdict.problem}.",))
        return
    story = WorkloadReport(candidate.subject, explanation, holdings=verdict.holdings, hints=verdict.hints)
    _, answer, *rest = render_report(story, datetime.now(UTC))
    yield Section(heading, (_counted(verdict), *answer.lines))
    yield from () if verdict.starts else rest


def _counted(verdict: FitResult) -> str:
    total, queue = len(verdict.candidate.workloads), verdict.candidate.queue
    place = f"in LocalQueue {queue.name} of namespace {queue.namespace}"
    if verdict.starts:
        return f"Would start now {place}."
    if verdict.checks:
        return f"Would get quota now {place}, and start once its admission checks pass: {', '.join(verdict.checks)}."
    if total > 1:
        return f"Would start {verdict.started} of its {total} pods now {place}."
    return f"Would not start now {place}."


def _data(verdict: FitResult) -> Json:
    explanation = verdict.explanation
    return {
        "subject": verdict.candidate.subject,
        "place": verdict.candidate.place,
        "namespace": verdict.candidate.queue.namespace,
        "starts": verdict.starts if explanation is not None else None,
        "started": verdict.started,
        "of": len(verdict.candidate.workloads),
        "checks": list(verdict.checks),
        "problem": verdict.problem,
        "explanation": explanation_data(explanation) if explanation is not None else None,
    }
