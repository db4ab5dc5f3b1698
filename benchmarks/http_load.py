"""Requests that benchmarks make of any API server, many at a time: what is measured is the server, not a client."""

import asyncio
import json
from collections.abc import Awaitable, Iterable
from typing import Any

from kohort.kube.http import HttpTransport
from kohort.kube.transport import Request

WRITERS = 50
"""Requests under way at a time."""
TIMEOUT = 120.0
NAMESPACE = "/api/v1/namespaces/bench"
JSON = {"Content-Type": "application/json"}
MERGE = {"Content-Type": "application/merge-patch+json"}


async def furnish(transport: HttpTransport) -> None:
    """Make what pods need where no controller makes it."""
    await post(transport, "/api/v1/namespaces", {"metadata": {"name": "bench"}})
    account = Request("POST", f"{NAMESPACE}/serviceaccounts", (), JSON, as_body({"metadata": {"name": "default"}}))
    response = await transport.send(account, TIMEOUT)
    await response.read()
    if response.status not in (201, 409):
        raise RuntimeError(f"no service account: {response.status}")


async def ask(transport: HttpTransport, path: str, query: tuple[tuple[str, str], ...] = ()) -> bytes:
    """What the server answers."""
    return await send(transport, Request("GET", path, query))


async def post(transport: HttpTransport, path: str, thing: Any) -> None:
    """Create something."""
    await send(transport, Request("POST", path, (), JSON, as_body(thing)))


async def send(transport: HttpTransport, request: Request) -> bytes:
    """The answer to a request; raises RuntimeError with the complaint where it is refused."""
    response = await transport.send(request, TIMEOUT)
    body = await response.read()
    if response.status >= 300:
        raise RuntimeError(f"{request.method} {request.path}: {response.status} {body[:300]!r}")
    return body


async def in_parallel(work: Iterable[Awaitable[None]]) -> None:
    """Do all of it, so many at a time."""
    jobs = iter(work)

    async def worker() -> None:
        for job in jobs:
            await job

    await asyncio.gather(*(worker() for _ in range(WRITERS)))


def as_body(thing: Any) -> bytes:
    """A thing as it is sent."""
    return json.dumps(thing).encode()
