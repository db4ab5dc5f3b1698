"""Bytes to responses: the same for any split of the bytes, and malformed ones are rejected."""

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.kube.http1.errors import ConnectionClosedError, MalformedError
from kohort.kube.http1.headers import ResponseHeaders
from kohort.kube.http1.parser import MAX_HEAD, MAX_SIZE_LINE, Parser
from kohort.kube.http1.request_encoder import RequestTemplate

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True)
class ParsedResponse:
    """What a parser made of some bytes."""

    status: int
    body: bytes
    rest: bytes
    is_done: bool
    ends: bool


def parsed(data: bytes, method: str = "GET", cuts: tuple[int, ...] = ()) -> ParsedResponse:
    """Fed piece by piece, cut at these places."""
    parser = Parser(method)
    rest = b""
    places = [0, *sorted({cut for cut in cuts if 0 < cut < len(data)}), len(data)]
    for begin, end in pairwise(places):
        if parser.is_done:
            rest += data[begin:end]
        else:
            rest += parser.feed(data[begin:end])
    return ParsedResponse(parser.status, b"".join(parser.parts), rest, parser.is_done, parser.ends)


def chunk(body: bytes, extension: bytes = b"") -> bytes:
    return b"%x%b\r\n%b\r\n" % (len(body), extension, body)


# Whole answers


def test_a_body_by_length() -> None:
    seen = parsed(OK + b"content-length: 5\r\n\r\nhello")
    assert seen == ParsedResponse(200, b"hello", b"", is_done=True, ends=False)


def test_a_body_in_chunks_with_extensions_and_a_trailer() -> None:
    data = CHUNKED + chunk(b"hel", b";why=not") + chunk(b"lo") + b"0\r\nX-After: 1\r\n\r\n"
    assert parsed(data) == ParsedResponse(200, b"hello", b"", is_done=True, ends=False)


def test_a_body_up_to_the_end_of_the_connection() -> None:
    parser = Parser("GET")
    parser.feed(OK + b"\r\nhel")
    parser.feed(b"lo")
    assert not parser.is_done
    parser.feed_end()
    assert (parser.is_done, parser.ends, b"".join(parser.parts)) == (True, True, b"hello")


@pytest.mark.parametrize(
    ("method", "status"), [("HEAD", b"200 OK"), ("GET", b"204 No Content"), ("GET", b"304 Not Modified")]
)
def test_some_responses_have_no_body_with_any_headers(method: str, status: bytes) -> None:
    seen = parsed(b"HTTP/1.1 " + status + b"\r\nContent-Length: 5\r\n\r\n", method)
    assert (seen.is_done, seen.body, seen.ends) == (True, b"", False)


def test_no_body_at_all_is_whole_at_once() -> None:
    assert parsed(OK + b"Content-Length: 0\r\n\r\n").is_done


def test_interim_responses_are_skipped() -> None:
    data = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\n!"
    )
    assert parsed(data) == ParsedResponse(200, b"!", b"", is_done=True, ends=False)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n",
        b"HTTP/1.1 200 OK\r\nconnection: Foo, CLOSE\r\n",
        b"HTTP/1.0 200 OK\r\n",
    ],
)
def test_a_connection_that_ends_with_its_response_is_reported(head: bytes) -> None:
    seen = parsed(head + b"Content-Length: 1\r\n\r\n!")
    assert (seen.is_done, seen.ends) == (True, True)


def test_a_tunnel_begins_behind_its_head_even_from_an_old_proxy() -> None:
    assert parsed(b"HTTP/1.0 200 Connection established\r\n\r\n", "CONNECT") == ParsedResponse(
        200, b"", b"", is_done=True, ends=False
    )


def test_bytes_after_a_response_are_returned() -> None:
    assert parsed(OK + b"Content-Length: 2\r\n\r\nokHTTP/1.1 200").rest == b"HTTP/1.1 200"


# Any cut


bodies = st.lists(st.binary(min_size=1, max_size=40), max_size=5)
cuts = st.lists(st.integers(0, 400), max_size=12).map(tuple)


@given(bodies, cuts, st.booleans(), st.booleans())
def test_a_response_is_the_same_for_any_split_of_its_bytes(
    parts: list[bytes], cuts: tuple[int, ...], in_chunks: bool, has_garbage: bool
) -> None:
    body = b"".join(parts)
    if in_chunks:
        data = CHUNKED + b"".join(map(chunk, parts)) + b"0\r\nX: y\r\n\r\n"
    else:
        data = OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    rest = b"garbage" if has_garbage else b""
    assert parsed(data + rest, cuts=cuts) == ParsedResponse(200, body, rest, is_done=True, ends=False)


@given(bodies, st.integers(0, 300))
def test_a_truncated_response_is_never_complete(parts: list[bytes], length: int) -> None:
    data = CHUNKED + b"".join(map(chunk, parts)) + b"0\r\n\r\n"
    parser = Parser("GET")
    parser.feed(data[: min(length, len(data) - 1)])
    assert not parser.is_done
    with pytest.raises(ConnectionClosedError):
        parser.feed_end()


