"""Shared options, client setup and one-line errors of commands that access a cluster.

A command gets one value per group of options; modules are imported on demand.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kohort.api.errors import ApiError
from kohort.cli.option_types import EXISTING_FILE, FILE, SECONDS
from kohort.terminal.screen import Screen, screen_of

if TYPE_CHECKING:
    from kohort.api.codec import Json
    from kohort.kube.client import Client
    from kohort.kube.config import ClientConfig
    from kohort.kube.errors import KubeError, StatusError

R = TypeVar("R")
CommandFunction = Callable[..., R]


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Cluster and namespace of the command line."""

    kubeconfig: Path | None = None
    context: str = ""
    namespace: str = ""

    def access(self) -> ClientConfig:
        """The client configuration with the namespace to use; raises an ApiError with the remedy."""
        from kohort.kube.config import ConfigOverrides, load_client_config
        from kohort.kube.errors import ConfigError

        file = self.kubeconfig or _local_kubeconfig()
        try:
            found = load_client_config(ConfigOverrides(file, self.context))
        except ConfigError as error:
            raise ApiError(f"{error}{_hint()}" if "no kubeconfig" in str(error) else str(error)) from None
        return replace(found, namespace=self.namespace) if self.namespace else found


def _hint() -> str:
    """Remedy if no kubeconfig is found."""
    from kohort.local.directories import kubeconfig_of_running

    running = kubeconfig_of_running()
    if running is None:
        return "; or start a local cluster with `kohort up`"
    return f"; to use the running local cluster: export KUBECONFIG={quote(str(running))}"


def _local_kubeconfig() -> Path | None:
    """The kubeconfig of the running local cluster, if no other configuration exists."""
    from kohort.kube.config import default_kubeconfig_paths

    in_cluster = "KUBERNETES_SERVICE_HOST" in os.environ
    if os.environ.get("KUBECONFIG") or in_cluster or default_kubeconfig_paths(os.environ)[0].exists():
        return None
    from kohort.local.directories import kubeconfig_of_running

    return kubeconfig_of_running()


