"""`kubectl-kueue`: the commands of Kueue's kubectl plugin (docs/spec/api-config-metrics.md §14).

It uses v1beta2, and works with Kohort and Kueue.
"""

import sys
from collections.abc import Sequence

import click

from kohort import __version__
from kohort.api.core.apps import Deployment
from kohort.cli.completion import SHELLS, script
from kohort.cli.kueuectl.connection import ConnectionFlags, connection_options
from kohort.cli.kueuectl.creating import create
from kohort.cli.kueuectl.groups import KindGroup, example
from kohort.cli.kueuectl.kubectl_passthrough import verbs
from kohort.cli.kueuectl.lists import list_
from kohort.cli.kueuectl.stopping import resume, stop
from kohort.cli.main import exit_code
from kohort.cli.options import running
from kohort.cli.plugin import print_completions
from kohort.kube.errors import StatusError

NAME = "kubectl kueue"
MANAGER = ("kueue-system", "kueue-controller-manager")
CONTAINER = "manager"


@click.group(
    cls=KindGroup,
    short_help="Manage Kueue's queues and workloads",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@connection_options
def kueuectl(*, connection: ConnectionFlags) -> None:
    """Manage Kueue's queues and workloads."""
    del connection


for _group in (create, list_, stop, resume, *verbs()):
    kueuectl.add_command(_group)


@kueuectl.command(epilog=example("version"))
@connection_options
def version(*, connection: ConnectionFlags) -> None:
    """Print the version of this client and the image of the manager."""
    click.echo(f"Client Version: v{__version__}")
    running(_manager_image(connection))


async def _manager_image(connection: ConnectionFlags) -> None:
    access = connection.access()
    async with connection.client(access) as client:
        try:
            deployment = await client.of(Deployment).get(MANAGER)
        except StatusError as error:
            if error.is_not_found:
                return
            raise
    for container in deployment.spec.template.spec.containers:
        if container.name == CONTAINER:
            click.echo(f"Kueue Controller Manager Image: {container.image}")


@kueuectl.command(epilog=example("completion bash"))
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(*, shell: str) -> None:
    """Print a completion script for bash, zsh or fish."""
    click.echo(script(shell, "kubectl-kueue"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its exit code."""
    sys.exit(exit_code(kueuectl, arguments, NAME))


def complete() -> None:
    """Print completions for kubectl."""
    print_completions(kueuectl, sys.argv[1:])
