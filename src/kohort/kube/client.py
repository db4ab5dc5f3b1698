"""The client: requests to one API server with bounded retries, a rate limit and deduplicated warnings.

Credentials and connections belong to the transport, resource types to `resource_client`.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar, overload

import kohort
from kohort.api.codec import Json, decode_json
from kohort.api.core.objects import ObjectView
from kohort.api.kinds import CustomObject
from kohort.api.resource import Resource
from kohort.kube.clock import Clock, SystemClock
from kohort.kube.errors import KubeError
from kohort.kube.metrics import NO_METRICS, MetricsSink
from kohort.kube.rate_limiter import TokenBucket
from kohort.kube.resource_client import ResourceClient
from kohort.kube.resource_types import ResourceType, typed_resource, unstructured_resource
from kohort.kube.responses import WarningDeduplicator, WarningHandler, error_of, warnings_in
from kohort.kube.retries import DEFAULT_RETRIES, IDEMPOTENT_METHODS, RetryPolicy
from kohort.kube.transport import Request, Response, Transport

T = TypeVar("T")
S = TypeVar("S", bound=CustomObject | ObjectView)

USER_AGENT = f"kohort/{kohort.__version__}"


@dataclass(frozen=True)
class Client:
    """A client of one API server."""

    transport: Transport
    clock: Clock = field(default_factory=SystemClock)
    limiter: TokenBucket | None = None
    """Client-side rate limit; None leaves rate limiting to the server."""
    retries: RetryPolicy = DEFAULT_RETRIES
    timeout: float = 30.0
    """Seconds per attempt."""
    user_agent: str = USER_AGENT
    on_warning: WarningHandler = field(default_factory=WarningDeduplicator)
    metrics: MetricsSink = NO_METRICS
    random: Random = field(default_factory=Random)

    @overload
    def of(self, kind: ResourceType[T]) -> ResourceClient[T]: ...
    @overload
    def of(self, kind: type[S]) -> ResourceClient[S]: ...
    @overload
    def of(self, kind: Resource) -> ResourceClient[dict[str, Json]]: ...
    def of(self, kind: Any) -> ResourceClient[Any]:
        """The client of a resource: structs for a struct class, JSON for a `Resource`, or any `ResourceType`."""
        if isinstance(kind, Resource):
            return ResourceClient(self, unstructured_resource(kind))
        return ResourceClient(self, kind if isinstance(kind, ResourceType) else typed_resource(kind))

    async def call(self, request: Request, *, idempotent: bool | None = None) -> bytes:
        """Returns the response body; retries if that is safe, and raises the last error."""
        repeatable = request.method in IDEMPOTENT_METHODS if idempotent is None else idempotent
        failures = 0
        while True:
            try:
                return await self._once(request)
            except KubeError as error:
                failures += 1
                wait = self.retries.wait(error, failures, self.random, idempotent=repeatable)
                if wait is None:
                    raise
                self.metrics.count("kube_request_retries", {"method": request.method})
            await self.clock.sleep(wait)

    async def open(self, request: Request, timeout: float) -> Response:
        """Opens a streaming response; one attempt, because only the caller can determine where to resume."""
        if self.limiter is not None:
            await self.limiter.take()
        response = await self.transport.send(self._with_headers(request), timeout)
        self._handle_headers(request, response)
        if response.status < 400:
            return response
        try:
            body = await response.read()
        finally:
            await response.close()
        raise error_of(response.status, response.headers, body)

    async def get_json(self, path: str) -> Json:
        """The JSON of a non-resource path: discovery, version, health."""
        return decode_json(await self.call(Request("GET", path)))

    async def close(self) -> None:
        """Release the transport."""
        await self.transport.close()

    async def _once(self, request: Request) -> bytes:
        response = await self.open(request, self.timeout)
        try:
            return await response.read()
        finally:
            await response.close()

    def _with_headers(self, request: Request) -> Request:
        headers = {"Accept": "application/json", "User-Agent": self.user_agent, **request.headers}
        return Request(request.method, request.path, request.query, headers, request.body)

    def _handle_headers(self, request: Request, response: Response) -> None:
        self.metrics.count("kube_requests", {"method": request.method, "code": str(response.status)})
        for text in warnings_in(response.headers):
            self.on_warning(text)
