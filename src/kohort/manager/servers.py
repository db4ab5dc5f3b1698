"""The servers besides webhooks: health probes, metrics, visibility API; each can be disabled."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from kohort.api.config.v1beta2 import Configuration, VisibilityServer
from kohort.api.gates import FeatureGates, Gate
from kohort.engine.engine import Engine
from kohort.kube.access_reviews import AccessReviewer
from kohort.kube.client import Client
from kohort.manager.front_proxy import running_front_proxy_watch
from kohort.manager.options import MetricsExposure
from kohort.metrics.registry import MetricsRegistry
from kohort.web.authorization import AuthorizationFilter, allow_all
from kohort.web.health import ReadinessCheck, health_app
from kohort.web.listening import BindAddress, listening
from kohort.web.metrics_page import metrics_app
from kohort.web.visibility.server import visibility_app
from kohort.webhooks.startup import ServingCertificates

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerDependencies:
    """Dependencies of the servers."""

    client: Client
    """Not the leader-only client: followers review requests too."""
    configuration: Configuration
    gates: FeatureGates
    certificates: ServingCertificates


@asynccontextmanager
async def running_health_server(
    configuration: Configuration, checks: Mapping[str, ReadinessCheck]
) -> AsyncIterator[BindAddress | None]:
    """Serves health probes until the context exits."""
    settings = configuration.health
    address = BindAddress.parse(settings.health_probe_bind_address, "health.healthProbeBindAddress")
    app = health_app(settings.liveness_endpoint_name, settings.readiness_endpoint_name, checks)
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(listening(app, address, "health")) if address else None


@asynccontextmanager
async def running_metrics_server(
    dependencies: ServerDependencies, registry: MetricsRegistry, exposure: MetricsExposure
) -> AsyncIterator[BindAddress | None]:
    """Serves metrics until the context exits."""
    configuration = dependencies.configuration
    address = BindAddress.parse(configuration.metrics.bind_address, "metrics.bindAddress")
    async with AsyncExitStack() as stack:
        if address is None:
            yield None
        elif exposure is MetricsExposure.PLAIN:
            yield await stack.enter_async_context(listening(metrics_app(registry, allow_all), address, "metrics"))
        else:
            app = metrics_app(registry, AuthorizationFilter(AccessReviewer(dependencies.client)).admit)
            tls = dependencies.certificates.context(configuration.tls)
            yield await stack.enter_async_context(listening(app, address, "metrics", tls))


@asynccontextmanager
async def running_visibility_server(
    dependencies: ServerDependencies, engine: Callable[[], Engine | None]
) -> AsyncIterator[BindAddress | None]:
    """Serves the visibility API until the context exits; it responds with 503 while caches are not synced (API-99)."""
    address = visibility_address(dependencies.configuration, dependencies.gates)
    if address is None:
        yield None
        return
    tls = dependencies.certificates.context(dependencies.configuration.tls)
    async with running_front_proxy_watch(dependencies.client, tls) as proxy:
        authorization = AuthorizationFilter(AccessReviewer(dependencies.client), proxy)
        app = visibility_app(engine, authorization.admit)
        async with listening(app, address, "visibility", tls) as bound:
            yield bound


def visibility_address(configuration: Configuration, gates: FeatureGates) -> BindAddress | None:
    """The address of the visibility API; None if its gate is off."""
    if not gates.enabled(Gate.VisibilityOnDemand):
        return None
    settings = configuration.visibility_server or VisibilityServer()
    return BindAddress(settings.bind_address or "", settings.bind_port)
