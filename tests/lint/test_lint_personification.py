import pytest

from lint.personification import personifications


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def test_a_pod_wants_a_node(): ...", "test_m.py:1: wants (in test_a_pod_wants_a_node)"),
        ("async def test_who_waits(): ...", "test_m.py:1: who (in test_who_waits)"),
        ("def test_watching_goes_on(): ...", "test_m.py:1: goes on (in test_watching_goes_on)"),
        ("class TestWhoAsks:\n  def test_x(self): ...\n", "test_m.py:1: asks (in TestWhoAsks)"),
        ('"""Caches.\n\nAn informer knows its objects.\n"""', "test_m.py:3: knows"),
        ('def build():\n    """What is asked of a node."""', "test_m.py:2: asked"),
        ('LIMIT = 1\n"""The size that a Job asks for."""', "test_m.py:2: asks"),
    ],
)
def test_words_in_names_and_docstrings_are_found_with_their_line(text: str, found: str) -> None:
    assert found in personifications("test_m.py", text)


@pytest.mark.parametrize(
    "text",
    [
        "def test_a_pod_without_command_fails(): ...",
        "def ask(question: str) -> str: ...",
        "# the user knows it",
        'print("what do you want?")',
        '"""Users who delete jobs; a stand-in for podman, and an unknown task."""',
    ],
)
def test_users_other_functions_comments_and_messages_are_not_checked(text: str) -> None:
    assert personifications("test_m.py", text) == []


def test_the_name_of_the_module_is_checked() -> None:
    assert personifications("tests/a/test_asks.py", "") == ["tests/a/test_asks.py:1: asks"]
