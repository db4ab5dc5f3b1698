"""`delete workload`: deletes Workloads with their jobs, after a confirmation."""

from dataclasses import dataclass

import click

from kohort.api.kueue.v1beta2 import Workload
from kohort.api.resource import Resource
from kohort.cli.kueuectl.connection import ConnectionFlags, connection_options
from kohort.cli.kueuectl.printing import DryRun, dry_run_option
from kohort.cli.name_completion import names_of
from kohort.cli.options import all_namespaces_option, running
from kohort.cli.targets import shown
from kohort.kube.client import Client
from kohort.kube.errors import StatusError
from kohort.kube.options import DeletionOptions, ListScope
from kohort.kube.rest_mapper import RestMapper

EXAMPLES = """\b
Examples:
  kubectl kueue delete workload job-train-1f2e3
  kubectl kueue delete kwl --all -A --yes
"""


@dataclass(frozen=True, slots=True)
class OwnerToDelete:
    """An object to be deleted."""

    resource: Resource
    name: str

    def __str__(self) -> str:
        plural = f"{self.resource.plural}.{self.resource.group}" if self.resource.group else self.resource.plural
        return f"{plural}/{self.name}"


@dataclass(frozen=True, slots=True)
class DeleteArguments:
    """Arguments of `delete workload`."""

    names: tuple[str, ...]
    """Empty for all."""
    is_everywhere: bool
    is_confirmed: bool
    dry_run: DryRun


Plan = list[tuple[Workload, list[OwnerToDelete]]]


@click.command(epilog=EXAMPLES)
@click.argument("names", nargs=-1, metavar="[NAME]…", shell_complete=names_of("workloads"))
@click.option("-y", "--yes", is_flag=True, help="Skip the confirmation prompt.")
@click.option("--all", "is_all", is_flag=True, help="Select all Workloads in the namespace.")
@all_namespaces_option
@dry_run_option
@connection_options
def workload(
    *,
    names: tuple[str, ...],
    yes: bool,
    is_all: bool,
    all_namespaces: bool,
    dry_run: DryRun,
    connection: ConnectionFlags,
) -> None:
    """Delete Workloads and their jobs."""
    if not names and not is_all:
        raise click.UsageError("specify names or --all")
    if names and is_all:
        raise click.UsageError("names and --all are mutually exclusive")
    if names and all_namespaces:
        raise click.UsageError("-A cannot be combined with names: use --all")
    running(_delete(DeleteArguments(names, all_namespaces, yes or dry_run is not DryRun.NONE, dry_run), connection))


async def _delete(arguments: DeleteArguments, connection: ConnectionFlags) -> None:
    access = connection.access()
    async with connection.client(access) as client:
        namespace = "" if arguments.is_everywhere else access.namespace
        found = await _named(client, namespace, arguments.names) if arguments.names else await _all(client, namespace)
        plan = [(each, await _owners(client, each)) for each in found]
        if not arguments.is_confirmed and any(owners for _, owners in plan) and not _confirm(plan):
            click.echo("Deletion is canceled")
            return
        for each, owners in plan:
            await _delete_with_owners(client, each, owners, arguments.dry_run)


async def _all(client: Client, namespace: str) -> list[Workload]:
    return list((await client.of(Workload).list(ListScope(namespace))).items)


async def _named(client: Client, namespace: str, names: tuple[str, ...]) -> list[Workload]:
    """The existing Workloads; missing ones are reported."""
    found = list[Workload]()
    for name in names:
        try:
            found.append(await client.of(Workload).get((namespace, name)))
        except StatusError as error:
            if not error.is_not_found or not error.details.get("name"):
                raise
            click.echo(str(error), err=True)
    return found


async def _owners(client: Client, workload: Workload) -> list[OwnerToDelete]:
    mapping = RestMapper(client)
    references = workload.metadata.owner_references
    return [OwnerToDelete(await mapping.resource(each.api_version, each.kind), each.name) for each in references]


def _confirm(plan: Plan) -> bool:
    click.echo("This operation will also delete:")
    for each, owners in plan:
        if owners:
            names = ", ".join(map(str, owners))
            click.echo(f"  - {names} associated with the {each.metadata.namespace}/{each.metadata.name} workload")
    answer: str = click.prompt("Do you want to proceed (y/n)?", default="n", show_default=False, prompt_suffix=" ")
    return answer.strip().lower() == "y"


async def _delete_with_owners(client: Client, workload: Workload, owners: list[OwnerToDelete], dry_run: DryRun) -> None:
    namespace, name = workload.metadata.namespace, workload.metadata.name
    if not owners:
        await _delete_one(client, Workload.info.resource, (namespace, name), dry_run)
        click.echo(f"{shown(Workload.info.resource, name)} deleted{dry_run.suffix}")
    for owner in owners:
        await _delete_one(client, owner.resource, (namespace, owner.name), dry_run)
        click.echo(f"{owner} deleted{dry_run.suffix}")


async def _delete_one(client: Client, resource: Resource, key: tuple[str, str], dry_run: DryRun) -> None:
    if dry_run is DryRun.CLIENT:
        return
    try:
        # Without Background, a batch/v1 Job would orphan its pods.
        await client.of(resource).delete(key, DeletionOptions("Background", dry_run=dry_run is DryRun.SERVER))
    except StatusError as error:
        if not error.is_not_found:
            raise
