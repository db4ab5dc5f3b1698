"""`list clusterqueue|localqueue|resourceflavor|pods`; `list workload` is in `list_workloads`."""

from datetime import datetime

import click

from kohort.api.codec import JsonObject, decode_json
from kohort.api.conditions import is_true
from kohort.api.core.pods import Pod
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, ResourceFlavor
from kohort.api.meta import ObjectMeta
from kohort.cli.kueuectl.connection import ConnectionFlags, connection_options
from kohort.cli.kueuectl.groups import example, verb
from kohort.cli.kueuectl.list_workloads import workload
from kohort.cli.kueuectl.listing import (
    ListPrinter,
    Selection,
    all_of,
    listed,
    page_limit,
    print_nothing_found,
    print_table,
    selection_options,
)
from kohort.cli.kueuectl.printing import Printer, print_options
from kohort.cli.kueuectl.types import TypedName
from kohort.cli.log_streams import LogError
from kohort.cli.logs import pods_of
from kohort.cli.name_completion import names_of
from kohort.cli.options import all_namespaces_option, running
from kohort.cli.targets import CommandTarget, Finder, TargetObject
from kohort.jobs.keys import POD_GROUP_NAME
from kohort.jobs.objects import labels
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock
from kohort.kube.options import ListScope
from kohort.kube.transport import Request
from kohort.terminal.ages import age

AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


list_ = verb("list", "List queues, flavors, workloads and pods")
list_.add_command(workload)


@list_.command(epilog=example("list clusterqueue --active true"))
@click.option(
    "--active", multiple=True, type=click.BOOL, metavar="true|false", help="Only active (or inactive) ClusterQueues."
)
@selection_options
@print_options
@connection_options
def clusterqueue(
    *, active: tuple[bool, ...], selection: Selection, printer: Printer, connection: ConnectionFlags
) -> None:
    """List ClusterQueues."""
    if len(active) > 1:
        raise click.UsageError("--active can be used only once")
    running(_cluster_queues(active, selection, printer, connection))


async def _cluster_queues(
    active: tuple[bool, ...], selection: Selection, printer: Printer, connection: ConnectionFlags
) -> None:
    columns = ("NAME", "COHORT", "PENDING WORKLOADS", "ADMITTED WORKLOADS", "ACTIVE", "AGE")
    async with connection.client(connection.access()) as client:
        everything = await all_of(client, ClusterQueue, selection.scope(""), limit=0)
    found = [each for each in everything if not active or _is_active(each) is active[0]]
    rows = [
        (
            each.metadata.name,
            each.spec.cohort_name or "",
            str(each.status.pending_workloads or 0),
            str(each.status.admitted_workloads or 0),
            str(_is_active(each)).lower(),
            _age(each.metadata),
        )
        for each in found
    ]
    ListPrinter(ClusterQueue.info.resource, "", columns, printer).print(found, rows)


def _is_active(queue: ClusterQueue) -> bool:
    return is_true(queue.status.conditions, "Active")


@list_.command(epilog=example("list localqueue -c team-a -A"))
@click.option(
    "-c",
    "--clusterqueue",
    "queue",
    default="",
    metavar="NAME",
    shell_complete=names_of("cluster-queues"),
    help="Only LocalQueues of this ClusterQueue.",
)
@all_namespaces_option
@selection_options
@print_options
@connection_options
def localqueue(*, queue: str, selection: Selection, printer: Printer, connection: ConnectionFlags) -> None:
    """List LocalQueues."""
    running(_local_queues(queue, selection, printer, connection))


async def _local_queues(queue: str, selection: Selection, printer: Printer, connection: ConnectionFlags) -> None:
    columns = ("NAME", "CLUSTERQUEUE", "PENDING WORKLOADS", "ADMITTED WORKLOADS", "AGE")
    access, limit = connection.access(), page_limit()
    namespace = selection.namespace(access)
    async with connection.client(access) as client:
        everything = await all_of(client, LocalQueue, selection.scope(namespace), limit)
    found = [each for each in everything if queue in ("", each.spec.cluster_queue)]
    rows = [
        (
            each.metadata.name,
            each.spec.cluster_queue or "",
            str(each.status.pending_workloads or 0),
            str(each.status.admitted_workloads or 0),
            _age(each.metadata),
        )
        for each in found
    ]
    ListPrinter(LocalQueue.info.resource, namespace, columns, printer, selection.is_everywhere).print(found, rows)


