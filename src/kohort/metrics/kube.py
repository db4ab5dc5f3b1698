"""What the client side counts (`kohort.kube.metrics`), under the names that controller-runtime gave them.

Dashboards made for other controllers read ours too; what has no such name is `kohort_…`.
"""

from collections.abc import Mapping
from typing import Final

from kohort.metrics.families import Counter, Histogram
from kohort.metrics.registry import MetricsRegistry

SECONDS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

COUNTERS: Final = {
    "kube_requests": ("rest_client_requests_total", "Requests to API servers.", ("code", "method")),
    "kube_request_retries": ("kohort_client_request_retries_total", "Requests that were sent again.", ("method",)),
    "kube_lists": ("kohort_informer_lists_total", "Whole lists that caches took.", ("kind",)),
    "kube_watch_failures": ("kohort_informer_watch_failures_total", "Watches that broke.", ("kind",)),
    "kube_unreadable_objects": ("kohort_informer_unreadable_objects_total", "Objects without a shape.", ("kind",)),
    "kube_handler_failures": ("kohort_informer_handler_failures_total", "Handlers that raised.", ("kind",)),
    "kube_events_dropped": ("kohort_events_dropped_total", "Events that were not written.", ()),
    "workqueue_retries": ("workqueue_retries_total", "Keys that were tried again.", ("queue",)),
}

HISTOGRAMS: Final = {
    "workqueue_wait_seconds": ("workqueue_queue_duration_seconds", "Time that a key waited.", ("queue",)),
    "reconcile_seconds": (
        "controller_runtime_reconcile_time_seconds",
        "Time that a reconciliation took.",
        ("controller", "result"),
    ),
}


SPELLING: Final = {"queue": "name"}
"""Labels that controller-runtime spells otherwise."""

NO_LABELS: Final[Mapping[str, str]] = {}


class ClientMetrics:
    """A sink for `kohort.kube`; what it does not know is an error of the program."""

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
        """One more of `name`."""
        self._counters[name].inc(**_respelled(labels))

    def observe(self, name: str, value: float, labels: Mapping[str, str] = NO_LABELS) -> None:
        """A value of `name`."""
        self._histograms[name].observe(value, **_respelled(labels))


def _spelled(label: str) -> str:
    return SPELLING.get(label, label)


def _respelled(labels: Mapping[str, str]) -> dict[str, str]:
    return {_spelled(label): value for label, value in labels.items()}
