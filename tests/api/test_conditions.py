"""Conditions keep their place and their time, and their messages stay within bounds."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.codec import to_json
from kohort.api.conditions import (
    find,
    is_true,
    is_true_in_json,
    remove,
    set_condition,
    truncate_message,
    truncate_note,
)
from kohort.api.core.objects import StatusCondition
from kohort.api.kueue.v1beta2.checks import AdmissionCheckStatus
from kohort.api.meta import Condition, ConditionStatus
from kohort.api.schema import schema_of
from kohort.api.structural import validate

DAY = datetime(2026, 1, 1, tzinfo=UTC)
CONDITIONS = st.builds(
    Condition,
    type=st.sampled_from(["A", "B", "C"]),
    status=st.sampled_from(["True", "False", "Unknown"]),
    reason=st.sampled_from(["R", "S"]),
    message=st.sampled_from(["", "m"]),
    last_transition_time=st.integers(0, 3).map(lambda hours: DAY + timedelta(hours=hours)),
    observed_generation=st.none() | st.integers(0, 2),
)


def condition(
    type_: str = "Ready", status: ConditionStatus = "True", reason: str = "R", hour: int = 0, **more: Any
) -> Condition:
    time = DAY + timedelta(hours=hour)
    return Condition(
        type=type_, status=status, reason=reason, message=more.pop("message", ""), last_transition_time=time, **more
    )


def made(changes: list[Condition]) -> tuple[Condition, ...]:
    found: tuple[Condition, ...] = ()
    for change in changes:
        found = set_condition(found, change)
    return found


class TestSetting:
    def test_time_stays_while_the_status_stays(self) -> None:
        """API-7."""
        (found,) = set_condition(
            (condition(hour=0),), condition(hour=5, reason="Other", message="m", observed_generation=3)
        )
        assert found == condition(hour=0, reason="Other", message="m", observed_generation=3)

    def test_time_moves_with_the_status(self) -> None:
        """API-7."""
        (found,) = set_condition((condition(hour=0),), condition(status="False", hour=5))
        assert found == condition(status="False", hour=5)

    def test_a_new_condition_is_appended_and_an_old_one_keeps_its_position(self) -> None:
        found = made([condition("A"), condition("B"), condition("A", status="False"), condition("C")])
        assert [(each.type, each.status) for each in found] == [("A", "False"), ("B", "True"), ("C", "True")]

    def test_setting_an_equal_condition_returns_the_same_list(self) -> None:
        """JOB-54: a write that would change nothing is skipped."""
        before = (condition("A"), condition("B"))
        assert set_condition(before, condition("B", hour=7)) is before

    def test_observed_generation_is_replaced_even_by_none(self) -> None:
        """API-7."""
        (found,) = set_condition((condition(observed_generation=3),), condition())
        assert found.observed_generation is None

    @given(st.lists(CONDITIONS, max_size=8))
    def test_each_type_occurs_once_with_its_last_state(self, changes: list[Condition]) -> None:
        found = made(changes)
        last = {change.type: change for change in changes}
        assert {each.type: (each.status, each.reason, each.message) for each in found} == {
            type_: (change.status, change.reason, change.message) for type_, change in last.items()
        }
        assert len(found) == len(last)

    @given(st.lists(CONDITIONS, max_size=8), CONDITIONS)
    def test_setting_twice_is_setting_once(self, changes: list[Condition], change: Condition) -> None:
        once = set_condition(made(changes), change)
        assert set_condition(once, change) is once


class TestFinding:
    def test_a_condition_is_found_by_its_type(self) -> None:
        both = (condition("A"), condition("B", status="False"))
        assert find(both, "B") is both[1]
        assert find(both, "C") is None

    def test_only_true_is_true(self) -> None:
        some = (condition("A"), condition("B", status="False"), condition("C", status="Unknown"))
        assert [is_true(some, type_) for type_ in "ABCD"] == [True, False, False, False]

    def test_conditions_of_foreign_kinds_are_found_alike(self) -> None:
        assert is_true((StatusCondition(type="Ready", status="True"),), "Ready")

    def test_removing_takes_one_type_out(self) -> None:
        both = (condition("A"), condition("B"))
        assert remove(both, "A") == (both[1],)
        assert remove(both, "C") is both


class TestMessages:
    @pytest.mark.parametrize(("cut", "limit"), [(truncate_message, 32768), (truncate_note, 1024)])
    def test_a_text_within_bounds_stays_and_a_longer_one_is_cut(self, cut: Any, limit: int) -> None:
        """API-8."""
        assert cut("x" * limit) == "x" * limit
        assert cut("x" * (limit + 1)) == "x" * (limit - 4) + " ..."

    def test_bytes_count_and_no_character_is_split(self) -> None:
        """API-8."""
        cut = truncate_note("ä" * 513)
        assert cut == "ä" * 510 + " ..."
        assert truncate_note("x" + "ä" * 512) == "x" + "ä" * 509 + " ..."
        assert truncate_note("ä" * 512) == "ä" * 512

    @given(st.text(st.sampled_from("aä€😀"), min_size=200, max_size=600))
    def test_a_cut_note_is_a_prefix_within_bounds_and_wastes_less_than_a_character(self, text: str) -> None:
        """API-8."""
        cut = truncate_note(text)
        if cut != text:
            assert text.startswith(cut.removesuffix(" ..."))
            assert 1024 - 4 < len(cut.encode()) <= 1024

    def test_a_text_that_has_no_bytes_is_measured_all_the_same(self) -> None:
        assert truncate_note("\ud800" * 2000).endswith("? ...")


@given(st.lists(CONDITIONS, max_size=8))
def test_lists_made_by_setting_are_well_formed(changes: list[Condition]) -> None:
    """API-6, API-62."""
    assert validate(to_json({"conditions": made(changes)}), schema_of(AdmissionCheckStatus)) == []


def test_conditions_of_json_objects_are_found_by_type() -> None:
    ready = {"type": "Ready", "status": "True"}
    pod = {"status": {"conditions": [{"type": "Initialized", "status": "False"}, ready]}}
    assert is_true_in_json(pod, "Ready")
    assert not is_true_in_json(pod, "Initialized")
    for without in ({}, {"status": None}, {"status": {"conditions": None}}, pod):
        assert not is_true_in_json(without, "Other")
