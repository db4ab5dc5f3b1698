"""The client configuration that a transport needs: server address, TLS trust, proxy, credentials."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kohort.kube.config.credential_files import Material
from kohort.kube.config.secrets import KeyPair
from kohort.kube.http1.headers import Headers


@dataclass(frozen=True, slots=True)
class RequestCredentials:
    """Headers and client certificate that authenticate one request."""

    headers: Headers = field(default=(), repr=False)
    key_pair: KeyPair | None = None


class Credentials(Protocol):
    """A source of request credentials, which may expire."""

    async def login(self) -> RequestCredentials:
        """The current credentials; raises ConfigError."""
        ...

    async def refused(self, login: RequestCredentials) -> bool:
        """Called when the server answered 401; whether a retry with other credentials makes sense."""
        ...


@dataclass(frozen=True, slots=True)
class ServerTrust:
    """How the server's certificate is verified."""

    authority: Material | None = None
    """The CA bundle; None for the system's."""
    server_name: str = ""
    """The name in the server's certificate, if it differs from the host of the address."""
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Impersonation:
    """The user to impersonate in requests."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def headers(self) -> Headers:
        """The impersonation headers; none without impersonation."""
        named = (("Impersonate-User", self.user), ("Impersonate-Uid", self.uid))
        extra = ((f"Impersonate-Extra-{key}", value) for key, values in self.extra.items() for value in values)
        groups = (("Impersonate-Group", group) for group in self.groups)
        return (*(pair for pair in named if pair[1]), *groups, *extra)


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Configuration of a client of one server."""

    server: str
    credentials: Credentials
    trust: ServerTrust = field(default_factory=ServerTrust)
    proxy: str = field(default="", repr=False)
    impersonation: Impersonation = field(default_factory=Impersonation)
    namespace: str = "default"
    origin: str = ""
    """Where this was read, for messages: a file and its context, or the pod's service account."""
