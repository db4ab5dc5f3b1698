"""`kohort manager`: runs the manager in the foreground until Ctrl-C or SIGTERM."""

import asyncio
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import msgspec

from kohort.api.config.defaults import SERVICE_ACCOUNT_NAMESPACE, own_namespace
from kohort.api.config.loading import Loaded, load_configuration
from kohort.api.config.parsing import ParsingContext
from kohort.api.config.v1beta2 import Configuration, VisibilityServer
from kohort.api.errors import ApiError
from kohort.api.gates import COMPAT
from kohort.cli.option_types import EXISTING_FILE, FILE, PORT, switch_option
from kohort.cli.options import LONG_RUNNING_ATTEMPTS, framework_option, kubeconfig_options, running_client
from kohort.cli.signals import stop_on_signals
from kohort.controllers.context import ManagerSettings
from kohort.embedded.memory import freeze_startup_objects, tune_allocator
from kohort.jobs.builtin import all_frameworks, known_frameworks, with_declared
from kohort.jobs.contract import Framework
from kohort.kube.client import Client
from kohort.kube.config import ClientConfig, ConfigOverrides, load_client_config
from kohort.kube.errors import KubeError
from kohort.kube.event_loop import run
from kohort.manager.crds import WhenMissing
from kohort.manager.logs import LogFormat, configure_logging
from kohort.manager.options import ManagerOptions, MetricsExposure
from kohort.manager.startup import running_manager
from kohort.web.listening import BindAddress

log = logging.getLogger("kohort.cli.manager")

STOP_SECONDS: Final = 25.0
"""Shutdown timeout: less than the default termination grace period of a pod (30 s)."""

