"""No write outlasts the right to write: what is not answered by then is given up, before another replica can lead.

Otherwise one that was sent in time and held up on the way would arrive when the decision is somebody else's.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kohort.controllers.leader_transport import READS
from kohort.kube.transport import Request, Response, Transport


@dataclass(frozen=True)
class FencedTransport:
    """Another transport, whose writes have no more time than their sender leads for sure."""

    inner: Transport
    right: Callable[[], float]
    """Seconds of it that are left."""

    async def send(self, request: Request, timeout: float) -> Response:
        """Ask; a write for at most as long as this replica leads."""
        return await self.inner.send(request, timeout if request.method in READS else min(timeout, self.right()))

    async def close(self) -> None:
        """Release the connections below."""
        await self.inner.close()
