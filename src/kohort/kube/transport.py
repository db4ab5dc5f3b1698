"""The one seam between Kohort and an API server: requests go in, answers come out.

HTTP stands behind it, or the embedded server in the same process, or a test that breaks things. Identity (tokens,
certificates, impersonation) belongs to the transport; retries and rate limits belong to the client above it.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlencode

Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `path` is already quoted, `query` is not."""

    method: str
    path: str
    query: Query = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def target(self) -> str:
        """Path and query as they stand in a URL."""
        return f"{self.path}?{_encoded(self.query)}" if self.query else self.path


@lru_cache(512)
def _encoded(query: Query) -> str:
    """The same few options stand in nearly all requests."""
    return urlencode(query)


class Response(Protocol):
    """An answer whose head has arrived; whoever got it closes it, unless `read` returned."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers under their usual spelling (`Retry-After`); values of repeated ones are joined by commas."""
        ...

    async def read(self) -> bytes:
        """The whole body; raises TransportError when it does not arrive whole."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes; raises TransportError when it breaks off."""
        ...

    async def close(self) -> None:
        """Give up the rest."""
        ...


class Transport(Protocol):
    """Carries requests to one API server as one identity."""

    async def send(self, request: Request, timeout: float) -> Response:
        """Ask; `timeout` bounds the whole exchange, body included. Raises TransportError without an answer."""
        ...

    async def close(self) -> None:
        """Release connections; open answers break off."""
        ...
