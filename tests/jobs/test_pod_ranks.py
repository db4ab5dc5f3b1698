"""Ranks of pods, and the domain of each rank (TAS-95, TAS-96)."""

from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.topology_builders import INDEX, hosts, placed_set, placed_workload
from kohort.api.kueue.slices import Domain
from kohort.jobs.ungating.ranks import RankScheme, RankTable, rank_schemes

GROUP_INDEX = "jobset.sigs.k8s.io/job-index"
DOMAINS = st.lists(st.integers(1, 5), max_size=6).map(
    lambda counts: [Domain((f"h{number}",), count) for number, count in enumerate(counts)]
)


@given(DOMAINS, st.integers(0, 40))
def test_ranks_run_through_the_domains_in_order(domains: list[Domain], rank: int) -> None:
    expanded = list(chain.from_iterable(repeat(domain.values, domain.pods) for domain in domains))
    assert RankTable(domains).domain(rank) == (expanded[rank] if rank < len(expanded) else None)


def scheme(count: int = 4, **request: object) -> RankScheme:
    workload = placed_workload(placed_set("main", None, count, pod_index_label=INDEX, **request))
    return rank_schemes(workload)["main"]


@pytest.mark.parametrize(
    ("text", "rank"),
    [("0", 0), ("3", 3), ("4", None), ("-1", None), ("+1", None), ("x", None), ("", None), ("²", None)],
)
def test_the_rank_is_the_index_if_it_is_below_the_number_of_pods(text: str, rank: int | None) -> None:
    assert scheme().rank({INDEX: text}) == rank


def test_without_the_label_a_pod_has_no_rank() -> None:
    assert scheme().rank({}) is None


def test_without_an_index_label_a_pod_set_has_no_ranks() -> None:
    assert rank_schemes(placed_workload(placed_set("main", None, 4, required="rack"))) == {}
    assert rank_schemes(placed_workload(placed_set("main", None, 4))) == {}


@pytest.mark.parametrize(
    ("index", "group", "rank"),
    [("0", "0", 0), ("2", "0", 2), ("0", "1", 3), ("2", "1", 5), ("3", "0", None), ("0", "2", None)],
)
def test_groups_follow_each_other(index: str, group: str, rank: int | None) -> None:
    grouped = scheme(6, sub_group_index_label=GROUP_INDEX, sub_group_count=2)
    assert grouped.rank({INDEX: index, GROUP_INDEX: group}) == rank


@pytest.mark.parametrize("groups", [None, 0, 7])
def test_groups_without_a_valid_count_have_no_ranks(groups: int | None) -> None:
    grouped = scheme(6, sub_group_index_label=GROUP_INDEX, sub_group_count=groups)
    assert grouped.rank({INDEX: "0", GROUP_INDEX: "0"}) is None


def test_a_group_count_without_a_label_changes_nothing() -> None:
    assert scheme(6, sub_group_count=2).rank({INDEX: "5"}) == 5


def test_indexes_of_the_larger_pod_set_of_a_group_continue_those_of_the_smaller() -> None:
    leader = placed_set("leader", hosts(h2=1), required="rack", pod_set_group_name="g", pod_index_label=INDEX)
    workers = placed_set("workers", hosts(h1=2, h2=1), required="rack", pod_set_group_name="g", pod_index_label=INDEX)
    for order in ((leader, workers), (workers, leader)):
        schemes = rank_schemes(placed_workload(*order))
        assert [schemes["leader"].rank({INDEX: str(index)}) for index in range(2)] == [0, None]
        assert [schemes["workers"].rank({INDEX: str(index)}) for index in range(5)] == [None, 0, 1, 2, None]


def test_of_equal_pod_sets_of_a_group_the_first_has_the_first_indexes() -> None:
    one = placed_set("one", None, 1, required="rack", pod_set_group_name="g", pod_index_label=INDEX)
    other = placed_set("other", None, 1, required="rack", pod_set_group_name="g", pod_index_label=INDEX)
    schemes = rank_schemes(placed_workload(one, other))
    assert (schemes["one"].offset, schemes["other"].offset) == (0, 1)


def test_pod_sets_without_a_group_have_their_own_indexes() -> None:
    sets = [placed_set(name, None, 2, pod_index_label=INDEX) for name in ("a", "b", "c")]
    assert {each.offset for each in rank_schemes(placed_workload(*sets)).values()} == {0}


def test_an_offset_of_the_template_shifts_indexes_and_their_bound() -> None:
    shifted = scheme(3).shifted(1)
    assert [shifted.rank({INDEX: str(index)}) for index in range(5)] == [None, 0, 1, 2, None]


def test_the_admitted_count_is_what_ranks_go_up_to() -> None:
    requested, assigned = placed_set("main", None, 2, pod_index_label=INDEX)
    partly = rank_schemes(placed_workload((requested, assigned)))["main"]
    assert partly.pod_count == 2
