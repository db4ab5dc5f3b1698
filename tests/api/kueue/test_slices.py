"""Topology assignments as slices and back (API-74)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kohort.api.codec import decode, encode, to_json
from kohort.api.errors import ConversionError
from kohort.api.kueue.slices import MAX_DOMAINS_PER_SLICE, MAX_SLICES, Domain, compress, compress_by_prefix, expand
from kohort.api.kueue.v1beta2.workload import TopologyAssignment
from kohort.api.schema import schema_of
from kohort.api.structural import validate

NAMES = st.text(st.sampled_from("ab-1"), max_size=6)


@st.composite
def domain_lists(draw: st.DrawFn) -> tuple[list[str], list[Domain]]:
    levels = draw(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3))
    values = st.tuples(*(NAMES for _ in levels))
    return levels, draw(st.lists(st.builds(Domain, values, st.integers(1, 9)), min_size=1, max_size=8))


@given(domain_lists())
def test_what_is_compressed_expands_to_the_same_domains_in_the_same_order(case: tuple[list[str], list[Domain]]) -> None:
    levels, domains = case
    assignment = compress(levels, domains)
    assert list(expand(assignment)) == domains
    assert validate(to_json(assignment), schema_of(TopologyAssignment)) == []


def test_values_that_agree_are_written_once_and_common_ends_are_taken_out() -> None:
    """Vector 47."""
    assignment = compress(["b", "r"], [Domain(("b1", "rack-1-x"), 4), Domain(("b1", "rack-22-x"), 2)])
    assert to_json(assignment)["slices"] == [
        {
            "domainCount": 2,
            "valuesPerLevel": [
                {"universal": "b1"},
                {"individual": {"prefix": "rack-", "roots": ["1", "22"], "suffix": "-x"}},
            ],
            "podCounts": {"individual": [4, 2]},
        }
    ]


def test_prefix_and_suffix_do_not_overlap() -> None:
    assignment = compress(["h"], [Domain(("aa",), 1), Domain(("aaa",), 1)])
    assert [domain.values for domain in expand(assignment)] == [("aa",), ("aaa",)]


def test_where_prefix_and_suffix_would_overlap_the_prefix_is_shortened() -> None:
    """EX-18, TAS-72."""
    (part,) = compress(["h"], [Domain(("ababa",), 1), Domain(("aba",), 1)]).slices
    assert to_json(part.values_per_level) == [{"individual": {"suffix": "aba", "roots": ["ab", ""]}}]


HOST = "kubernetes.io/hostname"


def hosts(*names: str) -> list[Domain]:
    return [Domain((name,), 1) for name in names]


def roots(assignment: TopologyAssignment) -> list[list[str]]:
    """The hosts of each slice."""
    return [
        [domain.values[-1] for domain in expand(structs.replace(assignment, slices=(part,)))]
        for part in assignment.slices
    ]


def test_ex_18_the_shorter_of_both_encodings_is_used() -> None:
    """EX-18; TAS-73(4)."""
    domains = [Domain(("pool-a-n1",), 2), Domain(("pool-a-n2",), 2), Domain(("pool-b-n7",), 1)]
    (part,) = compress_by_prefix([HOST], domains).slices
    assert to_json(part) == {
        "domainCount": 3,
        "valuesPerLevel": [{"individual": {"prefix": "pool-", "roots": ["a-n1", "a-n2", "b-n7"]}}],
        "podCounts": {"individual": [2, 2, 1]},
    }


def test_runs_of_hosts_with_a_long_common_prefix_are_slices_of_their_own() -> None:
    """TAS-73: `pool-b-` is no prefix of two hosts."""
    pool = [f"pool-of-a-very-long-name-a-{number}" for number in range(9)]
    other = [f"pool-of-a-very-long-name-b-{number}" for number in range(9)]
    found = compress_by_prefix([HOST], hosts(*pool, *other, "single-1"))
    assert roots(found) == [pool, other, ["single-1"]]
    assert to_json(found.slices[2].values_per_level) == [{"universal": "single-1"}]


@pytest.mark.parametrize("levels", [["rack"], [HOST, "rack"]])
def test_only_hosts_are_split_by_prefix(levels: list[str]) -> None:
    """TAS-73 is about host topologies."""
    names = [f"pool-of-a-very-long-name-{pool}-{number}" for pool in "ab" for number in range(9)]
    domains = [Domain((name,) * len(levels), 1) for name in names]
    assert compress_by_prefix(levels, domains) == compress(levels, domains)


def test_prefixes_become_shorter_until_the_slices_are_few_enough() -> None:
    """TAS-73(2)."""
    names = [
        f"a-very-long-name-of-{'left' if group % 2 else 'right'}-{group:04}-{number}"
        for group in range(1100)
        for number in (1, 2)
    ]
    found = compress_by_prefix([HOST], hosts(*sorted(names)))
    assert [part.domain_count for part in found.slices] == [1100, 1100]
    assert list(expand(found)) == hosts(*sorted(names))


def test_without_a_prefix_of_few_runs_there_is_one_slice() -> None:
    """TAS-73(2): more than 1000 runs at every depth."""
    names = [f"{'xyz'[number % 3]}-{number}" for number in range(3 * MAX_SLICES)]
    assert len(compress_by_prefix([HOST], hosts(*names)).slices) == 1


@given(st.lists(st.text(st.sampled_from("ab-1"), max_size=8), min_size=1, max_size=12), st.data())
def test_hosts_expand_to_what_they_were(names: list[str], data: st.DataObject) -> None:
    """TAS-69, TAS-71, TAS-74: for any names, the empty one and repeated ones included."""
    domains = [Domain((name,), data.draw(st.integers(1, 3))) for name in names]
    found = compress_by_prefix([HOST], domains)
    assert list(expand(found)) == domains
    assert validate(to_json(found), schema_of(TopologyAssignment)) == []
    assert len(encode(found)) <= len(encode(compress([HOST], domains)))


def test_a_slice_holds_a_bounded_number_of_domains() -> None:
    domains = [Domain((f"n{number}",), 1) for number in range(MAX_DOMAINS_PER_SLICE + 1)]
    assignment = compress(["h"], domains)
    assert [part.domain_count for part in assignment.slices] == [MAX_DOMAINS_PER_SLICE, 1]
    assert list(expand(assignment)) == domains


def test_a_few_bytes_cannot_request_billions_of_domains() -> None:
    bomb = decode(
        b'{"levels":["h"],"slices":[{"domainCount":2000000000,'
        b'"valuesPerLevel":[{"universal":"x"}],"podCounts":{"universal":1}}]}',
        TopologyAssignment,
    )
    with pytest.raises(ConversionError, match="at most 1000000"):
        list(expand(bomb))


@pytest.mark.parametrize(
    "part",
    [
        b'{"domainCount":2,"valuesPerLevel":[{"individual":{"roots":["a"]}}],"podCounts":{"universal":1}}',
        b'{"domainCount":2,"valuesPerLevel":[{"universal":"a"}],"podCounts":{"individual":[1]}}',
    ],
)
def test_a_slice_that_contradicts_itself_is_refused(part: bytes) -> None:
    assignment = decode(b'{"levels":["h"],"slices":[' + part + b"]}", TopologyAssignment)
    with pytest.raises(ConversionError):
        list(expand(assignment))


def test_a_domain_without_a_value_for_every_level_is_refused() -> None:
    with pytest.raises(ConversionError, match="each of the 2 levels"):
        compress(["b", "h"], [Domain(("b1",), 1)])
