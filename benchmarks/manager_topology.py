"""Kueue's load test of topology-aware scheduling, run by both managers on a real API server (see `manager`)."""

from collections.abc import Iterator

from benchmarks.manager import KOHORT, beside_kueue
from benchmarks.measure import Measurement
from benchmarks.scenarios import TOPOLOGY


def figures() -> Iterator[Measurement]:
    return beside_kueue(TOPOLOGY, KOHORT)