def outcome(data: bytes, cuts: tuple[int, ...]) -> ParsedResponse | None:
    try:
        return parsed(data, cuts=cuts)
    except MalformedError:
        return None


@given(st.binary(max_size=300) | st.text("0123aF;:\r\n ", max_size=60).map(str.encode), st.booleans(), cuts)
def test_nonsense_is_refused_or_not_however_it_is_cut(noise: bytes, has_head: bool, cuts: tuple[int, ...]) -> None:
    data = CHUNKED + noise if has_head else noise
    assert outcome(data, cuts) == outcome(data, ())


# What is refused


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 099 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1  200 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b": no name\r\n\r\n",
        OK + b"Spaced : name\r\n\r\n",
        OK + b"A: b\r\n folded\r\n\r\n",
        OK + b"A: b\nB: c\r\n\r\n",
        OK + b"A: b\0\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: +1\r\n\r\n",
        OK + b"Content-Length: 1_0\r\n\r\n",
        OK + b"Content-Length: \r\n\r\n",
        OK + b"Content-Length: 9999999999999999999\r\n\r\n",
        OK + b"Content-Length: 999999999999999\r\n\r\n",
        OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
        OK + b"Transfer-Encoding: identity\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        CHUNKED + b"-1\r\n",
        CHUNKED + b"0x1\r\n",
        CHUNKED + b" 1\r\n",
        CHUNKED + b"1_0\r\n",
        CHUNKED + b"\r\n",
        CHUNKED + b"ffffffffffffffff\r\n",
        CHUNKED + b"11111111111111111\r\n",
        CHUNKED + b"1" * MAX_SIZE_LINE,
        CHUNKED + b"1\r\nab\r\n",
        CHUNKED + b"1\r\na\rb",
        CHUNKED + b"0\r\nno colon\r\n\r\n",
        CHUNKED + b"0\r\n" + b"a" * (MAX_HEAD + 1),
        OK + b"A: " + b"a" * MAX_HEAD,
        b"HTTP/1.1 100 Continue\r\nA: a\r\n\r\n" * (MAX_HEAD // 20),
    ],
    ids=lambda data: repr(data[-30:]),
)
def test_what_is_no_http_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parsed(data)


@pytest.mark.parametrize("data", [b"", OK, OK + b"Content-Length: 5\r\n\r\nhell", CHUNKED + b"5\r\nhell"])
def test_an_end_before_the_end_is_reported(data: bytes) -> None:
    parser = Parser("GET")
    parser.feed(data)
    with pytest.raises(ConnectionClosedError):
        parser.feed_end()


def test_the_same_length_twice_is_one_length() -> None:
    assert parsed(OK + b"Content-Length: 1\r\ncontent-length: 1\r\n\r\n!").is_done


# Fields


def test_fields_are_found_in_any_spelling_and_repeated_ones_joined() -> None:
    fields = ResponseHeaders(b"retry-AFTER:  5 \r\nWarning: a\r\nX-Warning: no\r\nwarning: b\r\n")
    assert (fields["Retry-After"], fields["retry-after"], fields["Warning"]) == ("5", "5", "a, b")
    assert (list(fields), len(fields)) == (["Retry-After", "Warning", "X-Warning"], 3)
    assert ("Date" in fields, fields.get("Date"), fields.get("Date", "?")) == (False, None, "?")
    with pytest.raises(KeyError):
        fields["Date"]


# Requests


LETTERHEAD = RequestTemplate("/prefix", "server:6443", (("Authorization", "Bearer x"),))


def test_a_request_is_one_piece() -> None:
    assert LETTERHEAD.write("GET", "/api?a=b", (("Accept", "application/json"),), b"") == (
        b"GET /prefix/api?a=b HTTP/1.1\r\nHost: server:6443\r\nAuthorization: Bearer x\r\n"
        b"Accept: application/json\r\nAccept-Encoding: identity\r\n\r\n"
    )
    written = LETTERHEAD.write("POST", "/api", (("Accept-Encoding", "gzip"), ("content-length", "9")), b"body")
    assert written.endswith(b"Bearer x\r\nAccept-Encoding: gzip\r\nContent-Length: 4\r\n\r\nbody")
    assert b"Content-Length: 0\r\n" in LETTERHEAD.write("DELETE", "/api", (), b"")


@pytest.mark.parametrize("target", ["/a b", "/a\r\nX: y", "/ä", "/a\n", "/a\x7f"])
def test_a_target_that_is_not_quoted_is_refused(target: str) -> None:
    with pytest.raises(ValueError, match="quote it"):
        LETTERHEAD.write("GET", target, (), b"")


@pytest.mark.parametrize(
    "header", [("A", "b\r\nC: d"), ("A", "b\n"), ("A b", "c"), ("A:", "b"), ("", "b"), ("A", "\0")]
)
def test_nothing_becomes_a_header_of_its_own(header: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="invalid header"):
        LETTERHEAD.write("GET", "/", (header,), b"")
    with pytest.raises(ValueError, match="invalid header"):
        RequestTemplate("", "server", (header,))
