"""Several answers to one scenario: decisions as in one of them, and each message as in some with these decisions."""

from typing import Any

from oracle.differences import agrees_with_some

Json = Any


def step(message: str, state: str = "pending", *, other: str = "same") -> Json:
    return {"team/w": {"state": state, "message": message}, "team/v": {"state": "pending", "message": other}}


def test_messages_may_be_those_of_different_runs() -> None:
    """Q-8: Kueue draws lots in every cycle."""
    ours = [step("a"), None, step("b")]
    assert agrees_with_some(ours, [[step("a"), None, step("a")], [step("b"), None, step("b")]])
    assert not agrees_with_some(ours, [[step("a"), None, step("a")]])


def test_decisions_are_those_of_one_run() -> None:
    ours = [step("a", "reserved"), step("b")]
    assert not agrees_with_some(ours, [[step("a", "reserved"), step("b", "reserved")], [step("a"), step("b")]])


def test_messages_beside_other_decisions_do_not_count() -> None:
    assert not agrees_with_some([step("a")], [[step("b")], [step("a", "reserved")]])


def test_no_run_lacks_a_workload() -> None:
    assert not agrees_with_some([step("a")], [[{"team/w": {"state": "pending", "message": "a"}}]])
