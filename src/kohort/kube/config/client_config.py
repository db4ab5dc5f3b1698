"""What a transport needs to reach a server as somebody: address, trust, proxy, identity. Everything else made these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kohort.kube.config.credential_files import Material
from kohort.kube.config.secrets import KeyPair

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RequestCredentials:
    """How one request shows who sends it."""

    headers: Headers = field(default=(), repr=False)
    key_pair: KeyPair | None = None


class Credentials(Protocol):
    """Where logins come from; they may expire."""

    async def login(self) -> RequestCredentials:
        """The login to use now; raises ConfigError."""
        ...

    async def refused(self, login: RequestCredentials) -> bool:
        """The server did not know this login; whether another one is worth a try."""
        ...


@dataclass(frozen=True, slots=True)
class ServerTrust:
    """How the server shows who it is."""

    authority: Material | None = None
    """The certificates that may vouch for the server; None for those of the system."""
    server_name: str = ""
    """The name in its certificate, where that is not the one in the address."""
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Somebody else in whose name requests are made."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def headers(self) -> Headers:
        """As headers; none where nobody is impersonated."""
        named = (("Impersonate-User", self.user), ("Impersonate-Uid", self.uid))
        extra = ((f"Impersonate-Extra-{key}", value) for key, values in self.extra.items() for value in values)
        groups = (("Impersonate-Group", group) for group in self.groups)
        return (*(pair for pair in named if pair[1]), *groups, *extra)


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """A way to one server."""

    server: str
    credentials: Credentials
    trust: ServerTrust = field(default_factory=ServerTrust)
    proxy: str = field(default="", repr=False)
    impersonation: Impersonation = field(default_factory=Impersonation)
    namespace: str = "default"
    origin: str = ""
    """Where this was read, for messages: a file and its context, or the pod's service account."""
