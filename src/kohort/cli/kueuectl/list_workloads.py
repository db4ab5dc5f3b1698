"""`list workload`: Workloads with their jobs, status, position and execution time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import click

from kohort.api.conditions import find
from kohort.api.kueue.v1beta2 import LocalQueue, Workload
from kohort.api.meta import ObjectKey
from kohort.cli.kueuectl.connection import ConnectionFlags, connection_options
from kohort.cli.kueuectl.groups import example
from kohort.cli.kueuectl.listing import (
    ListPrinter,
    Selection,
    all_of,
    page_limit,
    print_nothing_found,
    selection_options,
)
from kohort.cli.kueuectl.printing import Printer, print_options
from kohort.cli.kueuectl.types import TypedName
from kohort.cli.name_completion import names_of
from kohort.cli.options import all_namespaces_option, running
from kohort.cli.positions import positions
from kohort.cli.targets import Finder
from kohort.engine.lifecycle.conditions import ADMITTED, FINISHED, is_admitted, is_finished, is_reserved
from kohort.jobs.keys import JOB_UID_LABEL
from kohort.jobs.objects import uid
from kohort.kube.client import Client
from kohort.kube.options import ListScope
from kohort.terminal.ages import age, duration

MAX_TYPE: Final = 20
STATUSES: Final = ("all", "pending", "quotareserved", "admitted", "finished")
COLUMNS: Final = (
    "NAME",
    "JOB TYPE",
    "JOB NAME",
    "LOCALQUEUE",
    "CLUSTERQUEUE",
    "STATUS",
    "POSITION IN QUEUE",
    "EXEC TIME",
    "AGE",
)


@dataclass(frozen=True, slots=True)
class Filters:
    """Client-side filters of Workloads."""

    cluster_queue: str = ""
    local_queue: str = ""
    statuses: frozenset[str] = frozenset()

    def __call__(self, workload: Workload) -> bool:
        """Whether a Workload matches."""
        admission = workload.status.admission
        return (
            self.local_queue in ("", workload.spec.queue_name)
            and (not self.cluster_queue or (admission is not None and admission.cluster_queue == self.cluster_queue))
            and (not self.statuses or "all" in self.statuses or status_of(workload).lower() in self.statuses)
        )


def status_of(workload: Workload) -> str:
    """The status of a Workload (API-92) as shown in the list."""
    if is_finished(workload):
        return "FINISHED"
    if is_admitted(workload):
        return "ADMITTED"
    return "QUOTARESERVED" if is_reserved(workload) else "PENDING"


def _statuses(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> frozenset[str]:
    found = frozenset(each.lower() for each in given)
    if unknown := found - set(STATUSES):
        raise click.BadParameter(f"{', '.join(sorted(unknown))}: must be one of {', '.join(STATUSES)}")
    return found


@click.command(epilog=example("list workload --status pending -q team-a"))
@click.option(
    "-c",
    "--clusterqueue",
    default="",
    metavar="NAME",
    shell_complete=names_of("cluster-queues"),
    help="Only Workloads admitted by this ClusterQueue.",
)
@click.option(
    "-q",
    "--localqueue",
    default="",
    metavar="NAME",
    shell_complete=names_of("queues"),
    help="Only Workloads of this LocalQueue.",
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    callback=_statuses,
    metavar="STATUS",
    help=f"Only Workloads with this status ({', '.join(STATUSES)}); repeatable.",
)
@click.option("--for", "whose", default="", metavar="TYPE[.GROUP]/NAME", help="Only Workloads of this job.")
@all_namespaces_option
@selection_options
@print_options
@connection_options
def workload(
    *,
    clusterqueue: str,
    localqueue: str,
    statuses: frozenset[str],
    whose: str,
    selection: Selection,
    printer: Printer,
    connection: ConnectionFlags,
) -> None:
    """List Workloads."""
    filters = Filters(clusterqueue, localqueue, statuses)
    named = TypedName.parse(whose) if whose else None
    running(_list(filters, named, selection, printer, connection))


async def _list(
    filters: Filters, whose: TypedName | None, selection: Selection, printer: Printer, connection: ConnectionFlags
) -> None:
    access, limit = connection.access(), page_limit()
    namespace = selection.namespace(access)
    async with connection.client(access) as client:
        everything = await _selected(client, Finder(client, access.namespace), namespace, whose, selection, limit)
        if everything is None:
            print_nothing_found(namespace)
            return
        found = [each for each in everything if filters(each)]
        rows = [] if printer.has_format else await _rows(client, found)
    ListPrinter(Workload.info.resource, namespace, COLUMNS, printer, selection.is_everywhere).print(found, rows)


async def _selected(
    client: Client, finder: Finder, namespace: str, whose: TypedName | None, selection: Selection, limit: int
) -> list[Workload] | None:
    """Workloads selected by the server; those of a job by label, else by owner; None if the job does not exist."""
    if whose is None:
        return await all_of(client, Workload, selection.scope(namespace), limit)
    job = await finder.object(await whose.resource(client), whose.name)
    if job is None:
        return None
    marked = await all_of(
        client, Workload, selection.scope(namespace, ListScope(labels=f"{JOB_UID_LABEL}={uid(job)}")), limit
    )
    if marked:
        return marked
    everything = await all_of(client, Workload, selection.scope(namespace), limit)
    return [each for each in everything if any(owner.uid == uid(job) for owner in each.metadata.owner_references)]


async def _rows(client: Client, found: Sequence[Workload]) -> list[list[str]]:
    now = client.clock.wall()
    queues = await _cluster_queues(client, found)
    places = await _positions(client, found)
    return [row(each, queues, places, now) for each in found]


def row(
    workload: Workload, queues: Mapping[ObjectKey, str], places: Mapping[ObjectKey, int], now: datetime
) -> list[str]:
    """The cells of a Workload."""
    metadata, admission = workload.metadata, workload.status.admission
    queue = ObjectKey(metadata.namespace, workload.spec.queue_name or "")
    position = places.get(ObjectKey(metadata.namespace, metadata.name))
    owners = metadata.owner_references
    return [
        metadata.name,
        ", ".join(_unique(_type(owner.api_version, owner.kind) for owner in owners)),
        ", ".join(_unique(owner.name for owner in owners)),
        workload.spec.queue_name or "",
        admission.cluster_queue if admission else queues.get(queue, ""),
        status_of(workload),
        "" if position is None else str(position),
        _ran(workload, now),
        age(metadata.creation_timestamp, now),
    ]


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _type(api_version: str, kind: str) -> str:
    group = api_version.rpartition("/")[0]
    text = f"{kind.lower()}.{group}" if group else kind.lower()
    return text if len(text) <= MAX_TYPE else f"{text[:MAX_TYPE]}..."


def _ran(workload: Workload, now: datetime) -> str:
    admitted = find(workload.status.conditions, ADMITTED)
    if admitted is None or admitted.status != "True":
        return ""
    finished = find(workload.status.conditions, FINISHED)
    end = finished.last_transition_time if finished is not None and finished.status == "True" else now
    return duration(end - admitted.last_transition_time)


async def _cluster_queues(client: Client, found: Sequence[Workload]) -> dict[ObjectKey, str]:
    """The ClusterQueues of LocalQueues with pending Workloads."""
    spaces = {each.metadata.namespace for each in found if each.status.admission is None}
    queues = [queue for space in sorted(spaces) for queue in await _local_queues(client, space)]
    return {ObjectKey(each.metadata.namespace, each.metadata.name): each.spec.cluster_queue or "" for each in queues}


async def _local_queues(client: Client, namespace: str) -> list[LocalQueue]:
    return await all_of(client, LocalQueue, Selection().scope(namespace), limit=0)


async def _positions(client: Client, found: Sequence[Workload]) -> dict[ObjectKey, int]:
    """Positions of pending Workloads; empty if the visibility API is not served."""
    waiting = {
        (each.metadata.namespace, each.spec.queue_name or "")
        for each in found
        if each.spec.queue_name and status_of(each) == "PENDING"
    }
    found_at = dict[ObjectKey, int]()
    for namespace, queue in sorted(waiting):
        for name, position in (await positions(client, namespace, queue)).items():
            found_at[ObjectKey(namespace, name)] = position
    return found_at
