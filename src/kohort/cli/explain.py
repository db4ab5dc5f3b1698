"""`kohort explain`: why a job is pending, what would admit it, and what could preempt it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import click

from kohort.api.codec import Json
from kohort.api.core.pods import Pod
from kohort.api.kueue.v1beta2 import LocalQueue, Workload
from kohort.api.meta import ObjectKey
from kohort.cli.log_streams import LogError
from kohort.cli.logs import pods_of
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
from kohort.cli.targets import CommandTarget, Finder, TargetObject, TargetReference, references
from kohort.insight.snapshot import Snapshot, take_snapshot
from kohort.insight.workload_report.builder import build_report
from kohort.insight.workload_report.containers import start_failures
from kohort.insight.workload_report.data import report_data
from kohort.insight.workload_report.model import WorkloadReport
from kohort.insight.workload_report.text import render_report
from kohort.jobs.keys import QUEUE_NAME_LABEL
from kohort.jobs.objects import queue_name
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.rest_mapper import RestMapper
from kohort.terminal.nearest import did_you_mean
from kohort.terminal.sections import Section, sections_text

EXAMPLES = """\b
Examples:
  kohort explain train            # a Job, Workload, Deployment, StatefulSet or Pod
  kohort explain job/train pod/train-0-x7k2p
  kohort explain train -o json | jq '.evaluation.podSets[].tried'
"""
MAX_OWNERS = 5
"""Maximum depth of owners: a Pod of a Job of a CronJob needs two."""
MAX_PODS = 100
"""Number of pods of a job that are checked for container start failures."""


@click.command(epilog=EXAMPLES)
@click.argument("words", nargs=-1, required=True, metavar="NAME|KIND/NAME...")
@output_option(OutputFormat.JSON, OutputFormat.YAML)
@cluster_options
def explain(*, where: ClusterOptions, words: tuple[str, ...], output: OutputFormat | None) -> None:
    """Explain why a job is pending.

    Show which quota is missing, which workloads are ahead or hold it, and what would admit the job. For an admitted
    job, show what it holds and which workloads could preempt it.
    """
    access = where.access()

    async def work() -> None:
        async with running_client(access) as client:
            finder = Finder(client, access.namespace)
            found = [await _find(finder, each) for each in references(words)]
            snapshot = await take_snapshot(client, home=access.namespace)
            _print([_Answer(each, snapshot, await _start_failures(client, each)) for each in found], output)

    running(work())


async def _find(finder: Finder, reference: TargetReference) -> CommandTarget:
    """The target; its nearest owner with a Workload if it has none itself."""
    found = await finder.find(reference)
    mapping = RestMapper(finder.client)
    for _ in range(MAX_OWNERS):
        owner = None if found.workloads else _owner(found.job)
        if owner is None:
            break
        resource = await mapping.resource(owner["apiVersion"], owner["kind"])
        above = await finder.object(resource, owner["name"])
        if above is None:
            break
        found = CommandTarget(
            (TargetObject(resource, above),), await finder.workloads_of(TargetObject(resource, above))
        )
    return found


async def _start_failures(client: Client, target: CommandTarget) -> tuple[str, ...]:
    """Why containers of its pods could not be started; nothing if its pods are unknown or cannot be listed."""
    try:
        scope = pods_of(target)
        return start_failures((await client.of(Pod).page(scope, limit=MAX_PODS)).items)
    except LogError:
        return ()
    except StatusError as error:
        if error.code != 403:
            raise
        return ()


def _owner(owned: TargetObject) -> Json:
    owners = owned.obj["metadata"].get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), None)


class _Answer:
    """The explanation of one target."""

    def __init__(self, target: CommandTarget, snapshot: Snapshot, failures: tuple[str, ...]) -> None:
        self._subject = f"{target.job.resource.kind.lower()}/{target.job.name}"
        self._target = target
        self._snapshot = snapshot
        self._failures = failures

    def data(self) -> Json:
        """The explanation as JSON."""
        workload = self._workload()
        if workload is None:
            return {"subject": self._subject, "workload": None, "text": list(self._without_workload())}
        return report_data(self._report(workload))

    def sections(self) -> list[Section]:
        """The explanation as text."""
        workload = self._workload()
        if workload is None:
            summary = f"namespace {self._target.namespace}, no Workload"
            return [Section(self._subject, (summary,)), Section("", tuple(self._without_workload()))]
        return render_report(self._report(workload), self._snapshot.taken)

    def _report(self, workload: Workload) -> WorkloadReport:
        report = build_report(self._snapshot, workload, self._subject)
        return replace(report, notes=(*report.notes, *self._failures))

    def _workload(self) -> Workload | None:
        known = self._target.workload
        if known is None:
            return None
        key = ObjectKey(known.metadata.namespace, known.metadata.name)
        return self._snapshot.of(Workload).get(key, known)

    def _without_workload(self) -> Iterator[str]:
        """Why the target has no Workload, and why its containers do not start."""
        yield from self._failures
        obj, namespace = self._target.job.obj, self._target.namespace
        queue = queue_name(obj)
        there = [name for place, name in self._snapshot.of(LocalQueue) if place == namespace]
        if not queue:
            yield f"Not queued: it has no label {QUEUE_NAME_LABEL}, so it bypasses quota."
            yield f"To queue it, re-create it with that label set to a LocalQueue: {did_you_mean('', there)}"
            return
        yield f"It references LocalQueue {queue}, but has no Workload."
        if queue not in there:
            yield f"LocalQueue {queue} not found in namespace {namespace}: {did_you_mean(queue, there)}"
        yield "The manager may not be running, or may not manage this kind or namespace: run kohort doctor."


def _print(answers: Sequence[_Answer], output: OutputFormat | None) -> None:
    if output is None:
        sections = [section for each in answers for section in each.sections()]
        show(sections_text(sections, screen()))
        return
    data = [each.data() for each in answers]
    click.echo(data_text(data[0] if len(data) == 1 else data, output))
