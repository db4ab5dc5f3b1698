"""`/metrics` for Prometheus (API-143)."""

from aiohttp import web

from kohort.metrics.registry import CONTENT_TYPE, Registry
from kohort.web.gate import Admit, errors_as_status
from kohort.web.users import Act

PATH = "/metrics"


def metrics_app(registry: Registry, admit: Admit) -> web.Application:
    """Serves the page to those who may read it."""

    async def page(request: web.Request) -> web.Response:
        await admit(request, Act("get", path=PATH))
        return web.Response(body=registry.render(), headers={"Content-Type": CONTENT_TYPE})

    app = web.Application(middlewares=[errors_as_status])
    app.router.add_get(PATH, page)
    return app
