"""A running manager, as used by health checks, the command line and tests."""

import asyncio
from dataclasses import dataclass, field

from kohort.controllers.context import ControllerContext, ManagerSettings
from kohort.engine.engine import Engine
from kohort.manager.leadership import Leadership
from kohort.web.listening import BindAddress
from kohort.webhooks.startup import ServingCertificates


@dataclass
class Manager:
    """Addresses and state of a running manager."""

    settings: ManagerSettings
    leadership: Leadership
    context: ControllerContext | None = None
    """The current context, once its caches are synced."""
    certificates: ServingCertificates | None = None
    addresses: dict[str, BindAddress] = field(default_factory=dict)
    """Addresses of its enabled servers, by name."""
    leading: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while this replica leads and its controllers run."""
    caches_synced: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while there is a context whose caches have synced."""

    def synced_engine(self) -> Engine | None:
        """The engine while all caches are synced, else None."""
        return self.context.engine if self.context is not None and self.context.feed.is_synced else None

    def cache_problem(self) -> str:
        """Why caches are not synced; empty if they are."""
        if self.context is None:
            return "not listed yet"
        return "; ".join(f"{kind} is {status}" for kind, status in self.context.informers.not_synced().items())

    def certificate_problem(self) -> str:
        """Why webhooks cannot be served; empty if they can."""
        return "" if self.certificates is not None and self.certificates.is_ready else "no certificate yet"
