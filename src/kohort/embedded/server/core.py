"""Assembles the server without its listener: storage, resource catalog, authentication, admission and handlers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kohort.api.codec import Json, JsonObject
from kohort.embedded.admission.accounts import ServiceAccountPlugin
from kohort.embedded.admission.attributes import AdmissionPlugin
from kohort.embedded.admission.chain import AdmissionChain
from kohort.embedded.admission.escalation import NoEscalation
from kohort.embedded.admission.evaluation_context import AdmissionContext
from kohort.embedded.admission.limits import LimitRanger
from kohort.embedded.admission.namespaces import NamespaceLifecycle
from kohort.embedded.admission.policies import ValidatingPolicies
from kohort.embedded.admission.priorities import PriorityPlugin
from kohort.embedded.admission.quota import QuotaAdmission
from kohort.embedded.admission.tolerations import DefaultTolerationSeconds
from kohort.embedded.admission.webhook_client import WebhookClient
from kohort.embedded.admission.webhooks import (
    MUTATING,
    VALIDATING,
    MutatingWebhooks,
    ValidatingWebhooks,
    WebhookDispatcher,
)
from kohort.embedded.auth.authentication import Authenticator
from kohort.embedded.auth.escalation import EscalationCheck
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.rbac import CLUSTER_ROLES, RBAC_RESOURCES, RbacAuthorizer
from kohort.embedded.auth.reviews import ReviewHandlers
from kohort.embedded.auth.service_account_tokens import ServiceAccountTokens
from kohort.embedded.auth.users import User
from kohort.embedded.kinds import builtin_resources
from kohort.embedded.kinds.definitions import DEFINITIONS
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.aggregation.aggregator import API_SERVICES, Aggregator
from kohort.embedded.server.aggregation.availability import ApiServiceAvailability
from kohort.embedded.server.aggregation.front_proxy import FrontProxyIdentity
from kohort.embedded.server.aggregation.service_resolver import ServiceResolver
from kohort.embedded.server.encoding.versions import VersionConverter
from kohort.embedded.server.handlers.apply import Applier
from kohort.embedded.server.handlers.delete import Deleter
from kohort.embedded.server.handlers.get_list import GetListHandler
from kohort.embedded.server.handlers.resource_handlers import ResourceHandlers
from kohort.embedded.server.handlers.watch import WatchHandler
from kohort.embedded.server.handlers.write_pipeline import WritePipeline
from kohort.embedded.server.hooks.authentication_configmap import AuthenticationConfigMap
from kohort.embedded.server.hooks.bootstrap_objects import BootstrapObjects
from kohort.embedded.server.hooks.definitions import Conversion, CustomResourceDefinitions
from kohort.embedded.server.hooks.event_expiration import EventExpiration
from kohort.embedded.server.hooks.role_aggregation import RoleAggregation
from kohort.embedded.server.metrics import ServerMetrics
from kohort.embedded.server.non_resource import HealthCheck, NonResourceHandlers
from kohort.embedded.server.registry.resource_catalog import CRDS, ResourceCatalog
from kohort.embedded.server.registry.resource_strategy import ResourceStrategy
from kohort.embedded.server.registry.service_addresses import SERVICES, ServiceAddresses
from kohort.embedded.server.registry.store_writer import EVERYTHING, StoreWriter
from kohort.embedded.server.routing import Router
from kohort.embedded.server.serving.inprocess import InProcessTransport
from kohort.embedded.server.subresources.handlers import Subresources
from kohort.embedded.server.subresources.logs import LogSource
from kohort.embedded.server.subresources.pods import Evictions
from kohort.embedded.storage import StorageEvent, Store
from kohort.kube.clock import Clock
from kohort.kube.watch_events import WatchEventType


@dataclass(frozen=True)
class ServerCoreParts:
    """Dependencies of a `ServerCore`."""

    store: Store
    clock: Clock
    signer: Signer
    authority: bytes = b""
    """CA certificate of the server."""
    front_proxy: FrontProxyIdentity | None = None
    """Identity presented to aggregated API servers."""
    tokens: Mapping[str, User] = field(default_factory=dict, repr=False)
    logs: LogSource | None = None
    plugins: Sequence[AdmissionPlugin] = ()


class ServerCore:
    """An API server without a listener."""

    def __init__(self, parts: ServerCoreParts) -> None:
        store, clock = parts.store, parts.clock
        self.store = store
        self.metrics = ServerMetrics()
        self.metrics.offer("apiserver_store_revision", "Newest committed revision.", lambda: store.revision)
        self.catalog = ResourceCatalog(builtin_resources(), DEFINITIONS)
        self.store_writer = StoreWriter(store)
        self.authorizer = RbacAuthorizer(store)
        endpoints = ServiceResolver(store)
        self.webhook_client = WebhookClient(endpoints.resolve)
        self.aggregator = Aggregator(store, endpoints, self.catalog.has_version, parts.front_proxy)
        self.versions = VersionConverter(Conversion(self.webhook_client).convert, self.catalog.definition)
        self.strategy = ResourceStrategy()
        self.quota = QuotaAdmission(store, self.store_writer, self._quota_resources)
        self.admission = AdmissionChain(self._plugins(parts))
        self.writer = WritePipeline(
            store, self.store_writer, self.versions, self.strategy, self.admission, self.authorizer
        )
        self.deleter = Deleter(store, self.store_writer, self.versions, self.admission)
        self.definitions = CustomResourceDefinitions(store, self.catalog, self.store_writer, self.deleter, clock)
        self.bootstrap_objects = BootstrapObjects(store, self.catalog, self.writer, clock, parts.authority)
        self.authentication_configmap = AuthenticationConfigMap(
            store, self.catalog, self.writer, clock, _authentication_data(parts)
        )
        self.availability = ApiServiceAvailability(store, self.store_writer, self.catalog, self.aggregator, clock)
        self.event_expiration = EventExpiration(store, self.store_writer, clock)
        self.non_resource = NonResourceHandlers(self.catalog, self._checks(), parts.signer.jwk)
        self.router = self._router(parts)
        self._listen()

    def _quota_resources(self) -> list[str]:
        """The resources that a ResourceQuota can count."""
        served = (one for one in self.catalog.resources if one.namespaced and one.is_served_by_store)
        return list(dict.fromkeys(one.key for one in served))

    def _plugins(self, parts: ServerCoreParts) -> list[AdmissionPlugin]:
        """Admission plugins in order: cheap checks first, webhooks late, quota last because it reserves usage."""
        store = self.store
        served = self.catalog
        here = AdmissionContext(store, self.authorizer, served.versions, served.find_kind, self._converted)
        mutating, validating = (
            WebhookDispatcher(store, each, self.webhook_client, here) for each in (MUTATING, VALIDATING)
        )
        return [
            NamespaceLifecycle(store),
            NoEscalation(EscalationCheck(self.authorizer)),
            ServiceAccountPlugin(store),
            PriorityPlugin(store),
            DefaultTolerationSeconds(),
            LimitRanger(store),
            *parts.plugins,
            MutatingWebhooks(mutating, self.strategy.default),
            ValidatingPolicies(store, here),
            ValidatingWebhooks(validating),
            self.quota,
        ]

    async def _converted(self, found: Mapping[str, Json], resource: ServedResource) -> JsonObject:
        return (await self.versions.converted(resource, [dict(found)]))[0]

    def _router(self, parts: ServerCoreParts) -> Router:
        store, wall = self.store, parts.clock.wall
        accounts = ServiceAccountTokens(store, parts.signer)
        objects = ResourceHandlers(
            GetListHandler(store, self.versions),
            WatchHandler(store, self.versions, parts.clock),
            self.writer,
            self.deleter,
            Applier(self.writer, self.strategy),
            self.strategy,
        )
        evictions = Evictions(store, self.store_writer)
        return Router(
            self.catalog,
            Authenticator(accounts, parts.tokens, wall),
            self.authorizer,
            ReviewHandlers(self.authorizer, accounts, wall),
            self.non_resource,
            objects,
            Subresources(objects, self.versions, evictions, accounts, parts.logs),
            self.aggregator,
            self.metrics,
            wall,
        )

    def _checks(self) -> dict[str, HealthCheck]:
        return {"ping": lambda: "", "store": self._storage_health}

    def _storage_health(self) -> str:
        return "the store is closed" if self.store.closed else ""

    def _listen(self) -> None:
        for resource in RBAC_RESOURCES:
            self.store_writer.add_hook(resource, self._on_rbac)
        self.store_writer.add_hook(CLUSTER_ROLES, RoleAggregation(self.store, self.store_writer).on_change)
        self.store_writer.add_hook(API_SERVICES, self._on_api_service)
        self.store_writer.add_hook("namespaces", self.bootstrap_objects.on_namespace)
        self.store_writer.add_hook("configmaps", self.authentication_configmap.on_config_map)
        self.store_writer.add_hook(CRDS, self.definitions.on_change)
        self.store_writer.add_hook(EVERYTHING, self.definitions.on_any_change)
        self.store_writer.add_hook(EVERYTHING, self.quota.on_change)
        self.strategy.complete_with(CRDS, self.definitions.complete)
        self.strategy.complete_with(SERVICES, ServiceAddresses(self.store).complete)

    async def _on_rbac(self, _: StorageEvent) -> None:
        self.authorizer.invalidate()

    async def _on_api_service(self, change: StorageEvent) -> None:
        before = change.previous.object.get("spec") if change.previous else None
        if change.kind is WatchEventType.DELETED or before != change.entry.object.get("spec"):
            self.aggregator.invalidate()
            self.availability.refresh_soon()

    async def start(self) -> None:
        """Loads stored definitions and creates the bootstrap objects."""
        self.definitions.load()
        self.definitions.start()
        self.quota.load()
        await self.bootstrap_objects.ensure()
        await self.authentication_configmap.ensure()
        self.event_expiration.start()
        if self.aggregator.services:
            self.availability.refresh_soon()

    def transport(self, user: User) -> InProcessTransport:
        """A transport for an in-process client that acts as the given user."""
        return InProcessTransport(self.router, user)

    async def close(self) -> None:
        """Releases everything except the store, which the caller owns."""
        await self.event_expiration.close()
        await self.availability.close()
        await self.quota.close()
        await self.definitions.close()
        await self.aggregator.close()
        await self.webhook_client.close()


def _authentication_data(parts: ServerCoreParts) -> dict[str, str]:
    """Content of the `extension-apiserver-authentication` ConfigMap: client CA and request-header settings."""
    proxy = parts.front_proxy.request_header_data() if parts.front_proxy else {}
    return {"client-ca-file": parts.authority.decode(), **proxy}
