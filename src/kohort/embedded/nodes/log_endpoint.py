"""The kubelet's log endpoint: `/containerLogs/{namespace}/{pod}/{container}` over HTTPS, for API servers.

A client must present a certificate of the cluster's CA and be authorized to `get nodes/proxy`, as with a kubelet: a
certificate alone, which every user may have, does not suffice.
"""

import ssl
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from kohort.api.core.reviews import ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec
from kohort.embedded.auth.certificates import FileCertificateAuthority
from kohort.embedded.auth.files import write_private
from kohort.embedded.auth.users import User
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.server.encoding.responses import TEXT, ServerResponse, text_response
from kohort.embedded.server.requests.request_info import ServerRequest
from kohort.embedded.server.serving.listener import Listener, ListenerTimeouts, server_context
from kohort.embedded.server.subresources.logs import log_options, start_stream
from kohort.kube.client import Client
from kohort.kube.errors import KubeError, StatusError

_REMEMBERED = 256
_TRUSTED_SECONDS = 60.0
_PARTS = 5


@dataclass(frozen=True, slots=True)
class LogEndpointAddress:
    """Listening address and client CA of the endpoint."""

    authority: bytes
    """Client CA certificates (PEM)."""
    host: str = "127.0.0.1"
    port: int = 0


class LogEndpoint:
    """Serves the logs of one agent to API servers."""

    def __init__(self, agent: NodeAgent, client: Client) -> None:
        self._agent = agent
        self._reviews = client.of(SubjectAccessReview)
        self._clock = client.clock
        self._allowed: OrderedDict[tuple[str, tuple[str, ...], str], float] = OrderedDict()
        self._listener: Listener | None = None

    async def start(self, address: LogEndpointAddress) -> int:
        """Starts listening and returns the port; a new certificate is created, since API servers do not verify
        it."""
        self._listener = Listener(self._handle, self._context(address), ListenerTimeouts())
        return await self._listener.start(address.host, address.port)

    async def stop(self) -> None:
        """Ends all streams and stops listening."""
        if self._listener is not None:
            await self._listener.stop()

    def _context(self, address: LogEndpointAddress) -> ssl.SSLContext:
        now = self._clock.wall()
        pair = FileCertificateAuthority.create(now).server([address.host], now)
        with tempfile.TemporaryDirectory(prefix="kohort-") as folder:
            certificate, key = Path(folder) / "crt", Path(folder) / "key"
            write_private(certificate, pair.certificate_pem)
            write_private(key, pair.key_pem)
            context = server_context(str(certificate), str(key), address.authority)
        context.verify_mode = ssl.CERT_REQUIRED
        return context

    async def _handle(self, request: ServerRequest) -> ServerResponse:
        try:
            return await self._answer(request)
        except StatusError as error:
            return text_response(error.message, error.code)
        except KubeError as error:
            return text_response(str(error), 500)

    async def _answer(self, request: ServerRequest) -> ServerResponse:
        parts = [unquote(part) for part in request.path.split("/")]
        if request.method != "GET" or len(parts) != _PARTS or parts[1] != "containerLogs":
            return text_response("404 page not found", 404)
        _, _, namespace, name, container = parts
        node = self._agent.node_of(namespace, name)
        if node is None:
            return text_response(f'pod "{name}" does not exist', 404)
        if not await self._may_read(request.peer, node):
            return text_response("Forbidden", 403)
        asked = replace(request, query=(*request.query, ("container", container)))
        pod = {"metadata": {"name": name}, "spec": {"containers": [{"name": container}]}}
        output = self._agent.logs(namespace, name, log_options(asked, pod))
        return ServerResponse(200, await start_stream(output), TEXT)

    async def _may_read(self, user: User | None, node: str) -> bool:
        if user is None:
            return False
        key = (user.name, user.groups, node)
        if self._allowed.get(key, float("-inf")) > self._clock.now():
            return True
        callback = ResourceAttributes(verb="get", version="v1", resource="nodes", subresource="proxy", name=node)
        spec = SubjectAccessReviewSpec(resource_attributes=callback, user=user.name, groups=user.groups)
        review = await self._reviews.create(SubjectAccessReview(spec=spec))
        if review.status.allowed:
            self._allowed[key] = self._clock.now() + _TRUSTED_SECONDS
            while len(self._allowed) > _REMEMBERED:
                self._allowed.popitem(last=False)
        return review.status.allowed
