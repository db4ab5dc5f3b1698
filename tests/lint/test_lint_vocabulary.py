import pytest

from lint.vocabulary import banned_words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def tell_all(): ...", "m.py:1: tell (in tell_all)"),
        ("class RoomKeeper: ...", "m.py:1: room (in RoomKeeper)"),
        ("MOST_ROOMS = 1", "m.py:1: rooms (in MOST_ROOMS)"),
        ('"""Caches.\n\nWhoever asks waits.\n"""', "m.py:3: Whoever"),
        ("a = 1\n# it waits for ever", "m.py:2: for ever"),
        ('log.info("%s: somebody else was first", key)', "m.py:1: somebody"),
        ('raise ValueError(f"{name}: nobody has it")', "m.py:1: nobody"),
    ],
)
def test_banned_words_are_found_with_their_line(text: str, found: str) -> None:
    assert banned_words("m.py", text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        '"""Heads of the queues; the headroom is unchanged, and essays stay."""',
        "class HistoryReader: ...",
        "HERMES = 1",
        'reason = "told"',
    ],
)
def test_other_words_and_data_are_fine(text: str) -> None:
    assert banned_words("m.py", text) == []


def test_the_name_of_the_module_counts() -> None:
    assert banned_words("src/kohort/engine/laps.py", "") == ["src/kohort/engine/laps.py:1: laps"]
