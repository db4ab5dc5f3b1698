"""Whether the manager lives and is ready, as probes and people ask (`/healthz`, `/readyz`).

Ready means that its caches are live and its webhooks have a certificate; alive only that its event loop still turns: a
manager that waits for its API server must not be restarted for it.
"""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

Check = Callable[[], str]
"""Empty when all is well, else what is wrong."""


def health_app(liveness: str, readiness: str, checks: Mapping[str, Check]) -> web.Application:
    """Answers under the two names that a Configuration gives; each check is also a path below readiness."""
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


def _ready(checks: Mapping[str, Check]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        found = {name: check() for name, check in checks.items()}
        is_ready = not any(found.values())
        if is_ready and "verbose" not in request.query:
            return web.Response(text="ok")
        lines = [f"[-]{name} failed: {why}" if why else f"[+]{name} ok" for name, why in found.items()]
        lines.append("check passed" if is_ready else "check failed")
        return web.Response(text="\n".join(lines) + "\n", status=200 if is_ready else 503)

    return answer
