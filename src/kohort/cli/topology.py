"""`kohort topology`: capacity and usage of topology domains, and where the pods of a job are."""

from collections.abc import Sequence

import click

from kohort.api.errors import ApiError
from kohort.api.kueue.v1beta2 import ResourceFlavor, Workload
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
from kohort.cli.targets import Finder, references
from kohort.cli.topology_table import render_topology, topology_data
from kohort.insight.snapshot import Snapshot, take_snapshot
from kohort.insight.topology import TopologyReport, topology_reports
from kohort.terminal.nearest import did_you_mean

EXAMPLES = """\b
Examples:
  kohort topology                          # domains of all flavors with a topology
  kohort topology h100 --level rack        # down to racks; a level by its label, or by the end of it
  kohort topology --workload job/train     # the domains with the job's pods
  kohort topology -o json | jq '.[].domains[] | {value, free}'
"""


@click.command(epilog=EXAMPLES)
@click.argument("flavor", required=False, default="", metavar="[FLAVOR]")
@click.option("--level", default="", metavar="LABEL", help="Show domains down to this level (default: as many as fit).")
@click.option("--workload", default="", metavar="NAME|KIND/NAME", help="Show only domains with pods of this job.")
@output_option(OutputFormat.JSON, OutputFormat.YAML)
@cluster_options
def topology(*, where: ClusterOptions, flavor: str, level: str, workload: str, output: OutputFormat | None) -> None:
    """Show capacity and usage of topology domains.

    Filled bar: used by queued workloads; dotted: used by other pods. Nodes that are not Ready, unschedulable or without
    the label of a level have no domain.
    """
    access = where.access()

    async def work() -> None:
        async with running_client(access) as client:
            selected = await _workload(Finder(client, access.namespace), workload) if workload else None
            snapshot = await take_snapshot(client, home=access.namespace)
        reports = _chosen(topology_reports(snapshot, selected), flavor)
        _require(snapshot, reports, flavor, selected)
        if output is not None:
            click.echo(data_text([topology_data(each) for each in reports], output))
            return
        for number, report in enumerate(reports):
            show([""] * bool(number) + render_topology(report, screen(), _level(report, level)))

    running(work())


async def _workload(finder: Finder, name: str) -> Workload:
    target = await finder.find(references([name])[0])
    if target.workload is None:
        raise ApiError(f"{target.job} has no Workload: it has no queue name, or its namespace is not managed")
    return target.workload


def _chosen(reports: Sequence[TopologyReport], flavor: str) -> list[TopologyReport]:
    return [each for each in reports if flavor in ("", each.flavor)]


def _require(snapshot: Snapshot, reports: Sequence[TopologyReport], flavor: str, workload: Workload | None) -> None:
    """Raises an ApiError if nothing can be shown."""
    if reports:
        return
    flavors = snapshot.of(ResourceFlavor).values()
    names = {each.metadata.name for each in flavors}
    if flavor and flavor not in names:
        raise ApiError(f"ResourceFlavor {flavor} not found: {did_you_mean(flavor, names)}")
    if workload is not None:
        head = workload.metadata
        where = f" in flavor {flavor}" if flavor else ""
        explain = f"`kohort explain -n {head.namespace} workload/{head.name}` shows its state"
        raise ApiError(f"workload/{head.name} has no topology assignment{where}; {explain}")
    selected = [each for each in flavors if flavor in ("", each.metadata.name)]
    missing = sorted({each.spec.topology_name for each in selected if each.spec.topology_name})
    if missing:
        raise ApiError(f"Topology {', '.join(missing)} not found: create it, or change spec.topologyName of the flavor")
    if flavor:
        raise ApiError(f"ResourceFlavor {flavor} has no topology: set spec.topologyName")
    raise ApiError("no ResourceFlavor has a topology: set spec.topologyName")


def _level(report: TopologyReport, level: str) -> str:
    """A level by its label or the end of it, such as `rack`; raises an ApiError for an unknown one."""
    if not level or level in report.levels:
        return level
    ends = [each for each in report.levels if each.endswith(("-" + level, "/" + level, "." + level))]
    if len(ends) == 1:
        return ends[0]
    raise ApiError(f"level {level} not found in Topology {report.topology}: {did_you_mean(level, report.levels)}")