EXAMPLES = """\b
Examples:
  kohort manager --config controller_manager_config.yaml        # in a pod
  kohort manager --kubeconfig admin.conf --install-crds \\
      --webhook-url https://192.0.2.7:9443                      # outside of the cluster, with webhooks
  kohort manager --no-leader-elect --metrics-bind-address 127.0.0.1:8443 --metrics-plain -v
  kohort manager --feature-gates PartialAdmission=false,AllAlpha=true
"""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Flags that override the Configuration; empty if not set."""

    leader_elect: bool | None
    metrics: str
    health: str
    webhook_port: int | None
    visibility: str

    def applied(self, configuration: Configuration) -> Configuration:
        """The Configuration with the overrides; raises AddressError."""
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
    """Arguments of `kohort manager`."""

    access: ClientConfig
    settings: ManagerSettings
    options: ManagerOptions


@click.command(epilog=EXAMPLES)
@click.option("--config", type=FILE, help="Path to the Configuration file (v1beta1 or v1beta2).")
@kubeconfig_options
@click.option(
    "--feature-gates",
    default="",
    metavar="NAME=BOOL,…",
    help="Feature gates to enable or disable; also AllAlpha, AllBeta.",
)
@click.option(
    "--compat",
    type=click.Choice(list(COMPAT)),
    help="Kueue release whose feature gate defaults are used.",
)
@click.option(
    "--namespace", default="", metavar="NAME", help="Namespace of the manager, if the Configuration has none."
)
@click.option("--leader-elect/--no-leader-elect", default=None, help="Enable or disable leader election.")
@click.option(
    "--metrics-bind-address", default="", metavar="HOST:PORT", help="Address of the metrics endpoint (0: disabled)."
)
@switch_option(
    "--metrics-plain",
    "metrics",
    on=MetricsExposure.PLAIN,
    off=MetricsExposure.GUARDED,
    text="Serve metrics over plain HTTP without authorization.",
)
@click.option(
    "--health-probe-bind-address",
    default="",
    metavar="HOST:PORT",
    help="Address of the health probe endpoint (0: disabled).",
)
@click.option("--webhook-port", type=PORT, help="Port of the webhook server.")
@click.option(
    "--webhook-url",
    default="",
    metavar="URL",
    help="URL at which the API server reaches the webhooks (default: their Service).",
)
@click.option(
    "--webhook-client-ca-file",
    type=EXISTING_FILE,
    help="CA bundle (PEM) for client certificates of API servers; other admission requests are rejected.",
)
@click.option("--visibility-bind-address", default="", metavar="HOST:PORT", help="Address of the visibility API.")
@switch_option("--install-crds", "when_missing", on=WhenMissing.INSTALL, text="Create missing CRDs and the namespace.")
@switch_option("--wait-for-crds", "when_missing", on=WhenMissing.WAIT, text="Wait for missing CRDs.")
@framework_option
@click.option(
    "--log-format",
    type=click.Choice([each.value for each in LogFormat]),
    help="Log format (default: console on a terminal, json otherwise).",
)
@click.option("-v", "--verbose", "verbosity", count=True, help="Increase verbosity; -vv includes libraries.")
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
    framework_files: tuple[Path, ...],
    log_format: str | None,
    verbosity: int,
) -> None:
    """Run the controllers, webhooks, metrics and visibility API against a Kubernetes API server.

    Flags override the Configuration file.
    """
    configure_logging(LogFormat(log_format) if log_format else _default_format(), verbosity)
    frameworks = all_frameworks(framework_files)
    loaded = load_configuration(config, _parsing_context(frameworks, namespace, feature_gates, compat or ""))
    for warning in loaded.warnings:
        log.warning("%s: %s", config, warning)
    overrides = Overrides(
        leader_elect, metrics_bind_address, health_probe_bind_address, webhook_port, visibility_bind_address
    )
    options = ManagerOptions(
        webhook_url,
        metrics,
        when_missing or WhenMissing.FAIL,
        webhook_client_ca=webhook_client_ca_file,
        frameworks=frameworks,
    )
    settings = _settings(loaded, overrides, namespace, options)
    tune_allocator()
    try:
        arguments = ManagerArguments(load_client_config(ConfigOverrides(kubeconfig, context)), settings, options)
        run(_run(arguments))
    except KubeError as error:
        raise ApiError(str(error)) from None


def _default_format() -> LogFormat:
    return LogFormat.CONSOLE if sys.stderr.isatty() else LogFormat.JSON


def _parsing_context(frameworks: Sequence[Framework], namespace: str, gates: str, compat: str) -> ParsingContext:
    home = namespace or own_namespace(SERVICE_ACCOUNT_NAMESPACE)
    return ParsingContext(home, known_frameworks(frameworks), gates, compat)


def _settings(loaded: Loaded, overrides: Overrides, namespace: str, options: ManagerOptions) -> ManagerSettings:
    configuration = with_declared(overrides.applied(loaded.config), options.frameworks)
    if namespace and configuration.namespace != namespace:
        raise click.UsageError(
            f"--namespace {namespace} conflicts with namespace {configuration.namespace} of the Configuration: omit one"
        )
    return ManagerSettings(configuration, loaded.gates, configuration.namespace, options.identity)


async def _run(arguments: ManagerArguments) -> None:
    stopped = stop_on_signals()
    async with running_client(arguments.access, LONG_RUNNING_ATTEMPTS) as client:
        # Fail early if the server cannot be reached.
        await client.get_json("/version")
        await _manage(arguments, client, stopped)


async def _manage(arguments: ManagerArguments, client: Client, stopped: asyncio.Event) -> None:
    """Run until stopped, also while starting; then shut down within the timeout."""
    work = asyncio.create_task(_work(arguments, client))
    stop = asyncio.create_task(stopped.wait())
    await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not work.done():
        log.info("stopping")
        work.cancel()
        await asyncio.wait({work}, timeout=STOP_SECONDS)
    if not work.done():
        raise ApiError(f"shutdown timed out after {STOP_SECONDS:.0f} s")
    if not work.cancelled():
        work.result()
    log.info("stopped")


async def _work(arguments: ManagerArguments, client: Client) -> None:
    async with running_manager(client, arguments.settings, arguments.options) as manager:
        await manager.caches_synced.wait()
        freeze_startup_objects()
        await asyncio.get_running_loop().create_future()
