"""Fencing: a write times out before another replica can become leader.

Otherwise a delayed write could arrive after the new leader has decided something else.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kohort.controllers.leader_transport import READS
from kohort.kube.transport import Request, Response, Transport


@dataclass(frozen=True)
class FencedTransport:
    """A transport whose writes time out with the lease."""

    inner: Transport
    remaining_lease: Callable[[], float]
    """Returns the seconds for which the lease is certainly held."""

    async def send(self, request: Request, timeout: float) -> Response:
        """Send a request; writes time out with the lease."""
        return await self.inner.send(
            request, timeout if request.method in READS else min(timeout, self.remaining_lease())
        )

    async def close(self) -> None:
        """Release the connections below."""
        await self.inner.close()
