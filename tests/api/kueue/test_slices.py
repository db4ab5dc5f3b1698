"""Topology assignments as slices and back (API-74)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.codec import decode, to_json
from kohort.api.errors import ConversionError
from kohort.api.kueue.slices import MAX_DOMAINS_PER_SLICE, Domain, compress, expand
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


def test_a_slice_holds_a_bounded_number_of_domains() -> None:
    domains = [Domain((f"n{number}",), 1) for number in range(MAX_DOMAINS_PER_SLICE + 1)]
    assignment = compress(["h"], domains)
    assert [part.domain_count for part in assignment.slices] == [MAX_DOMAINS_PER_SLICE, 1]
    assert list(expand(assignment)) == domains


def test_a_few_bytes_cannot_ask_for_billions_of_domains() -> None:
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
