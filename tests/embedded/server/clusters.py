"""A server without a wire for tests: in memory, in virtual time, asked like any other."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kohort.embedded.auth.jwt import Signer
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.embedded.server.core import ServerCore, ServerCoreParts
from kohort.embedded.server.serving.inprocess import InProcessResponse
from kohort.embedded.storage import Store
from kohort.kube.certificates import new_key
from kohort.kube.clock import VirtualClock
from kohort.kube.transport import Request

Object = dict[str, Any]
ADMIN = User("admin", (MASTERS, AUTHENTICATED))
WAIT = 60.0


@dataclass(frozen=True)
class Reply:
    """An answer that was read to its end."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> str:
        """What a Status says."""
        return str(self.body["message"])

    @property
    def reason(self) -> str:
        """Why, in one word."""
        return str(self.body["reason"])


class Cluster:
    """A server to ask."""

    def __init__(self, core: ServerCore, clock: VirtualClock, user: User = ADMIN) -> None:
        self.core = core
        self.clock = clock
        self._user = user

    def acting_as(self, name: str, *groups: str) -> "Cluster":
        """The same server, asked by somebody else."""
        return Cluster(self.core, self.clock, User(name, (*groups, AUTHENTICATED)))

    async def open(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, /, **query: str
    ) -> InProcessResponse:
        """An answer to be read bit by bit."""
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        request = Request(method, path, tuple(query.items()), headers or {}, data)
        return await self.core.transport(self._user).send(request, WAIT)

    async def ask(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, /, **query: str
    ) -> Reply:
        """An answer, read to its end."""
        response = await self.open(method, path, body, headers, **query)
        data = await response.read()
        kind = response.headers["Content-Type"]
        return Reply(response.status, msgspec.json.decode(data) if "json" in kind else data.decode(), response.headers)

    async def get(self, path: str, **query: str) -> Object:
        """What is there; fails the test when it is not."""
        reply = await self.ask("GET", path, **query)
        assert reply.status == 200, reply
        return dict(reply.body)

    async def create(self, found: Object, **query: str) -> Object:
        """A new object, which must be taken."""
        reply = await self.try_create(found, **query)
        assert reply.status == 201, reply
        return dict(reply.body)

    async def try_create(self, found: Object, **query: str) -> Reply:
        """A new object, which may be refused."""
        return await self.ask("POST", self.place(found), found, **query)

    async def update(self, found: Object, **query: str) -> Reply:
        """The next state of an object."""
        return await self.ask("PUT", f"{self.place(found)}/{found['metadata']['name']}", found, **query)

    async def merge(self, path: str, patch: Any, **query: str) -> Reply:
        """A merge patch."""
        return await self.ask("PATCH", path, patch, {"Content-Type": "application/merge-patch+json"}, **query)

    async def apply(self, found: Object, manager: str = "tester", **query: str) -> Reply:
        """A server-side apply."""
        path = f"{self.place(found)}/{found['metadata']['name']}"
        kind = {"Content-Type": "application/apply-patch+yaml"}
        return await self.ask("PATCH", path, found, kind, fieldManager=manager, **query)

    def place(self, found: Object) -> str:
        """The path of an object's collection."""
        resource = self.core.catalog.find_kind(found["apiVersion"], found["kind"])
        assert resource is not None, found["kind"]
        root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        if not resource.namespaced:
            return f"{root}/{resource.plural}"
        return f"{root}/namespaces/{found['metadata'].get('namespace', 'default')}/{resource.plural}"


@asynccontextmanager
async def running_cluster() -> AsyncIterator[Cluster]:
    """A fresh server for as long as the block lasts."""
    clock = VirtualClock()
    store = await Store.open(None, clock=lambda: clock.wall().timestamp())
    core = ServerCore(ServerCoreParts(store, clock, Signer(new_key()), b"authority"))
    await core.start()
    try:
        yield Cluster(core, clock)
    finally:
        await core.close()
        await store.close()


class Watching:
    """The events of a watch, one by one."""

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
        """Kind and name of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(kind, found["metadata"]["name"]) for kind, found in events]

    async def has_ended(self) -> bool:
        """Whether nothing follows."""
        return await anext(self._chunks, None) is None


# Objects, one line each


def config_map(name: str, namespace: str = "default", labels: Object | None = None, **data: str) -> Object:
    metadata = {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod(name: str, namespace: str = "default", requests: Object | None = None, **spec: Any) -> Object:
    container = {"name": "main", "image": "busybox:1", "resources": {"requests": requests} if requests else {}}
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}}
    return {**head, "spec": {"containers": [container], **spec}}


def deployment(name: str, replicas: int = 1) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name)["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def role(name: str, *rules: Object, namespace: str = "default") -> Object:
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    return {**head, "metadata": {"name": name, "namespace": namespace}, "rules": list(rules)}


def binding(name: str, role_name: str, user: str, namespace: str = "default", kind: str = "Role") -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": kind, "name": role_name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


def rule(resources: str, *verbs: str, group: str = "") -> Object:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": list(verbs)}


def quota(name: str, **hard: str) -> Object:
    head = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name, "namespace": "default"}}
    return {**head, "spec": {"hard": {key.replace("_", "."): value for key, value in hard.items()}}}


def widget_definition(*versions: Object) -> Object:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": list(versions) or [version()]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": "widgets.example.com"}, "spec": spec}


def version(name: str = "v1", *, storage: bool = True, served: bool = True) -> Object:
    size = {"type": "integer", "minimum": 1}
    members = {"size": size, "color": {"type": "string", "default": "red"}}
    spec = {"type": "object", "required": ["size"], "properties": members}
    status = {"type": "object", "properties": {"ready": {"type": "boolean"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [column],
    }


def widget(name: str, size: int = 1, api_version: str = "example.com/v1") -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": api_version, "kind": "Widget", "metadata": metadata, "spec": {"size": size}}
