"""A manager at work, as health checks, tests and the command line see it."""

import asyncio
from dataclasses import dataclass, field

from kohort.controllers.context import ControllerContext, ManagerSettings
from kohort.engine.engine import Engine
from kohort.manager.leadership import Leadership
from kohort.web.listening import Address
from kohort.webhooks.startup import ServingCertificates


@dataclass
class Manager:
    """Where it is reached, and how it fares."""

    settings: ManagerSettings
    leadership: Leadership
    world: ControllerContext | None = None
    """That of the present life, once its caches are live."""
    certificates: ServingCertificates | None = None
    addresses: dict[str, Address] = field(default_factory=dict)
    """Of its servers, by name; those that are turned off are missing."""
    at_work: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while this replica leads and its controllers work."""
    warm: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while a world is there whose caches were live."""

    def live_engine(self) -> Engine | None:
        """The engine, while it knows the server as it is now."""
        return self.world.engine if self.world is not None and self.world.feed.is_live else None

    def cache_problem(self) -> str:
        """What keeps the caches from being live; empty when they are."""
        if self.world is None:
            return "not listed yet"
        return "; ".join(f"{kind} is {freshness}" for kind, freshness in self.world.informers.not_live().items())

    def certificate_problem(self) -> str:
        """What keeps webhooks from being answered; empty when they are."""
        return "" if self.certificates is not None and self.certificates.is_ready else "there is no certificate yet"
