"""`kohort manager`: queues at work on any Kubernetes API server, in the foreground until Ctrl-C or SIGTERM."""

import asyncio
import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import msgspec

from kohort.api.config import SERVICE_ACCOUNT_NAMESPACE, own_namespace
from kohort.api.config.loading import Loaded, load_configuration
from kohort.api.config.parsing import ParsingContext
from kohort.api.config.v1beta2 import Configuration, VisibilityServer
from kohort.api.errors import ApiError
from kohort.api.gates import COMPAT
from kohort.cli.options import PATIENT, running_client
from kohort.cli.signals import stop_asked
from kohort.controllers.context import ManagerSettings
from kohort.embedded.memory import freeze_startup_objects, tune_allocator
from kohort.kube.client import Client
from kohort.kube.config import ClientConfig, ConfigOverrides, load_client_config
from kohort.kube.errors import KubeError
from kohort.kube.event_loop import run
from kohort.manager.crds import WhenMissing
from kohort.manager.frameworks import all_frameworks, framework_names, known_frameworks
from kohort.manager.logs import LogFormat, configure_logging
from kohort.manager.options import ManagerOptions, MetricsExposure
from kohort.manager.startup import running_manager
from kohort.web.listening import BindAddress

log = logging.getLogger("kohort.cli.manager")

STOP_SECONDS: Final = 25.0
"""How long everything may take to end: less than the 30 s that Kubernetes gives a pod."""

