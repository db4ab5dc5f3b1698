from hypothesis import given
from hypothesis import strategies as st

from kohort.api.pointer import format_pointer


def test_positions_may_be_given_as_numbers() -> None:
    assert format_pointer(["spec", "podSets", 0, "a/b~c"]) == "/spec/podSets/0/a~1b~0c"
    assert format_pointer([]) == ""


@given(st.lists(st.text(alphabet="~/01ab") | st.text()))
def test_tokens_survive_escaping(tokens: list[str]) -> None:
    read = format_pointer(tokens).split("/")[1:]
    assert [token.replace("~1", "/").replace("~0", "~") for token in read] == tokens
