"""The dashboard of simulated Ray clusters, from which KubeRay reads the states of jobs and serve applications.

Simulated head pods serve nothing, so KubeRay sends these requests through an HTTP proxy, which answers for all of them:
a Ray job of RayJob `brief` has succeeded, any other one runs.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import urlsplit

from kit.ports import LOOPBACK
from real_operators.users import BRIEF

Json = Any
_JOBS: Final = "/api/jobs/"
_SECONDS: Final = 5.0


class _Dashboard(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.startswith(_JOBS):
            self._reply(_job(path.removeprefix(_JOBS)))
        else:
            self._reply({"applications": {}})

    def do_POST(self) -> None:
        self._drain()
        self._reply({"stopped": True})

    def do_PUT(self) -> None:
        self._drain()
        self._reply({})

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name of the base class
        """Without output."""

    def _drain(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _reply(self, content: Json) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _job(name: str) -> Json:
    status = "SUCCEEDED" if name.startswith(f"{BRIEF}-") else "RUNNING"
    return {"submission_id": name, "job_id": name, "status": status, "message": ""}


@contextmanager
def running_dashboard() -> Iterator[Mapping[str, str]]:
    """Runs it; yields the environment in which a Go program uses it for plain HTTP."""
    with ThreadingHTTPServer((LOOPBACK, 0), _Dashboard) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield {"HTTP_PROXY": f"http://{LOOPBACK}:{server.server_port}", "HTTPS_PROXY": "", "NO_PROXY": LOOPBACK}
        finally:
            server.shutdown()
            thread.join(_SECONDS)