EXAMPLES = """\b
Examples:
  kohort manager --config controller_manager_config.yaml        # in a pod: Kueue's own configuration file
  kohort manager --kubeconfig admin.conf --install-crds \\
      --webhook-url https://192.0.2.7:9443                      # from a shell, webhooks included
  kohort manager --no-leader-elect --metrics-bind-address 127.0.0.1:8443 --metrics-plain -v
  kohort manager --feature-gates PartialAdmission=false,AllAlpha=true
"""


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says instead of the Configuration; empty where it says nothing."""

    leader_elect: bool | None
    metrics: str
    health: str
    webhook_port: int | None
    visibility: str

    def applied(self, configuration: Configuration) -> Configuration:
        """The Configuration as the command line wants it; raises AddressError."""
        change = msgspec.structs.replace
        changed = configuration
        if self.leader_elect is not None:
            changed = change(changed, leader_election=change(changed.leader_election, leader_elect=self.leader_elect))
        if self.metrics:
            changed = change(changed, metrics=change(changed.metrics, bind_address=self.metrics))
        if self.health:
            changed = change(changed, health=change(changed.health, health_probe_bind_address=self.health))
        if self.webhook_port is not None:
            changed = change(changed, webhook=change(changed.webhook, port=self.webhook_port))
        return change(changed, visibility_server=self._visibility() or changed.visibility_server)

    def _visibility(self) -> VisibilityServer | None:
        address = BindAddress.parse(self.visibility, "--visibility-bind-address")
        return VisibilityServer(bind_address=address.host or None, bind_port=address.port) if address else None


@dataclass(frozen=True, slots=True)
class ManagerArguments:
    """What the command line asks for."""

    access: ClientConfig
    settings: ManagerSettings
    options: ManagerOptions


@click.command(epilog=EXAMPLES)
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="Kueue's Configuration, v1beta1 or v1beta2."
)
@click.option("--kubeconfig", type=click.Path(path_type=Path), metavar="FILE", help="Which API server; as for kubectl.")
@click.option("--context", default="", metavar="NAME", help="Context of the kubeconfig.")
@click.option(
    "--feature-gates", default="", metavar="NAME=BOOL,…", help="Gates to turn on or off; also AllAlpha, AllBeta."
)
@click.option(
    "--compat",
    type=click.Choice(list(COMPAT)),
    help="Feature gates default as in this Kueue release.",
)
@click.option("--namespace", default="", metavar="NAME", help="Where the manager lives, if the file does not say.")
@click.option("--leader-elect/--no-leader-elect", default=None, help="Whether replicas elect a leader.")
@click.option("--metrics-bind-address", default="", metavar="HOST:PORT", help="Where metrics are; 0 for nowhere.")
@click.option(
    "--metrics-plain",
    "metrics",
    flag_value=MetricsExposure.PLAIN,
    default=MetricsExposure.GUARDED,
    type=click.UNPROCESSED,
    help="Serve metrics over HTTP to everybody, instead of over TLS to those who may read them.",
)
@click.option("--health-probe-bind-address", default="", metavar="HOST:PORT", help="Where health is; 0 for nowhere.")
@click.option("--webhook-port", type=click.IntRange(0, 65535), metavar="PORT", help="Where webhooks listen.")
@click.option(
    "--webhook-url", default="", metavar="URL", help="How the API server reaches them; without it, by their Service."
)
@click.option(
    "--webhook-client-ca-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Authorities (PEM) of API servers' client certificates; admission reviews without one are refused.",
)
@click.option("--visibility-bind-address", default="", metavar="HOST:PORT", help="Where the visibility API is.")
@click.option(
    "--install-crds",
    "when_missing",
    flag_value=WhenMissing.INSTALL,
    type=click.UNPROCESSED,
    help="Create missing CustomResourceDefinitions, and the namespace.",
)
@click.option(
    "--wait-for-crds",
    "when_missing",
    flag_value=WhenMissing.WAIT,
    type=click.UNPROCESSED,
    help="Wait for missing CustomResourceDefinitions.",
)
@click.option(
    "--log-format",
    type=click.Choice([each.value for each in LogFormat]),
    help="Lines for machines or for people; by default as standard error is a file or a terminal.",
)
@click.option("-v", "--verbose", "verbosity", count=True, help="More lines; twice, those of libraries too.")
def manager(
    *,
    config: Path | None,
    kubeconfig: Path | None,
    context: str,
    feature_gates: str,
    compat: str | None,
    namespace: str,
    leader_elect: bool | None,
    metrics_bind_address: str,
    metrics: MetricsExposure,
    health_probe_bind_address: str,
    webhook_port: int | None,
    webhook_url: str,
    webhook_client_ca_file: Path | None,
    visibility_bind_address: str,
    when_missing: WhenMissing | None,
    log_format: str | None,
    verbosity: int,
) -> None:
    """Run queues on a Kubernetes API server: controllers, webhooks, metrics and the visibility API.

    Settings come from Kueue's Configuration file; what the command line says goes before it.
    """
    configure_logging(LogFormat(log_format) if log_format else _usual_format(), verbosity)
    loaded = load_configuration(config, _surroundings(namespace, feature_gates, compat or ""))
    for warning in loaded.warnings:
        log.warning("%s: %s", config, warning)
    overrides = Overrides(
        leader_elect, metrics_bind_address, health_probe_bind_address, webhook_port, visibility_bind_address
    )
    options = ManagerOptions(
        webhook_url, metrics, when_missing or WhenMissing.FAIL, webhook_client_ca=webhook_client_ca_file
    )
    settings = _settings(loaded, overrides, namespace, options)
    tune_allocator()
    try:
        wish = ManagerArguments(load_client_config(ConfigOverrides(kubeconfig, context)), settings, options)
        run(_run(wish))
    except KubeError as error:
        raise ApiError(str(error)) from None


def _usual_format() -> LogFormat:
    return LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON


def _surroundings(namespace: str, gates: str, compat: str) -> ParsingContext:
    home = namespace or own_namespace(SERVICE_ACCOUNT_NAMESPACE)
    ours = all_frameworks()
    return ParsingContext(home, known_frameworks(ours), gates, framework_names(ours), compat)


def _settings(loaded: Loaded, overrides: Overrides, namespace: str, options: ManagerOptions) -> ManagerSettings:
    configuration = overrides.applied(loaded.config)
    if namespace and configuration.namespace != namespace:
        raise click.UsageError(f"--namespace {namespace} contradicts the file's {configuration.namespace}: give one")
    return ManagerSettings(configuration, loaded.gates, configuration.namespace, options.identity)


async def _run(wish: ManagerArguments) -> None:
    stopped = stop_asked()
    async with running_client(wish.access, PATIENT) as client:
        # See that the server answers us, before more is tried.
        await client.get_json("/version")
        await _manage(wish, client, stopped)


async def _manage(wish: ManagerArguments, client: Client, stopped: asyncio.Event) -> None:
    """Work until somebody says stop, also while starting; then end everything, in bounded time."""
    work = asyncio.create_task(_work(wish, client))
    stop = asyncio.create_task(stopped.wait())
    await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not work.done():
        log.info("stopping")
        work.cancel()
        await asyncio.wait({work}, timeout=STOP_SECONDS)
    if not work.done():
        raise ApiError(f"could not stop within {STOP_SECONDS:.0f} s: what was under way is left to the next start")
    if not work.cancelled():
        work.result()
    log.info("stopped")


async def _work(wish: ManagerArguments, client: Client) -> None:
    async with running_manager(client, wish.settings, wish.options) as manager:
        await manager.caches_synced.wait()
        freeze_startup_objects()
        await asyncio.get_running_loop().create_future()
