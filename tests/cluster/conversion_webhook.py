"""A conversion webhook on our conversion functions, so that an API server can serve both versions of our kinds.

A fake: it serves ConversionReview and nothing else, until the webhook server of the manager replaces it here.
"""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from kit.pki import KeyPair, ThrowawayCa
from kit.ports import LOOPBACK
from kohort.api.crds import CONVERSION_PATH
from kohort.api.errors import ConversionError, DecodeError
from kohort.api.kueue.conversion import convert

Json = Any


@contextmanager
def conversion_webhook() -> Iterator[Json]:
    """A running webhook, as the `clientConfig` that a CustomResourceDefinition needs to find it."""
    authority = ThrowawayCa.create("kohort-test-webhook")
    server = ThreadingHTTPServer((LOOPBACK, 0), _Handler)
    server.daemon_threads = True
    server.socket = _tls(authority.server(LOOPBACK)).wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            "url": f"https://{LOOPBACK}:{server.server_port}{CONVERSION_PATH}",
            "caBundle": authority.pair.encoded_certificate,
        }
    finally:
        server.shutdown()
        server.server_close()


def _tls(identity: KeyPair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    identity.load_into(context)
    return context


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = json.dumps({**review, "request": None, "response": converted(review["request"])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """The API server logs its requests."""


def converted(request: Json) -> Json:
    """The response to the request of a ConversionReview."""
    try:
        objects = [convert(each, request["desiredAPIVersion"]) for each in request["objects"]]
    except (ConversionError, DecodeError) as error:
        return {"uid": request["uid"], "result": {"status": "Failure", "message": str(error)}}
    return {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
