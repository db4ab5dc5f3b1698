"""The transport interface between Kohort and an API server.

Implementations: HTTP, the embedded server in the same process, and tests that inject faults. Credentials and
impersonation belong to the transport, retries and rate limits to the client.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlencode

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `path` is already quoted, `query` is not."""

    method: str
    path: str
    query: Query = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def target(self) -> str:
        """Path and query as in a URL."""
        return f"{self.path}?{_encoded(self.query)}" if self.query else self.path


@lru_cache(512)
def _encoded(query: Query) -> str:
    """Cached: nearly all requests use the same few options."""
    return urlencode(query)


class Response(Protocol):
    """A response whose head has been received; the caller closes it unless `read` returned."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers with canonical names (`Retry-After`); values of repeated ones are joined by commas."""
        ...

    async def read(self) -> bytes:
        """The whole body; raises TransportError if it is incomplete."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives; raises TransportError if it is incomplete."""
        ...

    async def close(self) -> None:
        """Discard the rest."""
        ...


class Transport(Protocol):
    """Sends requests to one API server with one identity."""

    async def send(self, request: Request, timeout: float) -> Response:
        """Send a request; `timeout` bounds the whole exchange including the body. Raises TransportError."""
        ...

    async def close(self) -> None:
        """Close all connections, including open responses."""
        ...
