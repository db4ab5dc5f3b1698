"""`/metrics` for Prometheus (API-143).

With a thousand queues the page has hundreds of thousands of lines: it is written in chunks to keep the loop responsive.
"""

import asyncio
from typing import Final

from aiohttp import web

from kohort.kube.access_reviews import AccessAttributes
from kohort.metrics.registry import CONTENT_TYPE, MetricsRegistry
from kohort.web.authorization import Admit, errors_as_status

PATH: Final = "/metrics"
CHUNK: Final = 2**18
"""Characters written before other tasks may run."""


def metrics_app(registry: MetricsRegistry, admit: Admit) -> web.Application:
    """An application that serves the page to authorized clients."""

    async def page(request: web.Request) -> web.StreamResponse:
        await admit(request, AccessAttributes("get", path=PATH))
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
        await response.prepare(request)
        await _write(response, registry)
        await response.write_eof()
        return response

    app = web.Application(middlewares=[errors_as_status])
    app.router.add_get(PATH, page)
    return app


async def _write(response: web.StreamResponse, registry: MetricsRegistry) -> None:
    waiting, size = [], 0
    for part in registry.pages():
        waiting.append(part)
        size += len(part)
        if size > CHUNK:
            await response.write("".join(waiting).encode())
            await asyncio.sleep(0)
            waiting, size = [], 0
    if waiting:
        await response.write("".join(waiting).encode())
