"""Everything of the server but the wire: store, catalogue, authority, admission and handlers, put together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kohort.embedded.admission.attributes import Plugin
from kohort.embedded.admission.chain import Chain
from kohort.embedded.auth.accounts import Accounts
from kohort.embedded.auth.authentication import Authenticator
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.rbac import RBAC_RESOURCES, Authorizer
from kohort.embedded.auth.reviews import Reviews
from kohort.embedded.auth.users import User
from kohort.embedded.kinds import builtin_resources
from kohort.embedded.kinds.definitions import DEFINITIONS
from kohort.embedded.server.aggregation import API_SERVICES, Aggregator
from kohort.embedded.server.applying import Applier
from kohort.embedded.server.catalogue import Catalogue
from kohort.embedded.server.commits import Commits
from kohort.embedded.server.deleting import Deleter
from kohort.embedded.server.documents import Documents
from kohort.embedded.server.endpoints import Endpoints
from kohort.embedded.server.furniture import Furniture
from kohort.embedded.server.inprocess import InProcessTransport
from kohort.embedded.server.logs import LogSource
from kohort.embedded.server.metrics import Metrics
from kohort.embedded.server.objects import Objects
from kohort.embedded.server.pods import Evictions
from kohort.embedded.server.reading import Reader
from kohort.embedded.server.routing import Router
from kohort.embedded.server.semantics import Semantics
from kohort.embedded.server.subresources import Subresources
from kohort.embedded.server.versions import Object, Versions
from kohort.embedded.server.watching import Watcher
from kohort.embedded.server.writing import Writer
from kohort.embedded.store import Change, Store
from kohort.kube.clock import Clock
from kohort.kube.errors import internal


@dataclass(frozen=True)
class Parts:
    """What a core is made of."""

    store: Store
    clock: Clock
    signer: Signer
    authority: bytes = b""
    """The certificate by which clients know the server."""
    address: str = "127.0.0.1"
    tokens: Mapping[str, User] = field(default_factory=dict, repr=False)
    logs: LogSource | None = None
    plugins: Sequence[Plugin] = ()


class Core:
    """A server without a wire."""

    def __init__(self, parts: Parts) -> None:
        store, wall = parts.store, parts.clock.wall
        self.store = store
        self.metrics = Metrics()
        self.catalogue = Catalogue(builtin_resources(), DEFINITIONS)
        self.commits = Commits(store)
        self.authorizer = Authorizer(store)
        self.endpoints = Endpoints(store)
        self.aggregator = Aggregator(store, self.endpoints)
        self.versions = Versions(_convert, self.catalogue.definition)
        self.semantics = Semantics()
        self.admission = Chain(parts.plugins)
        self.writer = Writer(store, self.commits, self.versions, self.semantics, self.admission)
        self.deleter = Deleter(store, self.commits, self.versions, self.admission)
        accounts = Accounts(store, parts.signer)
        self.furniture = Furniture(store, self.catalogue, self.writer, parts.clock, parts.authority)
        self.objects = Objects(
            Reader(store, self.versions),
            Watcher(store, self.versions, parts.clock),
            self.writer,
            self.deleter,
            Applier(self.writer, self.semantics),
            self.semantics,
        )
        evictions = Evictions(store, self.commits)
        self.router = Router(
            self.catalogue,
            Authenticator(accounts, parts.tokens, wall),
            self.authorizer,
            Reviews(self.authorizer, accounts, wall),
            Documents(self.catalogue, parts.address, {"ping": lambda: "", "store": self._store_trouble}),
            self.objects,
            Subresources(self.objects, self.versions, evictions, accounts, parts.logs),
            self.aggregator,
            self.metrics,
            wall,
        )
        self._listen()

    def _store_trouble(self) -> str:
        return "the store is closed" if self.store.closed else ""

    def _listen(self) -> None:
        for resource in RBAC_RESOURCES:
            self.commits.listen(resource, self._on_rbac)
        self.commits.listen(API_SERVICES, self._on_api_service)
        self.commits.listen("namespaces", self.furniture.on_namespace)

    async def _on_rbac(self, _: Change) -> None:
        self.authorizer.invalidate()

    async def _on_api_service(self, _: Change) -> None:
        self.aggregator.invalidate()

    async def start(self) -> None:
        """Take what is stored into service, and put in place what every cluster has."""
        await self.furniture.place()

    def transport(self, user: User) -> InProcessTransport:
        """A way in for somebody in this process."""
        return InProcessTransport(self.router, user)

    async def close(self) -> None:
        """Let go of everything but the store, which is somebody else's."""
        await self.aggregator.close()


async def _convert(definition: Mapping[str, Any], objects: Sequence[Object], api_version: str) -> list[Object]:
    raise internal("conversion")
