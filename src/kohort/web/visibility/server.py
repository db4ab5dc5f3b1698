"""The visibility API over HTTP, behind the API server's front proxy (API-99…104).

A long response is written in chunks, so that other tasks can run; its order is fixed before the first chunk.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from aiohttp import web

from kohort.api.codec import encode
from kohort.api.meta import ObjectKey
from kohort.engine.engine import Engine
from kohort.kube.access_reviews import AccessAttributes
from kohort.kube.errors import StatusError
from kohort.web.authorization import Admit, errors_as_status
from kohort.web.visibility import documents
from kohort.web.visibility.documents import SUBRESOURCE
from kohort.web.visibility.summaries import (
    GROUP,
    KIND,
    VERSIONS,
    PendingPosition,
    Window,
    in_cluster_queue,
    in_local_queue,
)

CHUNK: Final = 500
"""Workloads written before other tasks may run."""

EngineProvider = Callable[[], Engine | None]
"""Returns the engine while caches are synced, else None."""
RequestHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def visibility_app(engine: EngineProvider, admit: Admit) -> web.Application:
    """An application that reads the engine; it responds with 503 while caches are not synced."""
    app = web.Application(middlewares=[errors_as_status])
    queues = _Queues(engine, admit)
    for version in VERSIONS:
        root = f"/apis/{GROUP}/{version}"
        app.router.add_get(f"{root}/clusterqueues/{{name}}/{SUBRESOURCE}", queues.of_cluster_queue)
        app.router.add_get(f"{root}/namespaces/{{namespace}}/localqueues/{{name}}/{SUBRESOURCE}", queues.of_local_queue)
        app.router.add_get(root, _document(admit, documents.resources(version)))
    app.router.add_get(f"/apis/{GROUP}", _document(admit, documents.group()))
    app.router.add_get("/apis", _discovery(admit))
    for path, content in documents.OPENAPI.items():
        app.router.add_get(path, _document(admit, content))
    for path in ("/healthz", "/livez", "/readyz"):
        app.router.add_get(path, _alive)
    return app


async def _alive(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _document(admit: Admit, content: dict[str, Any]) -> RequestHandler:
    body = encode(content)

    async def respond(request: web.Request) -> web.Response:
        await admit(request, AccessAttributes("get", path=request.path))
        return web.Response(body=body, content_type="application/json")

    return respond


def _discovery(admit: Admit) -> RequestHandler:
    plain, whole = encode(documents.groups()), encode(documents.aggregated())

    async def respond(request: web.Request) -> web.Response:
        await admit(request, AccessAttributes("get", path=request.path))
        if documents.AGGREGATED in request.headers.get("Accept", "").replace(" ", ""):
            return web.Response(body=whole, headers={"Content-Type": documents.AGGREGATED})
        return web.Response(body=plain, content_type="application/json")

    return respond


class _Queues:
    def __init__(self, engine: EngineProvider, admit: Admit) -> None:
        self._engine = engine
        self._admit = admit

    async def of_cluster_queue(self, request: web.Request) -> web.StreamResponse:
        await self._admit(request, _act(request, "clusterqueues"))
        found = in_cluster_queue(self._synced_engine(), request.match_info["name"], _window(request))
        return await _respond(request, found)

    async def of_local_queue(self, request: web.Request) -> web.StreamResponse:
        await self._admit(request, _act(request, "localqueues"))
        key = ObjectKey(request.match_info["namespace"], request.match_info["name"])
        return await _respond(request, in_local_queue(self._synced_engine(), key, _window(request)))

    def _synced_engine(self) -> Engine:
        engine = self._engine()
        if engine is None:
            raise StatusError(503, "ServiceUnavailable", "caches are not synced yet, retry later")
        return engine


def _window(request: web.Request) -> Window:
    return Window.of(request.query.get("limit"), request.query.get("offset"))


def _act(request: web.Request, resource: str) -> AccessAttributes:
    return AccessAttributes(
        "get",
        group=GROUP,
        version=_version(request),
        resource=resource,
        subresource=SUBRESOURCE,
        namespace=request.match_info.get("namespace", ""),
        name=request.match_info["name"],
    )


def _version(request: web.Request) -> str:
    return request.path.split("/")[3]


async def _respond(request: web.Request, found: Sequence[PendingPosition]) -> web.StreamResponse:
    head = encode({"kind": KIND, "apiVersion": f"{GROUP}/{_version(request)}", "metadata": {}})[:-1] + b',"items":['
    if len(found) <= CHUNK:
        return web.Response(body=head + _chunk(found) + b"]}", content_type="application/json")
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(head)
    for start in range(0, len(found), CHUNK):
        await response.write((b"," if start else b"") + _chunk(found[start : start + CHUNK]))
        await asyncio.sleep(0)
    await response.write_eof(b"]}")
    return response


def _chunk(found: Sequence[PendingPosition]) -> bytes:
    return encode([each.item() for each in found])[1:-1]
