"""Metrics of the client (`kohort.kube.metrics`) under controller-runtime's names.

Dashboards made for other controllers work here too; metrics without such a name are called `kohort_…`.
"""

from collections.abc import Mapping
from typing import Final

from kohort.metrics.families import Counter, Histogram
from kohort.metrics.registry import MetricsRegistry

SECONDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

COUNTERS: Final = {
    "kube_requests": ("rest_client_requests_total", "The number of requests to API servers.", ("code", "method")),
    "kube_request_retries": ("kohort_client_request_retries_total", "The number of retried requests.", ("method",)),
    "kube_lists": ("kohort_informer_lists_total", "The number of full list requests.", ("kind",)),
    "kube_watch_failures": ("kohort_informer_watch_failures_total", "The number of failed watches.", ("kind",)),
    "kube_unreadable_objects": (
        "kohort_informer_unreadable_objects_total",
        "The number of objects that could not be decoded.",
        ("kind",),
    ),
    "kube_handler_failures": (
        "kohort_informer_handler_failures_total",
        "The number of event handlers that raised.",
        ("kind",),
    ),
    "kube_events_dropped": ("kohort_events_dropped_total", "The number of dropped events.", ()),
    "workqueue_retries": ("workqueue_retries_total", "The number of requeued keys.", ("queue",)),
}

HISTOGRAMS: Final = {
    "workqueue_wait_seconds": (
        "workqueue_queue_duration_seconds",
        "The time that a key spent in the queue.",
        ("queue",),
    ),
    "reconcile_seconds": (
        "controller_runtime_reconcile_time_seconds",
        "The duration of a reconcile.",
        ("controller", "result"),
    ),
}


SPELLING: Final = {"queue": "name"}
"""Labels with another name in controller-runtime."""

NO_LABELS: Final[Mapping[str, str]] = {}


class ClientMetrics:
    """The MetricsSink of `kohort.kube`; an unknown name is a programming error."""

    def __init__(self, registry: MetricsRegistry) -> None:
        self._counters: dict[str, Counter] = {
            ours: registry.counter(name, text, *map(_spelled, labels))
            for ours, (name, text, labels) in COUNTERS.items()
        }
        self._histograms: dict[str, Histogram] = {
            ours: registry.histogram(name, text, *map(_spelled, labels), buckets=SECONDS)
            for ours, (name, text, labels) in HISTOGRAMS.items()
        }

    def count(self, name: str, labels: Mapping[str, str] = NO_LABELS) -> None:
        """Increase counter `name`."""
        self._counters[name].inc(**_respelled(labels))

    def observe(self, name: str, value: float, labels: Mapping[str, str] = NO_LABELS) -> None:
        """Record a value of histogram `name`."""
        self._histograms[name].observe(value, **_respelled(labels))


def _spelled(label: str) -> str:
    return SPELLING.get(label, label)


def _respelled(labels: Mapping[str, str]) -> dict[str, str]:
    return {_spelled(label): value for label, value in labels.items()}
