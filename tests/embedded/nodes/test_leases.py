"""How often leases are renewed."""

from hypothesis import given
from hypothesis import strategies as st

from kohort.embedded.nodes.leases import PATIENT, LeasePace

USUAL = LeasePace()
CONTROLLER_PATIENCE = 50
"""Seconds after which Kubernetes takes a silent node for dead."""


def test_few_nodes_renew_as_a_kubelet_does() -> None:
    assert (USUAL.interval(1), USUAL.duration(1)) == (10.0, 40)


def test_many_nodes_renew_less_often() -> None:
    assert (PATIENT.interval(10_000), PATIENT.duration(10_000)) == (200.0, 800)


@given(st.integers(1, 50_000))
def test_leases_are_renewed_often_enough(nodes: int) -> None:
    assert USUAL.interval(nodes) + USUAL.min_interval < CONTROLLER_PATIENCE
    assert PATIENT.interval(nodes) * 3 < PATIENT.duration(nodes)


@given(st.integers(1, 30_000))
def test_patience_bounds_the_writes_of_a_second(nodes: int) -> None:
    assert nodes / PATIENT.interval(nodes) <= PATIENT.per_second + 1e-6
