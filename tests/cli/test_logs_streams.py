"""Broken streams resume after the last line; what can't be read is reported and does not stop the others."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest

from kit.fake_apiserver import FakeApiServer
from kit.responses import CannedResponse
from kit.virtual_time import VirtualClock
from kohort.cli.log_streams import LogChoice, LogStreams, Prefixes
from kohort.kube.client import Client
from kohort.kube.errors import LostResponseError, StatusError
from kohort.kube.options import ListScope
from kohort.kube.transport import Request, Response
from kohort.terminal.style import PLAIN

WHOLE = LogChoice()
BREAK = b""
"""In place of a chunk: the connection breaks off."""


@dataclass
class Stream:
    """A log as it comes."""

    parts: list[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    async def read(self) -> bytes:
        return b"".join(self.parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            if part == BREAK:
                raise LostResponseError("the connection broke off")
            yield part

    async def close(self) -> None:
        pass


class LogApi(FakeApiServer):
    """A server with pods whose logs are written down beforehand."""

    def __init__(self) -> None:
        super().__init__()
        self.streams: dict[str, list[Response]] = {}

    def pod(self, name: str, *streams: Response, begun: bool = True) -> None:
        """A pod, and the responses with its log, one after another."""
        state = {"terminated": {"exitCode": 0}} if begun else {"waiting": {}}
        status = {"containerStatuses": [{"name": "main", "state": state}]}
        self.put("pods", ("default", name), spec={"containers": [{"name": "main"}]}, status=status)
        self.streams[name] = list(streams)

    async def send(self, request: Request, timeout: float) -> Response:
        if request.path.endswith("/log"):
            self.requests.append(request)
            return self.streams[request.path.split("/")[-2]].pop(0)
        return await super().send(request, timeout)

    def asked(self) -> list[dict[str, str]]:
        """The query parameters of the log requests."""
        return [dict(request.query) for request in self.requests if request.path.endswith("/log")]


def line(second: int, text: str) -> bytes:
    return f"2026-01-01T00:00:{second:02}.000000000Z {text}\n".encode()


async def followed(api: LogApi, choice: LogChoice = WHOLE) -> tuple[str, list[str]]:
    """All that is printed, and all that is complained of."""
    out, problems = list[bytes](), list[str]()
    time = VirtualClock()
    streams = LogStreams(
        Client(api, time),
        ListScope("default"),
        choice,
        Prefixes(PLAIN, is_shown=False),
        out.append,
        problems.append,
    )
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    end.set_result(None)
    async with asyncio.timeout(60):
        following = asyncio.create_task(streams.follow(end))
        while not following.done():
            await time.advance(1.0)
        await following
    return b"".join(out).decode(), problems


async def test_a_broken_stream_resumes_after_its_last_line() -> None:
    api = LogApi()
    first = Stream([line(1, "one"), line(2, "two")[:10], line(2, "two")[10:], BREAK])
    again = Stream([line(1, "one"), line(2, "two"), line(3, "three")])
    api.pod("a", first, again)
    assert await followed(api, LogChoice(tail=5)) == ("one\ntwo\nthree\n", [])
    before, after = api.asked()
    assert (before["tailLines"], before["timestamps"]) == ("5", "true")
    assert "tailLines" not in after
    assert int(after["sinceSeconds"]) >= 1


async def test_lines_of_the_same_moment_are_all_printed() -> None:
    api = LogApi()
    api.pod("a", Stream([line(1, "one"), line(1, "two"), b"no stamp\n", line(1, "")]))
    assert await followed(api) == ("one\ntwo\nno stamp\n\n", [])


async def test_a_stream_that_always_breaks_is_given_up_and_reported() -> None:
    api = LogApi()
    api.pod("a", *[Stream([BREAK]) for _ in range(9)])
    api.pod("b", Stream([line(1, "fine")]))
    assert await followed(api) == ("fine\n", ["reading log of pod a failed: the connection broke off"])
    assert len(api.asked()) == 6


async def test_a_line_without_an_end_gets_one() -> None:
    api = LogApi()
    api.pod("a", Stream([line(1, "unfinished")[:-1]]))
    assert (await followed(api))[0] == "unfinished\n"


async def test_a_pod_that_has_gone_takes_its_log_with_it() -> None:
    api = LogApi()
    gone = StatusError(404, "NotFound", 'pods "a" not found', {"name": "a"})
    api.pod("a", CannedResponse(404, str(gone.to_status()).replace("'", '"').encode()))
    assert await followed(api) == ("", [])


async def test_containers_that_have_not_begun_are_left_alone() -> None:
    api = LogApi()
    api.pod("a", begun=False)
    assert await followed(api) == ("", [])
    assert api.asked() == []


async def test_closing_the_output_stops_the_streams() -> None:
    api = LogApi()
    api.pod("a", Stream([line(1, "one")]))

    def closed(_data: bytes) -> None:
        raise BrokenPipeError

    scope, prefixes = ListScope("default"), Prefixes(PLAIN)
    streams = LogStreams(Client(api), scope, LogChoice(), prefixes, closed, lambda _: None)
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    with pytest.raises(BrokenPipeError):
        async with asyncio.timeout(60):
            await streams.follow(never)


async def test_missing_permission_to_read_pods_is_reported_and_leaves_nothing_behind() -> None:
    api = LogApi()
    refusal = StatusError(403, "Forbidden", "pods are none of your business")
    api.responses["/api/v1/namespaces/default/pods"] = CannedResponse(403, json.dumps(refusal.to_status()).encode())
    streams = LogStreams(
        Client(api), ListScope("default"), WHOLE, Prefixes(PLAIN), lambda _data: None, lambda _text: None
    )
    end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    with pytest.raises(StatusError, match="none of your business"):
        await streams.follow(end)
    assert end.cancelled()
