"""A JSON client for the API server: one connection, responses with their warnings.

Deliberately simple: tests must observe the responses, not the behavior of a client library.
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
"""Timeout of a request on a busy machine."""
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class JsonResponse:
    """The response to one request."""

    code: int
    body: Json
    warnings: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the request succeeded."""
        return self.code < 300


class JsonClient:
    """Sends requests as one user, one after the other."""

    def __init__(self, access: Access) -> None:
        self._connection = http.client.HTTPSConnection(access.address, context=access.tls(), timeout=_SECONDS)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def call(
        self, method: str, path: str, body: Json = None, *, media: str = "application/json", **query: str
    ) -> JsonResponse:
        """One request."""
        target = f"{path}?{urlencode(query)}" if query else path
        content = None if body is None else json.dumps(body)
        try:
            return self._send(method, target, content, media)
        except (ConnectionError, ssl.SSLEOFError):
            # Servers close idle connections, as this one is while other tests run.
            return self._send(method, target, content, media)

    def _send(self, method: str, target: str, content: str | None, media: str) -> JsonResponse:
        try:
            self._connection.request(method, target, content, {"Content-Type": media, "Accept": "application/json"})
            return _json_response(self._connection.getresponse())
        except BaseException:
            # The connection cannot be reused after a request without a response; the next request opens a new one.
            self._connection.close()
            raise

    def get(self, path: str, **query: str) -> JsonResponse:
        """Read."""
        return self.call("GET", path, **query)

    def post(self, path: str, body: Json, **query: str) -> JsonResponse:
        """Create."""
        return self.call("POST", path, body, **query)

    def put(self, path: str, body: Json, **query: str) -> JsonResponse:
        """Replace."""
        return self.call("PUT", path, body, **query)

    def patch(self, path: str, body: Json, **query: str) -> JsonResponse:
        """Change by a merge patch."""
        return self.call("PATCH", path, body, media="application/merge-patch+json", **query)

    def delete(self, path: str, **query: str) -> JsonResponse:
        """Remove."""
        return self.call("DELETE", path, **query)


def _json_response(response: http.client.HTTPResponse) -> JsonResponse:
    warnings = [text for header in response.headers.get_all("Warning", []) for text in _WARNING.findall(header)]
    return JsonResponse(response.status, _parsed(response.read()), tuple(text.replace('\\"', '"') for text in warnings))


def _parsed(content: bytes) -> Json:
    try:
        return json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
