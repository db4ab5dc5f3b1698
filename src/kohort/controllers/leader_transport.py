"""A transport that sends writes only while this process leads.

It is below the client's retries, so that no attempt is sent after the lease is lost.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kohort.controllers.server_load import ServerLoad
from kohort.kube.clock import Clock
from kohort.kube.errors import KubeError
from kohort.kube.transport import Request, Response, Transport

READS = frozenset({"GET", "HEAD"})


class NotLeadingError(KubeError):
    """A write was not sent, because this replica is not the leader."""


@dataclass(frozen=True)
class LeaderOnlyTransport:
    """A transport that rejects writes while another replica leads."""

    inner: Transport
    leads: Callable[[], bool]
    clock: Clock
    server_load: ServerLoad
    """Records the duration of writes."""

    async def send(self, request: Request, timeout: float) -> Response:
        """Send a request; raises NotLeadingError for a write of a follower."""
        if request.method in READS:
            return await self.inner.send(request, timeout)
        if not self.leads():
            raise NotLeadingError(f"{request.method} {request.path} not sent: this replica is not the leader")
        begun = self.clock.now()
        response = await self.inner.send(request, timeout)
        self.server_load.observe(self.clock.now() - begun)
        return response

    async def close(self) -> None:
        """Release the connections below."""
        await self.inner.close()
