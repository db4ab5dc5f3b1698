"""Laws of the families: histograms lose nothing, and pages read back to what was recorded."""

from bisect import bisect_left
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.kube.metrics import MetricsSink
from kohort.metrics.families import number
from kohort.metrics.kube import ClientMetrics
from kohort.metrics.registry import MetricsRegistry

BUCKETS = (1.0, 2.5, 5.0)
OBSERVED = st.lists(st.floats(0, 10), max_size=30)


@given(OBSERVED)
def test_buckets_count_everything_up_to_their_bound(observed: list[float]) -> None:
    registry = MetricsRegistry()
    family = registry.histogram("h", "Spread.", buckets=BUCKETS)
    for value in observed:
        family.observe(value)
    samples = {line.split()[0]: float(line.split()[1]) for page in family.pages() for line in page.splitlines()}
    if not observed:
        assert samples == {}
        return
    for bound in (*BUCKETS, inf):
        assert samples[f'h_bucket{{le="{number(bound)}"}}'] == sum(value <= bound for value in observed)
    assert samples["h_count"] == len(observed) == family.count()
    assert samples["h_sum"] == pytest.approx(sum(observed))
    assert bisect_left(BUCKETS, 2.5) == 1, "a value on the bound belongs below it"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (2.5, "2.5"), (inf, "+Inf"), (-inf, "-Inf"), (nan, "NaN"), (0.005, "0.005"), (1e20, "1e+20")],
)
def test_numbers_are_written_as_prometheus_writes_them(value: float, text: str) -> None:
    assert number(value) == text


def test_what_the_client_counts_has_the_names_of_controller_runtime() -> None:
    registry = MetricsRegistry()
    sink: MetricsSink = ClientMetrics(registry)
    sink.count("kube_requests", {"method": "GET", "code": "200"})
    sink.count("kube_events_dropped")
    sink.observe("workqueue_wait_seconds", 0.5, {"queue": "jobs"})
    sink.observe("reconcile_seconds", 0.5, {"controller": "jobs", "result": "success"})
    page = registry.render().decode()
    assert 'rest_client_requests_total{code="200",method="GET"} 1\n' in page
    assert "kohort_events_dropped_total 1\n" in page
    assert 'workqueue_queue_duration_seconds_count{name="jobs"} 1\n' in page
    assert 'controller_runtime_reconcile_time_seconds_sum{controller="jobs",result="success"} 0.5\n' in page
