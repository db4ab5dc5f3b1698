"""Texts that differ from node to node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.embedded.nodes.patterns import NodePatternError, Patterns


def dealt(count: int, **texts: str) -> list[tuple[str, ...]]:
    patterns = Patterns.parse(texts)
    return [tuple(patterns.texts(number, count).values()) for number in range(count)]


def test_text_without_braces_is_the_same_for_all() -> None:
    assert dealt(2, zone="a") == [("a",), ("a",)]


def test_the_number_of_the_node_counts_from_nought() -> None:
    assert dealt(3, name="gpu-{node}") == [("gpu-0",), ("gpu-1",), ("gpu-2",)]


def test_a_range_is_distributed_evenly_in_contiguous_blocks() -> None:
    assert dealt(4, rack="r{0..1}") == [("r0",), ("r0",), ("r1",), ("r1",)]


def test_leading_zeros_set_the_width() -> None:
    assert dealt(2, rack="r{08..09}") == [("r08",), ("r09",)]


def test_lists_are_separated_by_bars() -> None:
    assert dealt(2, zone="{east|west}") == [("east",), ("west",)]


def test_several_placeholders_form_a_hierarchy_with_the_first_one_on_top() -> None:
    found = dealt(8, block="b{0..1}", rack="r{0..1}")
    assert found == [("b0", "r0")] * 2 + [("b0", "r1")] * 2 + [("b1", "r0")] * 2 + [("b1", "r1")] * 2


def test_a_named_placeholder_can_be_repeated() -> None:
    found = dealt(4, block="b{block:0..1}", rack="b{block}-r{0..1}", host="{node}")
    assert found == [("b0", "b0-r0", "0"), ("b0", "b0-r1", "1"), ("b1", "b1-r0", "2"), ("b1", "b1-r1", "3")]


def test_fewer_nodes_than_values_are_spread_over_them() -> None:
    assert dealt(2, rack="r{0..3}") == [("r0",), ("r2",)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("r{0..3", "unmatched brace"),
        ("r{3..0}", "must ascend"),
        ("{a|a}", "must be distinct"),
        ("{|a}", "must be distinct"),
        ("{rack}", "undefined placeholder {rack}: use one of {node}"),
        ("{}", "undefined placeholder {}"),
        ("{a:b:c}", "write {0..15}"),
        ("{x:0..1}{x:0..1}", "duplicate {x"),
        ("{0..999999999}", "at most"),
        ("{0..999}{0..999}", "more than 100000 combinations"),
    ],
)
def test_a_pattern_that_makes_no_sense_is_refused(text: str, why: str) -> None:
    with pytest.raises(NodePatternError) as caught:
        dealt(1, rack=text)
    assert why in str(caught.value)


@given(st.integers(1, 200), st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_domains_differ_by_one_node_at_most_and_are_in_order(count: int, sizes: list[int]) -> None:
    texts = {str(index): f"{{0..{size - 1}}}" for index, size in enumerate(sizes)}
    patterns = Patterns.parse(texts)
    found = [tuple(int(text) for text in patterns.texts(number, count).values()) for number in range(count)]
    assert found == sorted(found)
    sizes_of = [found.count(each) for each in set(found)]
    assert max(sizes_of) - min(sizes_of) <= 1
