"""Responses: status code, headers, and a body that is complete or streamed."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace

import msgspec

from kohort.api.codec import Json
from kohort.kube.errors import StatusError

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
_UNPRINTABLE = {ord(sign): " " for sign in "\r\n\t"}
_MAX_WARNING = 1024
_WITH_DETAILS = ("Forbidden", "Invalid", "MethodNotAllowed", "NotAcceptable", "NotFound")
"""Status reasons that always carry details, even empty ones, as kube-apiserver returns them."""

encode = msgspec.json.Encoder().encode
"""JSON bytes of plain dicts and lists."""

HeaderPairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """A response that is not sent yet."""

    status: int
    body: bytes | AsyncIterator[bytes]
    content_type: str = JSON
    headers: HeaderPairs = ()

    def with_headers(self, more: Iterable[tuple[str, str]]) -> "ServerResponse":
        """A copy with further headers."""
        return replace(self, headers=(*self.headers, *more))


def json_response(value: Json, status: int = 200) -> ServerResponse:
    """A JSON response."""
    return ServerResponse(status, encode(value))


def text_response(text: str, status: int = 200) -> ServerResponse:
    """A plain-text response, for the health endpoints."""
    return ServerResponse(status, text.encode(), TEXT)


def status_response(error: StatusError) -> ServerResponse:
    """An error response with a `Status` body."""
    status = error.to_status()
    if error.reason in _WITH_DETAILS:
        status.setdefault("details", {})
    response = json_response(status, error.code)
    if error.retry_after is not None:
        return response.with_headers([("Retry-After", str(max(1, round(error.retry_after))))])
    return response


def warning_headers(warnings: Iterable[str]) -> list[tuple[str, str]]:
    """`Warning: 299` headers, without duplicates; kubectl prints them."""
    return [("Warning", f'299 - "{_quotable(text)}"') for text in dict.fromkeys(warnings)]


def _quotable(text: str) -> str:
    plain = text.translate(_UNPRINTABLE)[:_MAX_WARNING]
    return plain.replace("\\", "\\\\").replace('"', '\\"')
