"""Everything of the server but the wire: store, catalogue, authority, admission and handlers, put together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kohort.api.codec import Json
from kohort.embedded.admission.accounts import ServiceAccounts
from kohort.embedded.admission.attributes import Plugin
from kohort.embedded.admission.chain import Chain
from kohort.embedded.admission.escalation import NoEscalation
from kohort.embedded.admission.limits import LimitRanger
from kohort.embedded.admission.namespaces import NamespaceLifecycle
from kohort.embedded.admission.policies import ValidatingPolicies
from kohort.embedded.admission.priorities import Priority
from kohort.embedded.admission.quota import QuotaAdmission
from kohort.embedded.admission.remote import Remote
from kohort.embedded.admission.surroundings import Surroundings
from kohort.embedded.admission.tolerations import DefaultTolerationSeconds
from kohort.embedded.admission.webhooks import MUTATING, VALIDATING, MutatingWebhooks, ValidatingWebhooks, Webhooks
from kohort.embedded.auth.accounts import Accounts
from kohort.embedded.auth.authentication import Authenticator
from kohort.embedded.auth.escalation import EscalationCheck
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.rbac import CLUSTER_ROLES, RBAC_RESOURCES, Authorizer
from kohort.embedded.auth.reviews import Reviews
from kohort.embedded.auth.users import User
from kohort.embedded.kinds import builtin_resources
from kohort.embedded.kinds.definitions import DEFINITIONS
from kohort.embedded.resources import Resource
from kohort.embedded.server.aggregation import API_SERVICES, Aggregator
from kohort.embedded.server.applying import Applier
from kohort.embedded.server.availability import Availability
from kohort.embedded.server.catalogue import CRDS, Catalogue
from kohort.embedded.server.commits import EVERYTHING, Commits
from kohort.embedded.server.definitions import Conversion, Definitions
from kohort.embedded.server.deleting import Deleter
from kohort.embedded.server.documents import Check, Documents
from kohort.embedded.server.endpoints import Endpoints
from kohort.embedded.server.front_proxy import FrontProxy
from kohort.embedded.server.furniture import Furniture
from kohort.embedded.server.inprocess import InProcessTransport
from kohort.embedded.server.logs import LogSource
from kohort.embedded.server.metrics import Metrics
from kohort.embedded.server.objects import Objects
from kohort.embedded.server.pods import Evictions
from kohort.embedded.server.reading import Reader
from kohort.embedded.server.roles import RoleAggregation
from kohort.embedded.server.routing import Router
from kohort.embedded.server.semantics import Semantics
from kohort.embedded.server.services import SERVICES, ServiceAddresses
from kohort.embedded.server.subresources import Subresources
from kohort.embedded.server.sweeping import EventSweeper
from kohort.embedded.server.trust import Trust
from kohort.embedded.server.versions import Object, Versions
from kohort.embedded.server.watching import Watcher
from kohort.embedded.server.writing import Writer
from kohort.embedded.store import Change, Store
from kohort.kube.clock import Clock
from kohort.kube.watch_events import WatchEventType


@dataclass(frozen=True)
class Parts:
    """What a core is made of."""

    store: Store
    clock: Clock
    signer: Signer
    authority: bytes = b""
    """The certificate by which clients know the server."""
    front_proxy: FrontProxy | None = None
    """By what the servers behind APIServices know it."""
    tokens: Mapping[str, User] = field(default_factory=dict, repr=False)
    logs: LogSource | None = None
    plugins: Sequence[Plugin] = ()


class Core:
    """A server without a wire."""

    def __init__(self, parts: Parts) -> None:
        store, clock = parts.store, parts.clock
        self.store = store
        self.metrics = Metrics()
        self.metrics.offer("apiserver_store_revision", "Newest committed revision.", lambda: store.revision)
        self.catalogue = Catalogue(builtin_resources(), DEFINITIONS)
        self.commits = Commits(store)
        self.authorizer = Authorizer(store)
        endpoints = Endpoints(store)
        self.remote = Remote(endpoints.resolve)
        self.aggregator = Aggregator(store, endpoints, self.catalogue.has_version, parts.front_proxy)
        self.versions = Versions(Conversion(self.remote).convert, self.catalogue.definition)
        self.semantics = Semantics()
        self.quota = QuotaAdmission(store, self.commits, self._counted)
        self.admission = Chain(self._plugins(parts))
        self.writer = Writer(store, self.commits, self.versions, self.semantics, self.admission, self.authorizer)
        self.deleter = Deleter(store, self.commits, self.versions, self.admission)
        self.definitions = Definitions(store, self.catalogue, self.commits, self.deleter, clock)
        self.furniture = Furniture(store, self.catalogue, self.writer, clock, parts.authority)
        self.trust = Trust(store, self.catalogue, self.writer, clock, _told(parts))
        self.availability = Availability(store, self.commits, self.catalogue, self.aggregator, clock)
        self.sweeper = EventSweeper(store, self.commits, clock)
        self.documents = Documents(self.catalogue, self._checks(), parts.signer.jwk)
        self.router = self._router(parts)
        self._listen()

    def _counted(self) -> list[str]:
        """The resources that quotas may count."""
        served = (one for one in self.catalogue.resources if one.namespaced and one.is_served_by_store)
        return list(dict.fromkeys(one.key for one in served))

    def _plugins(self, parts: Parts) -> list[Plugin]:
        """Every plugin in its place: cheap checks first, webhooks late, quota last, since it sets something aside."""
        store = self.store
        served = self.catalogue
        here = Surroundings(store, self.authorizer, served.versions, served.find_kind, self._converted)
        mutating, validating = (Webhooks(store, each, self.remote, here) for each in (MUTATING, VALIDATING))
        return [
            NamespaceLifecycle(store),
            NoEscalation(EscalationCheck(self.authorizer)),
            ServiceAccounts(store),
            Priority(store),
            DefaultTolerationSeconds(),
            LimitRanger(store),
            *parts.plugins,
            MutatingWebhooks(mutating, self.semantics.default),
            ValidatingPolicies(store, here),
            ValidatingWebhooks(validating),
            self.quota,
        ]

    async def _converted(self, found: Mapping[str, Json], resource: Resource) -> Object:
        return (await self.versions.converted(resource, [dict(found)]))[0]

    def _router(self, parts: Parts) -> Router:
        store, wall = self.store, parts.clock.wall
        accounts = Accounts(store, parts.signer)
        objects = Objects(
            Reader(store, self.versions),
            Watcher(store, self.versions, parts.clock),
            self.writer,
            self.deleter,
            Applier(self.writer, self.semantics),
            self.semantics,
        )
        evictions = Evictions(store, self.commits)
        return Router(
            self.catalogue,
            Authenticator(accounts, parts.tokens, wall),
            self.authorizer,
            Reviews(self.authorizer, accounts, wall),
            self.documents,
            objects,
            Subresources(objects, self.versions, evictions, accounts, parts.logs),
            self.aggregator,
            self.metrics,
            wall,
        )

    def _checks(self) -> dict[str, Check]:
        return {"ping": lambda: "", "store": self._store_trouble}

    def _store_trouble(self) -> str:
        return "the store is closed" if self.store.closed else ""

    def _listen(self) -> None:
        for resource in RBAC_RESOURCES:
            self.commits.listen(resource, self._on_rbac)
        self.commits.listen(CLUSTER_ROLES, RoleAggregation(self.store, self.commits).on_change)
        self.commits.listen(API_SERVICES, self._on_api_service)
        self.commits.listen("namespaces", self.furniture.on_namespace)
        self.commits.listen("configmaps", self.trust.on_config_map)
        self.commits.listen(CRDS, self.definitions.on_change)
        self.commits.listen(EVERYTHING, self.definitions.on_any_change)
        self.commits.listen(EVERYTHING, self.quota.on_change)
        self.semantics.complete_with(CRDS, self.definitions.complete)
        self.semantics.complete_with(SERVICES, ServiceAddresses(self.store).complete)

    async def _on_rbac(self, _: Change) -> None:
        self.authorizer.invalidate()

    async def _on_api_service(self, change: Change) -> None:
        before = change.previous.object.get("spec") if change.previous else None
        if change.kind is WatchEventType.DELETED or before != change.entry.object.get("spec"):
            self.aggregator.invalidate()
            self.availability.refresh_soon()

    async def start(self) -> None:
        """Take what is stored into service, and put in place what every cluster has."""
        self.definitions.load()
        self.definitions.start()
        self.quota.load()
        await self.furniture.place()
        await self.trust.place()
        self.sweeper.start()
        if self.aggregator.services:
            self.availability.refresh_soon()

    def transport(self, user: User) -> InProcessTransport:
        """A way in for somebody in this process."""
        return InProcessTransport(self.router, user)

    async def close(self) -> None:
        """Let go of everything but the store, which is somebody else's."""
        await self.sweeper.close()
        await self.availability.close()
        await self.quota.close()
        await self.definitions.close()
        await self.aggregator.close()
        await self.remote.close()


def _told(parts: Parts) -> dict[str, str]:
    """What servers behind APIServices get to know: whose client certificates count, and how to know this server."""
    proxy = parts.front_proxy.told() if parts.front_proxy else {}
    return {"client-ca-file": parts.authority.decode(), **proxy}
