"""Metrics of the server in the Prometheus text format."""

from collections import Counter
from collections.abc import Callable

from kohort.embedded.server.encoding.responses import ServerResponse

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_Gauge = Callable[[], float]


class ServerMetrics:
    """Request counters, and gauges read on scrape."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._gauges: dict[str, tuple[str, _Gauge]] = {}

    def count(self, method: str, status: int) -> None:
        """Counts a request."""
        self._requests[method if method.isalpha() and len(method) < 16 else "OTHER", status] += 1

    def offer(self, name: str, text: str, gauge: _Gauge) -> None:
        """Registers a gauge that is read on scrape."""
        self._gauges[name] = (text, gauge)

    def response(self) -> ServerResponse:
        """The response with all metrics."""
        lines = ["# HELP apiserver_request_total Requests answered.", "# TYPE apiserver_request_total counter"]
        for (method, status), count in sorted(self._requests.items()):
            lines.append(f'apiserver_request_total{{verb="{method}",code="{status}"}} {count}')
        for name, (text, gauge) in sorted(self._gauges.items()):
            lines += [f"# HELP {name} {text}", f"# TYPE {name} gauge", f"{name} {gauge():.17g}"]
        return ServerResponse(200, ("\n".join(lines) + "\n").encode(), _TEXT)
