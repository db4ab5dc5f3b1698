"""The work of placements, counted: it depends on what changed and what is taken, not on the size of the cluster.

`make bench` has the seconds.
"""

import pytest
from benchmarks.topology import KINDS, ONE_POD, cluster, flavor_of, nearly_full, request
from hypothesis import given
from hypothesis import strategies as st

from kohort.engine.topology import GroupPlacement
from kohort.engine.topology.counts import DomainCounts
from kohort.engine.topology.levels import LevelCounts
from kohort.engine.topology.order import DomainOrder
from kohort.engine.topology.parameters import PlacementProfile


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The hosts whose pods were counted."""
    hosts: list[int] = []
    count = DomainCounts._count_leaf

    def recorded(self: DomainCounts, leaf: int) -> bool:
        hosts.append(leaf)
        return count(self, leaf)

    monkeypatch.setattr(DomainCounts, "_count_leaf", recorded)
    return hosts


@pytest.mark.parametrize("kind", KINDS)
def test_a_placement_counts_the_hosts_that_changed_since_the_last_one(kind: str, counted: list[int]) -> None:
    """Not the others, of which nine in ten are full."""
    domains = flavor_of(nearly_full(960))
    found = domains.place(request(64, kind))
    assert isinstance(found, GroupPlacement)
    assert len(counted) == 960
    counted.clear()
    assert domains.place(request(64, kind)) == found
    assert counted == []
    for domain in found.workers.domains:
        domains.counter(domain.values, ONE_POD).use(domain.pods)
    domains.place(request(64, kind))
    assert len(counted) == len(found.workers.domains) < 12


def test_a_reader_far_behind_counts_everything_once(counted: list[int]) -> None:
    """The log of changes is bounded."""
    domains = flavor_of(cluster(32))
    domains.place(request(8, "unconstrained"))
    counter = domains.counter(("node-00007",), ONE_POD)
    for _ in range(100):
        counter.use(1)
        counter.free(1)
    counted.clear()
    domains.place(request(8, "unconstrained"))
    assert sorted(counted) == list(range(32))


def counts(pods: list[int], leaders: list[int]) -> LevelCounts:
    return LevelCounts(pods, pods, leaders, pods, pods, [0] * len(pods))


@given(
    st.lists(st.integers(0, 4), min_size=20, max_size=40),
    st.lists(st.tuples(st.integers(0, 19), st.integers(0, 4), st.integers(0, 1)), max_size=20),
    st.sampled_from(PlacementProfile),
)
def test_an_order_that_follows_changes_equals_a_fresh_one(
    pods: list[int], changes: list[tuple[int, int, int]], profile: PlacementProfile
) -> None:
    """TAS-48, TAS-49."""
    level = counts(pods, [0] * len(pods))
    order = DomainOrder(level, profile)
    for domain, count, leader in changes:
        level.pods[domain], level.leaders[domain] = count, leader
        order.update([domain])
    assert order.keys == DomainOrder(level, profile).keys
