"""Starts all parts of a manager in one process, for `kohort manager` and for tests.

Every replica keeps its caches and its engine in sync and serves webhooks; controllers run in the leader.
Webhooks are served before caches sync, because an API server may need conversion to list objects.
"""

import asyncio
import logging
from collections import ChainMap
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace

from kohort.checks.startup import running_admission_checks
from kohort.controllers.context import ControllerContext, ManagerSettings
from kohort.controllers.startup import running_leader_controllers, running_queue_gauges
from kohort.jobs.cache_reader import CacheReader
from kohort.jobs.defaulting.context_builder import JobContextBuilder
from kohort.jobs.expectations import UidExpectations
from kohort.jobs.registry import registry_of
from kohort.jobs.startup import running_job_reconcilers
from kohort.kube.client import Client
from kohort.kube.rate_limiter import TokenBucket
from kohort.manager.crds import ensure_crds
from kohort.manager.declared_frameworks import running_declared_frameworks
from kohort.manager.leadership import Leadership
from kohort.manager.leadership_loop import ControllerGroups, LeadershipLoop
from kohort.manager.manager import Manager
from kohort.manager.options import ManagerOptions
from kohort.manager.permissions import check_permissions, framework_permissions, startup_permissions
from kohort.manager.servers import (
    ServerDependencies,
    running_health_server,
    running_metrics_server,
    running_visibility_server,
)
from kohort.metrics.kube import ClientMetrics
from kohort.metrics.kueue import KueueMetrics
from kohort.metrics.registry import MetricsRegistry
from kohort.web.listening import BindAddress
from kohort.webhooks.ca_injector import WebhookWiring
from kohort.webhooks.configurations import InCluster, ManagerEndpoint, WebhookLocation, at_url
from kohort.webhooks.jobs import JobHandlers, framework_registrations
from kohort.webhooks.kueue import kueue_handlers
from kohort.webhooks.registrations import KUEUE, UNSUPPORTED_REGISTRATIONS, AnyRegistration
from kohort.webhooks.startup import VISIBILITY_SERVICE, own_username, running_certificates, running_webhook_server
from kohort.webhooks.unsupported import unsupported_handlers

log = logging.getLogger(__name__)


@asynccontextmanager
async def running_manager(client: Client, settings: ManagerSettings, options: ManagerOptions) -> AsyncIterator[Manager]:
    """Runs a manager until the context exits; a failure of a controller ends the block.

    Raises ApiError or KubeError if it cannot start.
    """
    async with AsyncExitStack() as stack:
        start = _Start(stack, client, settings, options)
        await start.serve_health()
        await start.check_prerequisites()
        await start.serve_webhooks()
        await start.serve_others()
        await start.start_controllers()
        yield start.manager


