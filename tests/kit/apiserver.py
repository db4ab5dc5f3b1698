"""An API server in memory and in virtual time, called in the same process without a network."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kit.virtual_time import VirtualClock
from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.server.core import ServerCore, ServerCoreParts
from kohort.embedded.server.serving.inprocess import InProcessResponse
from kohort.embedded.storage import Store
from kohort.kube.certificates import new_key
from kohort.kube.transport import Request

Object = dict[str, Any]
ADMIN = User("admin", (MASTERS, AUTHENTICATED))
TIMEOUT = 60.0


@dataclass(frozen=True)
class ApiResponse:
    """A response with its whole body, decoded."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """The message of a Status."""
        return str(self.body["message"])

    @property
    def reason(self) -> str:
        """The reason of a Status."""
        return str(self.body["reason"])


class InMemoryApiServer:
    """The server core, called as one user."""

    def __init__(self, core: ServerCore, clock: VirtualClock, user: User = ADMIN) -> None:
        self.core = core
        self.clock = clock
        self._user = user

    def as_user(self, name: str, *groups: str) -> "InMemoryApiServer":
        """The same server, called as another user."""
        return InMemoryApiServer(self.core, self.clock, User(name, (*groups, AUTHENTICATED)))

    async def stream(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, /, **query: str
    ) -> InProcessResponse:
        """Send a request; the response is read chunk by chunk."""
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        request = Request(method, path, tuple(query.items()), headers or {}, data)
        return await self.core.transport(self._user).send(request, TIMEOUT)

    async def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, /, **query: str
    ) -> ApiResponse:
        """Send a request and read the whole response."""
        response = await self.stream(method, path, body, headers, **query)
        data = await response.read()
        is_json = "json" in response.headers["Content-Type"]
        return ApiResponse(response.status, msgspec.json.decode(data) if is_json else data.decode(), response.headers)

    async def get(self, path: str, **query: str) -> Object:
        """Read an object or a list; any status but 200 fails the test."""
        response = await self.request("GET", path, **query)
        assert response.status == 200, response
        return dict(response.body)

    async def create(self, found: Object, **query: str) -> Object:
        """Create an object; any status but 201 fails the test."""
        response = await self.try_create(found, **query)
        assert response.status == 201, response
        return dict(response.body)

    async def try_create(self, found: Object, **query: str) -> ApiResponse:
        """Send a create request, which may be rejected."""
        return await self.request("POST", self.collection_path(found), found, **query)

    async def update(self, found: Object, **query: str) -> ApiResponse:
        """Send an update of an object."""
        return await self.request("PUT", f"{self.collection_path(found)}/{found['metadata']['name']}", found, **query)

    async def merge(self, path: str, patch: Any, **query: str) -> ApiResponse:
        """Send a merge patch."""
        return await self.request("PATCH", path, patch, {"Content-Type": "application/merge-patch+json"}, **query)

    async def apply(self, found: Object, manager: str = "tester", **query: str) -> ApiResponse:
        """Send a server-side apply."""
        path = f"{self.collection_path(found)}/{found['metadata']['name']}"
        headers = {"Content-Type": "application/apply-patch+yaml"}
        return await self.request("PATCH", path, found, headers, fieldManager=manager, **query)

    def collection_path(self, found: Object) -> str:
        """The path of an object's collection."""
        resource = self.core.catalog.find_kind(found["apiVersion"], found["kind"])
        assert resource is not None, found["kind"]
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        if not resource.namespaced:
            return f"{root}/{resource.plural}"
        return f"{root}/namespaces/{found['metadata'].get('namespace', 'default')}/{resource.plural}"


@asynccontextmanager
async def running_apiserver() -> AsyncIterator[InMemoryApiServer]:
    """Runs an empty server until the context exits."""
    clock = VirtualClock()
    store = await Store.open(None, clock=lambda: clock.wall().timestamp())
    core = ServerCore(ServerCoreParts(store, clock, Signer(new_key()), b"authority"))
    await core.start()
    try:
        yield InMemoryApiServer(core, clock)
    finally:
        await core.close()
        await store.close()


class WatchRecorder:
    """Reads the events of a watch one by one."""

    def __init__(self, response: InProcessResponse) -> None:
        self._chunks = response.chunks()
        self._lines: list[bytes] = []

    async def next(self) -> tuple[str, Object]:
        """The next event."""
        while not self._lines:
            self._lines = (await anext(self._chunks)).splitlines()
        event = msgspec.json.decode(self._lines.pop(0))
        return event["type"], event["object"]

    async def names(self, count: int) -> list[tuple[str, str]]:
        """Type and object name of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event_type, found["metadata"]["name"]) for event_type, found in events]

    async def has_ended(self) -> bool:
        """Whether the stream ends without another event."""
        return await anext(self._chunks, None) is None
