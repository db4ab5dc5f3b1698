"""A JSON client for the API server: one connection, answers as they are, warnings included.

Deliberately simple: tests must see what the server says, not what a client makes of it.
"""

import http.client
import json
import re
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from cluster.access import Access

Json = Any
_SECONDS = 120
"""Longer than a busy machine stands still."""
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server says to one request."""

    code: int
    body: Json
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether it did what it was asked."""
        return self.code < 300


class Client:
    """Speaks as one user, one request after the other."""

    def __init__(self, access: Access) -> None:
        self._connection = http.client.HTTPSConnection(access.address, context=access.tls(), timeout=_SECONDS)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def call(
        self, method: str, path: str, body: Json = None, *, media: str = "application/json", **query: str
    ) -> Answer:
        """One request."""
        target = f"{path}?{urlencode(query)}" if query else path
        content = None if body is None else json.dumps(body)
        try:
            return self._asked(method, target, content, media)
        except (ConnectionError, ssl.SSLEOFError):
            # Servers hang up on who was silent for long, as a client is while other tests run.
            return self._asked(method, target, content, media)

    def _asked(self, method: str, target: str, content: str | None, media: str) -> Answer:
        try:
            self._connection.request(method, target, content, {"Content-Type": media, "Accept": "application/json"})
            return _answer(self._connection.getresponse())
        except BaseException:
            # A request without its answer would spoil every later one: the next opens a new connection.
            self._connection.close()
            raise

    def get(self, path: str, **query: str) -> Answer:
        """Read."""
        return self.call("GET", path, **query)

    def post(self, path: str, body: Json, **query: str) -> Answer:
        """Create."""
        return self.call("POST", path, body, **query)

    def put(self, path: str, body: Json, **query: str) -> Answer:
        """Replace."""
        return self.call("PUT", path, body, **query)

    def patch(self, path: str, body: Json, **query: str) -> Answer:
        """Change by a merge patch."""
        return self.call("PATCH", path, body, media="application/merge-patch+json", **query)

    def delete(self, path: str, **query: str) -> Answer:
        """Remove."""
        return self.call("DELETE", path, **query)


def _answer(response: http.client.HTTPResponse) -> Answer:
    warnings = [text for header in response.headers.get_all("Warning", []) for text in _WARNING.findall(header)]
    return Answer(response.status, _parsed(response.read()), tuple(text.replace('\\"', '"') for text in warnings))


def _parsed(content: bytes) -> Json:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
