"""Responses that are complete before they are read."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CannedResponse:
    """A response with a fixed body."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    async def read(self) -> bytes:
        return self.body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body

    async def close(self) -> None:
        pass
