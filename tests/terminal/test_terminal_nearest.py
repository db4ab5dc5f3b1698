"""A mistyped name leads to the one that was meant."""

from kohort.terminal.nearest import did_you_mean, nearest


def test_the_name_that_was_meant_is_found() -> None:
    assert nearest("team-a-quue", ["team-a-queue", "team-b", "default"]) == "team-a-queue"
    assert nearest("Default", ["default"]) == "default"


def test_nothing_is_guessed_from_nothing_alike() -> None:
    assert nearest("zzz", ["team-a"]) == ""


def test_suggested_names() -> None:
    assert did_you_mean("deafult", ["default"]) == "did you mean default?"
    assert did_you_mean("zzz", ["b", "a"]) == "available: a, b"
    assert did_you_mean("zzz", []) == "none available"
    assert did_you_mean("zzz", [f"q{i}" for i in range(10)]).endswith("q7 and 2 more")
