"""In-process transport: the same handler chain behind the client's transport interface, without HTTP."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from multidict import CIMultiDict, CIMultiDictProxy

from kohort.embedded.auth.users import User
from kohort.embedded.server.encoding.responses import ServerResponse
from kohort.embedded.server.requests.request_info import ServerRequest
from kohort.embedded.server.routing import Router
from kohort.kube.errors import LostResponseError, UnreachableError
from kohort.kube.transport import Request


class InProcessResponse:
    """A response of the in-process transport."""

    def __init__(self, response: ServerResponse, deadline: float) -> None:
        self._answer = response
        self._deadline = deadline
        self.status = response.status
        self.headers: Mapping[str, str] = _headers(response)

    async def read(self) -> bytes:
        """The whole body."""
        if isinstance(self._answer.body, bytes):
            return self._answer.body
        return b"".join([chunk async for chunk in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it is produced."""
        if isinstance(self._answer.body, bytes):
            yield self._answer.body
            return
        try:
            async with asyncio.timeout_at(self._deadline):
                async for chunk in self._answer.body:
                    yield chunk
        except TimeoutError:
            raise LostResponseError("the time for the answer ran out") from None
        finally:
            await self.close()

    async def close(self) -> None:
        """Discards the rest of the body."""
        close = getattr(self._answer.body, "aclose", None)
        if close is not None:
            await close()


def _headers(response: ServerResponse) -> dict[str, str]:
    merged = {"Content-Type": response.content_type}
    for name, value in response.headers:
        merged[name] = f"{merged[name]}, {value}" if name in merged else value
    return merged


class InProcessTransport:
    """Sends requests to the server as one user."""

    def __init__(self, router: Router, user: User) -> None:
        self._router = router
        self._user = user
        self._closed = False

    async def send(self, request: Request, timeout: float) -> InProcessResponse:
        """Sends a request."""
        if self._closed:
            raise UnreachableError("the transport is closed")
        headers = CIMultiDictProxy(CIMultiDict(request.headers))
        inbound = ServerRequest(request.method, request.path, request.query, headers, request.body, self._user)
        deadline = asyncio.get_running_loop().time() + timeout
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._router.handle(inbound)
        except TimeoutError:
            raise LostResponseError("the time for the answer ran out") from None
        return InProcessResponse(response, deadline)

    async def close(self) -> None:
        """Rejects further requests."""
        self._closed = True
