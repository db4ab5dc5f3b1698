"""`kohort manager` as a process with a public webhook port: its memory is bounded, and it admits nothing."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kohort.embedded.control_plane import ControlPlane
from kohort.kube.certificates import CertificateAuthority
from manager.managers import LOOPBACK, running_plane
from manager.test_manager_command import PATIENCE, Run, start

MIB = 2**20
SENT = 60 * MIB
"""What took a manager without limits from 90 MiB to 1.7 GiB."""
MOST_GROWTH = 150 * MIB
PIECE = MIB
HEAD = (
    b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u",'
    b'"desiredAPIVersion":"kueue.x-k8s.io/v1beta1","objects":['
)
TAIL = b"{}]}}"

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")


@pytest.fixture
async def plane() -> AsyncIterator[ControlPlane]:
    async with running_plane() as found:
        yield found


@asynccontextmanager
async def managing(plane: ControlPlane, *arguments: str) -> AsyncIterator[tuple[Run, int]]:
    """A manager that has started, and the port of its webhooks."""
    run = await start(plane, "--install-crds", *arguments)
    try:
        await run.until("started controllers")
        yield run, run.webhook_port
    finally:
        run.process.kill()
        await run.rest()


def memory(run: Run, what: str) -> int:
    """A line of the kernel's account of the process, in bytes: VmRSS for now, VmHWM for the most there ever was."""
    status = Path(f"/proc/{run.process.pid}/status").read_text()
    found = re.search(rf"^{what}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def objects(size: int) -> bytes:
    """A ConversionReview of about so many bytes of empty objects."""
    return HEAD + b"{}," * ((size - len(HEAD) - len(TAIL)) // 3) + TAIL


def unverified_tls() -> ssl.SSLContext:
    """Verifies no server, and has no certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def post(port: int, path: str, framing: bytes, parts: list[bytes]) -> int:
    """The status that a request gets; 0 where the connection is closed without a response."""
    reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=unverified_tls())
    try:
        writer.write(b"POST %b HTTP/1.1\r\nHost: x\r\n%b\r\n\r\n" % (path.encode(), framing))
        sending = asyncio.create_task(_send(writer, parts))
        line = await reader.readline()
        sending.cancel()
        return int(line.split()[1]) if line else 0
    except ConnectionError:
        return 0
    finally:
        writer.transport.abort()


async def _send(writer: asyncio.StreamWriter, parts: list[bytes]) -> None:
    for part in parts:
        writer.write(part)
        await writer.drain()


def in_pieces(body: bytes) -> list[bytes]:
    return [body[start : start + PIECE] for start in range(0, len(body), PIECE)]


def in_chunks(body: bytes) -> list[bytes]:
    """The same with chunked encoding, which announces no length."""
    return [*(b"%x\r\n%b\r\n" % (len(part), part) for part in in_pieces(body)), b"0\r\n\r\n"]


async def test_reviews_of_unauthenticated_clients_use_bounded_memory_and_admit_nothing(
    plane: ControlPlane, tmp_path: Path
) -> None:
    authorities = tmp_path / "clients.crt"
    authorities.write_bytes(CertificateAuthority.create(datetime.now(UTC)).pem)
    large, allowed = objects(SENT), objects(SENT // 8)
    async with managing(plane, "--webhook-client-ca-file", str(authorities)) as (run, port), asyncio.timeout(PATIENCE):
        before = memory(run, "VmRSS")
        chunked = b"Transfer-Encoding: chunked"
        assert await post(port, "/convert", chunked, in_chunks(large)) in (0, 413)
        assert await post(port, "/convert", b"Content-Length: %d" % len(large), in_pieces(large)) in (0, 413)
        size = b"Content-Length: %d" % len(allowed)
        answers = await asyncio.gather(*(post(port, "/convert", size, in_pieces(allowed)) for _ in range(16)))
        assert set(answers) <= {0, 200, 408, 429}
        assert 200 in answers
        assert memory(run, "VmHWM") - before < MOST_GROWTH
        review = json.dumps({"kind": "AdmissionReview"}).encode()
        path = "/validate-kueue-x-k8s-io-v1beta2-workload"
        assert await post(port, path, b"Content-Length: %d" % len(review), [review]) == 401
