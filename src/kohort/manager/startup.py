"""All parts at work in one process: what `kohort manager` runs, and tests too.

Every replica keeps its caches and its engine warm and answers webhooks; controllers work in the one that leads.
Webhooks are answered before caches are filled: to list objects an API server may need them converted.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace

from kohort.controllers.context import ControllerContext, ManagerSettings
from kohort.controllers.startup import running_leader_controllers, running_queue_gauges
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.defaulting.context_builder import JobContextBuilder
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.startup import running_job_reconcilers
from kohort.kube.client import Client
from kohort.kube.rate_limiter import TokenBucket
from kohort.manager.crds import ensure_crds
from kohort.manager.frameworks import all_frameworks, enabled_frameworks, resources_of
from kohort.manager.leadership import Leadership
from kohort.manager.leadership_loop import ControllerGroups, LeadershipLoop
from kohort.manager.manager import Manager
from kohort.manager.options import ManagerOptions
from kohort.manager.permissions import check_permissions, rights_at_start, rights_to_change, rights_to_follow
from kohort.manager.servers import (
    ServerDependencies,
    running_health_server,
    running_metrics_server,
    running_visibility_server,
)
from kohort.metrics.kube import ClientMetrics
from kohort.metrics.kueue import KueueMetrics
from kohort.metrics.registry import MetricsRegistry
from kohort.web.listening import Address
from kohort.webhooks.ca_injector import WebhookWiring
from kohort.webhooks.configurations import InCluster, Place, at_url
from kohort.webhooks.configurations import ManagerEndpoint as Reached
from kohort.webhooks.jobs import framework_registrations, job_handlers
from kohort.webhooks.kueue import kueue_handlers
from kohort.webhooks.registrations import KUEUE, UNSUPPORTED_REGISTRATIONS, AnyRegistration
from kohort.webhooks.startup import VISIBILITY_SERVICE, own_name, running_certificates, running_webhook_server
from kohort.webhooks.unsupported import unsupported_judges

log = logging.getLogger(__name__)


@asynccontextmanager
async def running_manager(client: Client, settings: ManagerSettings, options: ManagerOptions) -> AsyncIterator[Manager]:
    """A manager at work for as long as the block lasts; a fault in its work ends the block.

    Raises ApiError or KubeError, in one line, where it can't start.
    """
    async with AsyncExitStack() as stack:
        start = _Start(stack, client, settings, options)
        await start.serve_health()
        await start.look_round()
        await start.answer_webhooks()
        await start.serve_others()
        await start.live()
        yield start.manager


class _Start:
    """The steps of a start, each of which leaves something on the stack that is ended in reverse order."""

    def __init__(
        self, stack: AsyncExitStack, client: Client, settings: ManagerSettings, options: ManagerOptions
    ) -> None:
        self._stack = stack
        self._registry = MetricsRegistry()
        self._client = replace(client, metrics=ClientMetrics(self._registry))
        self._settings = settings
        self._options = options
        self._configuration = settings.configuration
        self._frameworks = enabled_frameworks(settings.configuration, all_frameworks())
        self._gatherer: JobContextBuilder | None = None
        election = self._configuration.leader_election
        leadership = Leadership(self._client, election, settings.namespace, options.identity)
        self.manager = Manager(settings, leadership)

    async def serve_health(self) -> None:
        """First of all, so that probes see a process that waits for something else."""
        manager = self.manager
        checks = {"caches": manager.cache_problem, "certificate": manager.certificate_problem}
        self._note("health", await self._stack.enter_async_context(running_health_server(self._configuration, checks)))

    async def look_round(self) -> None:
        """See that definitions and rights are there, before anything fails for want of them."""
        service = self._configuration.internal_cert_management.webhook_service_name
        await ensure_crds(self._client, self._settings.namespace, service, self._options.when_missing)
        kinds = resources_of(self._frameworks)
        rights = rights_at_start(self._configuration, self._settings.namespace)
        await check_permissions(self._client, (*rights, *rights_to_follow(kinds), *rights_to_change(kinds)))

    async def answer_webhooks(self) -> None:
        """With a certificate that API servers are told to trust."""
        aggregated = InCluster(self._settings.namespace, VISIBILITY_SERVICE)
        reached = Reached(self._place(), self._settings.namespace, await own_name(self._client))
        jobs = framework_registrations(self._frameworks.at_work())
        registrations: tuple[AnyRegistration, ...] = (*KUEUE, *jobs, *UNSUPPORTED_REGISTRATIONS)
        wiring = WebhookWiring(reached, registrations, aggregated)
        self._certificates = await self._stack.enter_async_context(
            running_certificates(self._client, self._configuration, wiring)
        )
        self.manager.certificates = self._certificates
        judges = kueue_handlers(self._settings.gates) | job_handlers(self._frameworks, lambda: self._gatherer)
        judges |= unsupported_judges(self._frameworks)
        options = self._options
        answers = running_webhook_server(
            self._configuration, self._certificates, judges, options.webhook_client_ca, options.webhook_socket
        )
        server = await self._stack.enter_async_context(answers)
        self._note("webhooks", Address(self._configuration.webhook.host, server.port))

    async def serve_others(self) -> None:
        """Metrics and the visibility API."""
        backstage = ServerDependencies(self._client, self._configuration, self._settings.gates, self._certificates)
        metrics = running_metrics_server(backstage, self._registry, self._options.metrics)
        self._note("metrics", await self._stack.enter_async_context(metrics))
        visibility = running_visibility_server(backstage, self.manager.live_engine)
        self._note("visibility", await self._stack.enter_async_context(visibility))

    async def live(self) -> None:
        """Stand for election, follow the server, and work while leading."""
        leadership = self.manager.leadership
        await self._stack.enter_async_context(leadership.standing())
        metrics = KueueMetrics(self._registry, self._configuration, self._settings.gates, leadership.role)
        client = replace(self._client, limiter=_limiter(self._client, self._settings))
        crews = ControllerGroups(always=(running_queue_gauges,), leading=(running_leader_controllers, self._jobs))
        lives = LeadershipLoop(self.manager, client, metrics, crews, self._warm)
        await self._stack.enter_async_context(_while_living(lives))

    def _jobs(self, world: ControllerContext) -> AbstractAsyncContextManager[None]:
        return running_job_reconcilers(world, self._frameworks)

    def _warm(self, world: ControllerContext) -> None:
        """Webhooks of jobs look round in the newest world: that of the last life until the next one is warm."""
        # Nothing is expected of these reads: only reconcilers wait to see what they wrote.
        self._gatherer = JobContextBuilder(world, self._frameworks, CacheReader(world, UidExpectations()))

    def _place(self) -> Place:
        if self._options.webhook_url:
            return at_url(self._options.webhook_url)
        return InCluster(self._settings.namespace, self._configuration.internal_cert_management.webhook_service_name)

    def _note(self, name: str, address: Address | None) -> None:
        if address is not None:
            self.manager.addresses[name] = address
            log.info("%s on %s", name, address)


@asynccontextmanager
async def _while_living(lives: LeadershipLoop) -> AsyncIterator[None]:
    """Live for as long as the block lasts; a fault there ends the block and is raised from it."""
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(lives.run(), name="lives")
            yield
            task.cancel()
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


def _limiter(client: Client, settings: ManagerSettings) -> TokenBucket | None:
    """What `clientConnection` allows; reviews and the lease are not held back by it."""
    connection = settings.configuration.client_connection
    if connection.qps <= 0:
        return None
    return TokenBucket(client.clock, connection.qps, max(connection.burst, 1))
