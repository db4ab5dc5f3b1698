"""What commands that talk to a cluster have in common: their options, their way to the server, their one-line errors.

A command gets one value for each family of options, and no more imported than it uses.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kohort.api.errors import ApiError
from kohort.terminal.screen import Screen, screen_of

if TYPE_CHECKING:
    from kohort.api.codec import Json
    from kohort.kube.client import Client
    from kohort.kube.config import ClientConfig
    from kohort.kube.errors import KubeError, StatusError

R = TypeVar("R")
Command = Callable[..., R]


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which cluster and namespace the command line asks for."""

    kubeconfig: Path | None = None
    context: str = ""
    namespace: str = ""

    def access(self) -> ClientConfig:
        """The way there, with the namespace to use; raises an ApiError that says what to do."""
        from kohort.kube.config import ConfigOverrides, load_client_config
        from kohort.kube.errors import ConfigError

        file = self.kubeconfig or _local_kubeconfig()
        try:
            found = load_client_config(ConfigOverrides(file, self.context))
        except ConfigError as error:
            raise ApiError(f"{error}{_hint()}" if "no kubeconfig" in str(error) else str(error)) from None
        return replace(found, namespace=self.namespace) if self.namespace else found


def _hint() -> str:
    """How to reach a cluster of this machine, for who has named a file that is not there."""
    from kohort.local.directories import kubeconfig_of_running

    running = kubeconfig_of_running()
    if running is None:
        return "; or start a cluster on this machine with `kohort up`"
    return f"; a cluster runs on this machine: export KUBECONFIG={quote(str(running))}"


def _local_kubeconfig() -> Path | None:
    """The cluster that runs on this machine, where nothing leads to any other."""
    from kohort.kube.config import default_kubeconfig_paths

    in_cluster = "KUBERNETES_SERVICE_HOST" in os.environ
    if os.environ.get("KUBECONFIG") or in_cluster or default_kubeconfig_paths(os.environ)[0].exists():
        return None
    from kohort.local.directories import kubeconfig_of_running

    return kubeconfig_of_running()


def _no_color(context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        context.color = False


def cluster_options(command: Command[R]) -> Command[R]:
    """--kubeconfig, --context, -n and --no-color, as the parameter `where`."""

    @wraps(command)
    def called(*args: Any, kubeconfig: Path | None, context: str, namespace: str, **rest: Any) -> R:
        return command(*args, where=ClusterOptions(kubeconfig, context, namespace), **rest)

    options = (
        click.option("-n", "--namespace", default="", metavar="NAME", help="Namespace; the context's by default."),
        click.option(
            "--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="Which API server; as for kubectl."
        ),
        click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig."),
        click.option("--no-color", is_flag=True, expose_value=False, callback=_no_color, help="No colours."),
    )
    decorated: Command[R] = called
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def all_namespaces_option(command: Command[R]) -> Command[R]:
    """-A, as the parameter `all_namespaces`."""
    return click.option("-A", "--all-namespaces", is_flag=True, help="Every namespace.")(command)


def watch_option(command: Command[R]) -> Command[R]:
    """-w, as the parameter `watch`."""
    return click.option("-w", "--watch", is_flag=True, help="Show changes as they happen, until Ctrl-C.")(command)


class OutputFormat(StrEnum):
    """A form of output other than the usual one."""

    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


DATA = (OutputFormat.JSON, OutputFormat.YAML)


def output_option(*forms: OutputFormat) -> Callable[[Command[R]], Command[R]]:
    """-o with these forms, as the parameter `output`, which is an Output or None."""

    def chosen(_context: click.Context, _parameter: click.Parameter, value: str | None) -> OutputFormat | None:
        return None if value is None else OutputFormat(value)

    return click.option(
        "-o", "--output", type=click.Choice([each.value for each in forms]), callback=chosen, help="Another form."
    )


def data_text(value: Json, output: OutputFormat) -> str:
    """A value for machines: JSON or YAML, keys in the order given."""
    if output is OutputFormat.JSON:
        return json.dumps(value, indent=2, ensure_ascii=False)
    from kohort.cli.crds import to_yaml

    return to_yaml([value]).removeprefix("---\n").rstrip("\n")


def environment() -> Mapping[str, str]:
    """The environment, in which --no-color is NO_COLOR."""
    context = click.get_current_context(silent=True)
    return {**os.environ, "NO_COLOR": "1"} if context is not None and context.color is False else os.environ


def screen() -> Screen:
    """Where standard output goes, as the environment and --no-color say."""
    return screen_of(sys.stdout, environment())


def show(lines: Iterable[str]) -> None:
    """Print lines, all at once: a thousand calls take longer than everything before them."""
    text = "\n".join(lines)
    if text:
        click.echo(text)


def running(work: Coroutine[Any, Any, R]) -> R:
    """Run a command's work to its end."""
    import asyncio

    return asyncio.run(work)


PATIENT = 5
"""Attempts of what runs for long; a person at a terminal wants to know sooner."""


@asynccontextmanager
async def running_client(access: ClientConfig, attempts: int = 2) -> AsyncIterator[Client]:
    """A client of that server; what goes wrong with it becomes an ApiError of one line."""
    from kohort.kube.client import Client
    from kohort.kube.http import HttpTransport
    from kohort.kube.retries import RetryPolicy

    client = Client(HttpTransport(access), retries=RetryPolicy(attempts=attempts))
    try:
        with one_line_errors(access):
            yield client
    finally:
        await client.close()


@contextmanager
def one_line_errors(access: ClientConfig) -> Iterator[None]:
    """Failures of the server as one line with the remedy."""
    from kohort.kube.errors import KubeError

    try:
        yield
    except KubeError as error:
        raise ApiError(_line(error, access)) from None


def _line(error: KubeError, access: ClientConfig) -> str:
    from kohort.kube.errors import ConfigError, StatusError, UnreachableError

    if isinstance(error, StatusError):
        return _refusal(error, access)
    if isinstance(error, ConfigError):
        return str(error)
    if not isinstance(error, UnreachableError):
        return str(error)
    return _stopped(access.server) or (f"{error} ({access.origin})" if access.origin else str(error))


def _stopped(server: str) -> str:
    """What to say of a server that was a cluster of this machine; empty of any other."""
    from kohort.local.runs import ClusterState, cluster_status, place_once_at, start_command

    place = place_once_at(server)
    if place is None:
        return ""
    how = "ended without being stopped" if cluster_status(place).state is ClusterState.CRASHED else "is stopped"
    return f"cluster {place.name} at {server} {how}: `{start_command(place)}` starts it again"


def _refusal(error: StatusError, access: ClientConfig) -> str:
    if error.code == 401:
        return f"{access.server} does not know you: check the credentials of {access.origin}"
    if is_not_installed(error):
        return not_installed(access)
    if error.code == 403:
        return f"{access.server} does not let you: {error}"
    return f"{access.server}: {error}"


def is_not_installed(error: StatusError) -> bool:
    """Whether the server does not know Kueue's kinds: a 404 that is about no object."""
    return error.is_not_found and not error.details.get("name")


def not_installed(access: ClientConfig) -> str:
    """What to say of a cluster without Kueue's kinds."""
    remedy = "`kohort install | kubectl apply --server-side -f -` there, or `kohort up` for a cluster on this machine"
    return f"Kohort is not installed on {access.server}: {remedy}"
