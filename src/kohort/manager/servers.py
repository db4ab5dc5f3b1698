"""The servers besides webhooks: health, metrics, visibility; each where the Configuration says, or nowhere."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from kohort.api.config.v1beta2 import Configuration, VisibilityServer
from kohort.api.gates import FeatureGates, Gate
from kohort.engine.engine import Engine
from kohort.kube.client import Client
from kohort.kube.reviews import Reviews
from kohort.manager.front_proxy import following_front_proxy
from kohort.manager.options import Exposure
from kohort.metrics.registry import MetricsRegistry
from kohort.web.authorization import AuthorizationFilter as Door
from kohort.web.authorization import allow_all
from kohort.web.health import Check, health_app
from kohort.web.listening import Address, listening
from kohort.web.metrics_page import metrics_app
from kohort.web.visibility.server import visibility_app
from kohort.webhooks.startup import ServingCertificates

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerDependencies:
    """What servers are made of."""

    client: Client
    """Also a follower's may ask for reviews."""
    configuration: Configuration
    gates: FeatureGates
    certificates: ServingCertificates


@asynccontextmanager
async def running_health_server(
    configuration: Configuration, checks: Mapping[str, Check]
) -> AsyncIterator[Address | None]:
    """Health, for as long as the block lasts."""
    settings = configuration.health
    address = Address.parse(settings.health_probe_bind_address, "health.healthProbeBindAddress")
    app = health_app(settings.liveness_endpoint_name, settings.readiness_endpoint_name, checks)
    async with AsyncExitStack() as stack:
        yield await stack.enter_async_context(listening(app, address, "health")) if address else None


@asynccontextmanager
async def running_metrics_server(
    backstage: ServerDependencies, registry: MetricsRegistry, exposure: Exposure
) -> AsyncIterator[Address | None]:
    """Metrics, for as long as the block lasts."""
    configuration = backstage.configuration
    address = Address.parse(configuration.metrics.bind_address, "metrics.bindAddress")
    async with AsyncExitStack() as stack:
        if address is None:
            yield None
        elif exposure is Exposure.PLAIN:
            yield await stack.enter_async_context(listening(metrics_app(registry, allow_all), address, "metrics"))
        else:
            app = metrics_app(registry, Door(Reviews(backstage.client)).admit)
            tls = backstage.certificates.context(configuration.tls)
            yield await stack.enter_async_context(listening(app, address, "metrics", tls))


@asynccontextmanager
async def running_visibility_server(
    backstage: ServerDependencies, engine: Callable[[], Engine | None]
) -> AsyncIterator[Address | None]:
    """The visibility API, for as long as the block lasts; without a live engine it says so (API-99)."""
    address = visibility_address(backstage.configuration, backstage.gates)
    if address is None:
        yield None
        return
    tls = backstage.certificates.context(backstage.configuration.tls)
    async with following_front_proxy(backstage.client, tls) as proxy:
        door = Door(Reviews(backstage.client), proxy)
        app = visibility_app(engine, door.admit)
        async with listening(app, address, "visibility", tls) as bound:
            yield bound


def visibility_address(configuration: Configuration, gates: FeatureGates) -> Address | None:
    """Where the visibility API is served; nowhere without its gate."""
    if not gates.enabled(Gate.VisibilityOnDemand):
        return None
    settings = configuration.visibility_server or VisibilityServer()
    return Address(settings.bind_address or "", settings.bind_port)
