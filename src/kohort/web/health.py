"""Health probes of the manager: `/healthz` and `/readyz`.

Ready means that caches are synced and webhooks have a certificate; healthy only that the event loop runs: a manager
that waits for its API server must not be restarted.
"""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

ReadinessCheck = Callable[[], str]
"""Returns a problem, or an empty string."""


def health_app(liveness: str, readiness: str, checks: Mapping[str, ReadinessCheck]) -> web.Application:
    """An application with the two endpoints of the Configuration; each check is also a path below readiness."""
    app = web.Application()
    for name in dict.fromkeys((liveness, "healthz", "livez")):
        app.router.add_get(f"/{name}", _alive)
    for name in dict.fromkeys((readiness, "readyz")):
        app.router.add_get(f"/{name}", _ready(checks))
        for check, ask in checks.items():
            app.router.add_get(f"/{name}/{check}", _ready({check: ask}))
    return app


async def _alive(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _ready(checks: Mapping[str, ReadinessCheck]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def respond(request: web.Request) -> web.Response:
        found = {name: check() for name, check in checks.items()}
        is_ready = not any(found.values())
        if is_ready and "verbose" not in request.query:
            return web.Response(text="ok")
        lines = [f"[-]{name} failed: {why}" if why else f"[+]{name} ok" for name, why in found.items()]
        lines.append("check passed" if is_ready else "check failed")
        return web.Response(text="\n".join(lines) + "\n", status=200 if is_ready else 503)

    return respond