@list_.command(epilog=example("list resourceflavor"))
@selection_options
@print_options
@connection_options
def resourceflavor(*, selection: Selection, printer: Printer, connection: ConnectionFlags) -> None:
    """List ResourceFlavors."""
    running(_flavors(selection, printer, connection))


async def _flavors(selection: Selection, printer: Printer, connection: ConnectionFlags) -> None:
    limit = page_limit()
    async with connection.client(connection.access()) as client:
        found = await all_of(client, ResourceFlavor, selection.scope(""), limit)
    rows = [(each.metadata.name, _labels(each.spec.node_labels), _age(each.metadata)) for each in found]
    ListPrinter(ResourceFlavor.info.resource, "", ("NAME", "NODE LABELS", "AGE"), printer).print(found, rows)


def _labels(given: dict[str, str]) -> str:
    return ", ".join(sorted(f"{key}={value}" for key, value in given.items()))


def _age(metadata: ObjectMeta) -> str:
    now: datetime = SystemClock().wall()
    return age(metadata.creation_timestamp, now)


@list_.command(epilog=example("list pods --for job/train"))
@click.option("--for", "whose", required=True, metavar="TYPE[.GROUP]/NAME", help="Only pods of this job.")
@all_namespaces_option
@selection_options
@print_options
@connection_options
def pods(*, whose: str, selection: Selection, printer: Printer, connection: ConnectionFlags) -> None:
    """List the pods of a job or of a pod group."""
    running(_pods(TypedName.parse(whose), selection, printer, connection))


async def _pods(whose: TypedName, selection: Selection, printer: Printer, connection: ConnectionFlags) -> None:
    access, is_wide = connection.access(), printer.output == "wide"
    page_limit()
    namespace = selection.namespace(access)
    async with connection.client(access) as client:
        resource = await whose.resource(client)
        job = await Finder(client, access.namespace).object(resource, whose.name)
        if job is None:
            print_nothing_found(namespace)
            return
        scope = selection.scope(namespace, _selected(TargetObject(resource, job)))
        if printer.has_format and not is_wide:
            found = (await client.of(Pod.resource).list(scope)).items
            printer.echo(listed(Pod.resource, list(found)))
            return
        answer = await _table(client, scope)
    _print_pods(answer, namespace, is_wide=is_wide)


def _selected(job: TargetObject) -> ListScope:
    """The scope of a job's pods; of a pod group for one of its pods."""
    group = labels(job.obj).get(POD_GROUP_NAME)
    if job.resource == Pod.resource and group:
        return ListScope(labels=f"{POD_GROUP_NAME}={group}")
    try:
        return pods_of(CommandTarget((job,), ()))
    except LogError:
        raise LogError(f"unsupported kind: {job.resource.kind} has no pod selector") from None


async def _table(client: Client, scope: ListScope) -> JsonObject:
    """The server-side table of pods."""
    path = Pod.resource.path(scope.namespace)
    body = await client.call(Request("GET", path, scope.query(), {"Accept": f"{AS_TABLE},application/json"}))
    found: JsonObject = decode_json(body)
    return found


def _print_pods(answer: JsonObject, namespace: str, *, is_wide: bool) -> None:
    rows = answer.get("rows") or []
    if not rows:
        print_nothing_found(namespace)
        return
    definitions = answer["columnDefinitions"]
    shown = [index for index, each in enumerate(definitions) if is_wide or not each.get("priority")]
    headers = [definitions[index]["name"].upper() for index in shown]
    spaces = None if namespace else [row["object"]["metadata"].get("namespace", "") for row in rows]
    print_table(headers, [[str(row["cells"][index]) for index in shown] for row in rows], spaces)