class _Start:
    """The steps of a start; each puts context managers on the stack, which exit in reverse order."""

    def __init__(
        self, stack: AsyncExitStack, client: Client, settings: ManagerSettings, options: ManagerOptions
    ) -> None:
        self._stack = stack
        self._registry = MetricsRegistry()
        self._client = replace(client, metrics=ClientMetrics(self._registry))
        self._settings = settings
        self._options = options
        self._configuration = settings.configuration
        self._frameworks = registry_of(settings.configuration, options.frameworks, settings.gates)
        self._job_contexts: JobContextBuilder | None = None
        election = self._configuration.leader_election
        leadership = Leadership(self._client, election, settings.namespace, options.identity)
        self.manager = Manager(settings, leadership)

    async def serve_health(self) -> None:
        """Serve health probes first, so that they succeed while the process waits for something else."""
        manager = self.manager
        checks = {"caches": manager.cache_problem, "certificate": manager.certificate_problem}
        self._record_address(
            "health", await self._stack.enter_async_context(running_health_server(self._configuration, checks))
        )

    async def check_prerequisites(self) -> None:
        """Check that CRDs and permissions exist."""
        service = self._configuration.internal_cert_management.webhook_service_name
        await ensure_crds(self._client, self._settings.namespace, service, self._options.when_missing)
        permissions = (*startup_permissions(self._settings), *framework_permissions(self._frameworks))
        await check_permissions(self._client, permissions)

    async def serve_webhooks(self) -> None:
        """Serve webhooks, and inject the CA of their certificate into objects of the API server."""
        aggregated = InCluster(self._settings.namespace, VISIBILITY_SERVICE)
        endpoint = ManagerEndpoint(self._webhook_location(), self._settings.namespace, await own_username(self._client))
        wiring = WebhookWiring(endpoint, self._registrations, aggregated, self._frameworks.subscribe)
        self._certificates = await self._stack.enter_async_context(
            running_certificates(self._client, self._configuration, wiring)
        )
        self.manager.certificates = self._certificates
        own = kueue_handlers(self._settings.gates) | unsupported_handlers()
        handlers = ChainMap(own, JobHandlers(self._frameworks, lambda: self._job_contexts).table)
        options = self._options
        results = running_webhook_server(
            self._configuration, self._certificates, handlers, options.webhook_client_ca, options.webhook_socket
        )
        server = await self._stack.enter_async_context(results)
        self._record_address("webhooks", BindAddress(self._configuration.webhook.host, server.port))

    async def serve_others(self) -> None:
        """Serve metrics and the visibility API."""
        dependencies = ServerDependencies(self._client, self._configuration, self._settings.gates, self._certificates)
        metrics = running_metrics_server(dependencies, self._registry, self._options.metrics)
        self._record_address("metrics", await self._stack.enter_async_context(metrics))
        visibility = running_visibility_server(dependencies, self.manager.synced_engine)
        self._record_address("visibility", await self._stack.enter_async_context(visibility))

    async def start_controllers(self) -> None:
        """Start leader election, caches and controllers."""
        leadership = self.manager.leadership
        await self._stack.enter_async_context(leadership.running())
        metrics = KueueMetrics(self._registry, self._configuration, self._settings.gates, leadership.role)
        client = replace(self._client, limiter=_limiter(self._client, self._settings))
        always = (running_queue_gauges, self._declared_frameworks)
        leading = (running_leader_controllers, self._jobs, running_admission_checks)
        groups = ControllerGroups(always=always, leading=leading)
        loop = LeadershipLoop(self.manager, client, metrics, groups, self._on_synced)
        await self._stack.enter_async_context(_running_loop(loop))

    def _jobs(self, context: ControllerContext) -> AbstractAsyncContextManager[None]:
        return running_job_reconcilers(context, self._frameworks)

    def _declared_frameworks(self, context: ControllerContext) -> AbstractAsyncContextManager[None]:
        return running_declared_frameworks(context, self._frameworks)

    def _registrations(self) -> tuple[AnyRegistration, ...]:
        """The webhooks of the frameworks that are enabled now, and all others."""
        return (*KUEUE, *framework_registrations(self._frameworks.active()), *UNSUPPORTED_REGISTRATIONS)

    def _on_synced(self, context: ControllerContext) -> None:
        """Use this context in job webhooks; after a lost lease the previous one stays until caches sync again."""
        # Webhooks write nothing, so they need no expectations.
        self._job_contexts = JobContextBuilder(context, self._frameworks, CacheReader(context, UidExpectations()))

    def _webhook_location(self) -> WebhookLocation:
        if self._options.webhook_url:
            return at_url(self._options.webhook_url)
        return InCluster(self._settings.namespace, self._configuration.internal_cert_management.webhook_service_name)

    def _record_address(self, name: str, address: BindAddress | None) -> None:
        if address is not None:
            self.manager.addresses[name] = address
            log.info("serving %s on %s", name, address)


@asynccontextmanager
async def _running_loop(loop: LeadershipLoop) -> AsyncIterator[None]:
    """Runs the loop until the context exits; a failure there ends the block and is raised from it."""
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(loop.run(), name="leadership loop")
            yield
            task.cancel()
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


def _limiter(client: Client, settings: ManagerSettings) -> TokenBucket | None:
    """The rate limit of `clientConnection`; it does not apply to access reviews and the lease."""
    connection = settings.configuration.client_connection
    if connection.qps <= 0:
        return None
    return TokenBucket(client.clock, connection.qps, max(connection.burst, 1))
