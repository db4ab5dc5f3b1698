"""What every response of the API server must be, for any request."""

import asyncio

from kit.apiserver import InMemoryApiServer
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.server.requests.request_info import ServerRequest

ADMIN = User("admin", (MASTERS, AUTHENTICATED))
RESPONSE_SECONDS = 60
"""Seconds until a response, also on a busy machine."""
UNAVAILABLE = (503, 504)
EXPECTED = (b"typed patch object", b"declared merge key", b"list element types", b"unable to find api field")
"""Rejections for which kube-apiserver returns 500, too."""


async def checked_status(cluster: InMemoryApiServer, request: ServerRequest, sent: object) -> int:
    """The status of the response, which is no internal error; `sent` describes the request in the message."""
    async with asyncio.timeout(RESPONSE_SECONDS):
        response = await cluster.core.router.handle(request)
    if isinstance(response.body, bytes):
        is_expected = any(text in response.body for text in EXPECTED)
        assert response.status < 500 or response.status in UNAVAILABLE or is_expected, (sent, response)
    elif (close := getattr(response.body, "aclose", None)) is not None:
        await close()
    return response.status