def _no_color(context: click.Context, _parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value:
        context.color = False


def with_options(
    command: CommandFunction[R], options: Sequence[Callable[[CommandFunction[R]], CommandFunction[R]]]
) -> CommandFunction[R]:
    """The command with these options, in the order of its help."""
    for option in reversed(options):
        command = option(command)
    return command


framework_option = click.option(
    "--framework",
    "framework_files",
    type=EXISTING_FILE,
    multiple=True,
    help="YAML file that declares a job framework to enable; repeatable.",
)
"""Job frameworks as data."""


def kubeconfig_options(command: CommandFunction[R]) -> CommandFunction[R]:
    """--kubeconfig and --context."""
    options = (
        click.option("--kubeconfig", type=FILE, help="Path to the kubeconfig file (default: as kubectl)."),
        click.option("--context", default="", metavar="NAME", help="Name of the kubeconfig context to use."),
    )
    return with_options(command, options)


def simulated_pod_options(command: CommandFunction[R]) -> CommandFunction[R]:
    """--start-seconds and --run-seconds."""
    options = (
        click.option(
            "--start-seconds", type=SECONDS, default=0.0, show_default=True, help="Start-up time of simulated pods."
        ),
        click.option(
            "--run-seconds",
            type=SECONDS,
            default=10.0,
            show_default=True,
            help="Run time of simulated pods that finish.",
        ),
    )
    return with_options(command, options)


def cluster_options(command: CommandFunction[R]) -> CommandFunction[R]:
    """--kubeconfig, --context, -n and --no-color, as the parameter `where`."""

    @wraps(command)
    def called(*args: Any, kubeconfig: Path | None, context: str, namespace: str, **rest: Any) -> R:
        return command(*args, where=ClusterOptions(kubeconfig, context, namespace), **rest)

    options = (
        click.option(
            "-n", "--namespace", default="", metavar="NAME", help="Namespace to use (default: from the context)."
        ),
        kubeconfig_options,
        click.option("--no-color", is_flag=True, expose_value=False, callback=_no_color, help="Disable colors."),
    )
    return with_options(called, options)


def all_namespaces_option(command: CommandFunction[R]) -> CommandFunction[R]:
    """-A, as the parameter `all_namespaces`."""
    return click.option("-A", "--all-namespaces", is_flag=True, help="Use all namespaces.")(command)


def watch_option(command: CommandFunction[R]) -> CommandFunction[R]:
    """-w, as the parameter `watch`."""
    return click.option("-w", "--watch", is_flag=True, help="Watch for changes.")(command)


class OutputFormat(StrEnum):
    """An output format of -o."""

    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


DATA = (OutputFormat.JSON, OutputFormat.YAML)


def output_option(*forms: OutputFormat) -> Callable[[CommandFunction[R]], CommandFunction[R]]:
    """-o with these formats, as the parameter `output`, which is an OutputFormat or None."""

    def chosen(_context: click.Context, _parameter: click.Parameter, value: str | None) -> OutputFormat | None:
        return None if value is None else OutputFormat(value)

    return click.option(
        "-o", "--output", type=click.Choice([each.value for each in forms]), callback=chosen, help="Output format."
    )


def data_text(value: Json, output: OutputFormat) -> str:
    """A value as JSON or YAML, keys in the given order."""
    if output is OutputFormat.JSON:
        return json.dumps(value, indent=2, ensure_ascii=False)
    from kohort.cli.crds import to_yaml

    return to_yaml([value]).removeprefix("---\n").rstrip("\n")


def environment() -> Mapping[str, str]:
    """The environment, with NO_COLOR for --no-color."""
    context = click.get_current_context(silent=True)
    return {**os.environ, "NO_COLOR": "1"} if context is not None and context.color is False else os.environ


def screen() -> Screen:
    """The screen of standard output, respecting the environment and --no-color."""
    return screen_of(sys.stdout, environment())


def show(lines: Iterable[str]) -> None:
    """Print lines with one call, which is faster than one call per line."""
    text = "\n".join(lines)
    if text:
        click.echo(text)


def running(work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine to its end."""
    import asyncio

    return asyncio.run(work)


LONG_RUNNING_ATTEMPTS = 5
"""Attempts per request of long-running commands; interactive ones fail sooner."""


@asynccontextmanager
async def running_client(access: ClientConfig, attempts: int = 2) -> AsyncIterator[Client]:
    """A client of the server; its errors are raised as an ApiError of one line."""
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
    """Errors of the client as an ApiError of one line with the remedy."""
    from kohort.kube.errors import KubeError

    try:
        yield
    except KubeError as error:
        raise ApiError(_line(error, access)) from None


def _line(error: KubeError, access: ClientConfig) -> str:
    from kohort.kube.errors import ConfigError, StatusError, UnreachableError

    if isinstance(error, StatusError):
        return _status_error(error, access)
    if isinstance(error, ConfigError):
        return str(error)
    if not isinstance(error, UnreachableError):
        return str(error)
    return _stopped(access.server) or (f"{error} ({access.origin})" if access.origin else str(error))


def _stopped(server: str) -> str:
    """The error for a stopped local cluster; empty for any other server."""
    from kohort.local.runs import ClusterState, cluster_status, start_command, stopped_cluster_at

    directory = stopped_cluster_at(server)
    if directory is None:
        return ""
    how = "ended unexpectedly" if cluster_status(directory).state is ClusterState.CRASHED else "is stopped"
    return f"cluster {directory.name} at {server} {how}: start it with `{start_command(directory)}`"


def _status_error(error: StatusError, access: ClientConfig) -> str:
    if error.code == 401:
        return f"not authenticated at {access.server}: check the credentials in {access.origin}"
    if is_not_installed(error):
        return not_installed(access)
    if error.code == 403:
        return f"permission denied by {access.server}: {error}"
    return f"{access.server}: {error}"


def is_not_installed(error: StatusError) -> bool:
    """Whether the server does not serve Kueue's kinds: a 404 without an object name."""
    return error.is_not_found and not error.details.get("name")


def not_installed(access: ClientConfig) -> str:
    """The error for a cluster without Kueue's kinds."""
    remedy = "run `kohort install | kubectl apply --server-side -f -`, or start a local cluster with `kohort up`"
    return f"Kohort is not installed on {access.server}: {remedy}"
