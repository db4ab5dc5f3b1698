"""Executes one probe: a command, an HTTP request or a TCP connection; results in the kubelet's words.

Containers share the host network, so that ports are probed at 127.0.0.1 unless the probe names a host.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import aiohttp

from kohort.embedded.runtimes.probes.spec import ExecAction, HttpGet, Probe, ProbeOutcome, ProbeResult, TcpSocket
from kohort.kube.clock import Clock, within

HERE = "127.0.0.1"
AGENT = {"User-Agent": "kube-probe/kohort", "Accept": "*/*", "Connection": "close"}
PASSED = ProbeResult(ProbeOutcome.PASSED)


@dataclass(frozen=True, slots=True)
class ExecResult:
    """Exit code and output of a command in a container; `error` if it could not be run."""

    code: int
    output: str = ""
    error: str = ""


Execute = Callable[[Sequence[str]], Awaitable[ExecResult]]
"""Runs a command in the probed container; cancellation ends the command."""


class _PortError(Exception):
    """A named port is not declared by the container."""


async def execute_probe(probe: Probe, ports: Mapping[str, int], execute: Execute, clock: Clock) -> ProbeResult:
    """Executes a probe once; every error is a result."""
    seconds = max(1, probe.timeout_seconds)
    try:
        match probe.action:
            case ExecAction() as command:
                return await _run(command, execute, clock, seconds)
            case HttpGet() as request:
                return await _get(request, _port(request.port, ports), clock, seconds)
            case TcpSocket() as socket:
                return await _connect(socket, _port(socket.port, ports), clock, seconds)
    except _PortError as error:
        return ProbeResult(ProbeOutcome.ERRORED, str(error))
    return PASSED


def _port(port: int | str, ports: Mapping[str, int]) -> int:
    if isinstance(port, int):
        return port
    if port.isdigit():
        return int(port)
    if port not in ports:
        raise _PortError(f"couldn't find port: {port}")
    return ports[port]


async def _run(command: ExecAction, execute: Execute, clock: Clock, seconds: float) -> ProbeResult:
    async def run() -> ExecResult:
        return await execute(command.command)

    try:
        ran = await within(clock, seconds, run())
    except TimeoutError:
        return ProbeResult(ProbeOutcome.FAILED, f'command "{" ".join(command.command)}" timed out')
    if ran.error:
        return ProbeResult(ProbeOutcome.ERRORED, ran.error)
    return PASSED if ran.code == 0 else ProbeResult(ProbeOutcome.FAILED, ran.output)


async def _get(request: HttpGet, port: int, clock: Clock, seconds: float) -> ProbeResult:
    host = request.host or HERE
    url = f"{request.scheme.lower()}://{_bracketed(host)}:{port}/{request.path.lstrip('/')}"
    headers = {**AGENT, **{header.name: header.value for header in request.http_headers}}
    try:
        status = await within(clock, seconds, _status(url, headers))
    except TimeoutError:
        return ProbeResult(ProbeOutcome.FAILED, f'Get "{url}": context deadline exceeded')
    except aiohttp.ClientConnectorError as error:
        return ProbeResult(ProbeOutcome.FAILED, f'Get "{url}": {_dial(host, port, error.os_error)}')
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return ProbeResult(ProbeOutcome.FAILED, f'Get "{url}": {error or type(error).__name__}')
    if 200 <= status < 400:
        return PASSED
    return ProbeResult(ProbeOutcome.FAILED, f"HTTP probe failed with statuscode: {status}")


async def _status(url: str, headers: Mapping[str, str]) -> int:
    # Certificates are not verified, as in the kubelet.
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(url, headers=headers, ssl=False, allow_redirects=False) as response,
    ):
        return response.status


async def _connect(socket: TcpSocket, port: int, clock: Clock, seconds: float) -> ProbeResult:
    host = socket.host or HERE
    try:
        _, writer = await within(clock, seconds, asyncio.open_connection(host, port))
    except TimeoutError:
        return ProbeResult(ProbeOutcome.FAILED, f"dial tcp {_bracketed(host)}:{port}: i/o timeout")
    except OSError as error:
        return ProbeResult(ProbeOutcome.FAILED, _dial(host, port, error))
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return PASSED


def _dial(host: str, port: int, error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"dial tcp {_bracketed(host)}:{port}: connect: connection refused"
    return f"dial tcp {_bracketed(host)}:{port}: {(error.strerror or str(error)).lower()}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
