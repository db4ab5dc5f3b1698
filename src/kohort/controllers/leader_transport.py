"""Only the leader writes: a transport that lets reads pass, and writes only while this process leads.

It stands below the client's retries, so that no attempt goes out after the lease is lost, whoever asked for it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kohort.controllers.server_load import ServerLoad
from kohort.kube.clock import Clock
from kohort.kube.errors import KubeError
from kohort.kube.transport import Request, Response, Transport

READS = frozenset({"GET", "HEAD"})


class NotLeadingError(KubeError):
    """A write was asked of a replica that does not lead, and was not sent."""


@dataclass(frozen=True)
class LeaderOnlyTransport:
    """Another transport, shut for writes while somebody else leads."""

    inner: Transport
    leads: Callable[[], bool]
    clock: Clock
    strain: ServerLoad
    """Is told how long writes take."""

    async def send(self, request: Request, timeout: float) -> Response:
        """Ask, unless it is not ours to ask for; raises NotLeadingError then."""
        if request.method in READS:
            return await self.inner.send(request, timeout)
        if not self.leads():
            raise NotLeadingError(f"{request.method} {request.path} is left to the leader")
        begun = self.clock.now()
        response = await self.inner.send(request, timeout)
        self.strain.note(self.clock.now() - begun)
        return response

    async def close(self) -> None:
        """Release the connections below."""
        await self.inner.close()
