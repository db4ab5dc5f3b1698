from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.errors import ApiError
from kohort.api.pointer import Pointer, PointerError, array_index, format_pointer, parse_pointer, resolve

DOCUMENT: dict[str, Any] = {
    "": "empty name",
    "a/b": 1,
    "m~n": 2,
    "~1": 3,
    "list": [10, {"x": None}],
    "text": "abc",
}

scalars = st.none() | st.booleans() | st.integers() | st.text()
documents = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


def places_in(value: Any, here: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(here, value), *(place for key, member in members for place in places_in(member, (*here, key)))]


def pointer_or_error(text: str) -> Pointer | ApiError:
    try:
        return parse_pointer(text)
    except ApiError as error:
        return error


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/", "empty name"),
        ("/a~1b", 1),
        ("/m~0n", 2),
        ("/~01", 3),
        ("/list", DOCUMENT["list"]),
        ("/list/0", 10),
        ("/list/1/x", None),
    ],
)
def test_a_pointer_leads_to_its_value(pointer: str, value: Any) -> None:
    assert resolve(DOCUMENT, parse_pointer(pointer)) == value


@pytest.mark.parametrize(
    ("pointer", "place"),
    [
        ("/none", "/none"),
        ("/list/2", "/list/2"),
        ("/list/-", "/list/-"),
        ("/list/00", "/list/00"),
        ("/list/-1", "/list/-1"),
        ("/list/x", "/list/x"),
        pytest.param("/list/" + "9" * 5000, "/list/9", id="a position of 5000 digits"),
        ("/list/٠", "/list/٠"),
        ("/text/0", "/text/0"),
        ("/list/1/x/y", "/list/1/x/y"),
        ("/a~1b/deeper/still", "/a~1b/deeper"),
    ],
)
def test_a_pointer_that_leads_nowhere_names_the_first_missing_place(pointer: str, place: str) -> None:
    with pytest.raises(PointerError, match="nothing at") as caught:
        resolve(DOCUMENT, parse_pointer(pointer))
    assert f'"{place}' in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("text", ["a", "a/b", " /a", "/~", "/~2", "/a~", "#/a"])
def test_what_is_no_pointer_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(PointerError, match=r"not a JSON pointer: .*: (start|write) "):
        parse_pointer(text)


def test_positions_may_be_given_as_numbers() -> None:
    assert format_pointer(["spec", "podSets", 0, "a/b~c"]) == "/spec/podSets/0/a~1b~0c"
    assert format_pointer([]) == ""


def test_only_plain_numbers_are_positions() -> None:
    assert [array_index(token) for token in ("0", "7", "10", "01", "-", "+1", "", "1 ")] == [0, 7, 10, *[None] * 5]


@given(st.lists(st.text(alphabet="~/01ab") | st.text()))
def test_tokens_survive_escaping(tokens: list[str]) -> None:
    assert parse_pointer(format_pointer(tokens)) == tuple(tokens)


@given(documents)
def test_every_place_of_a_document_is_reached_by_its_pointer(document: Any) -> None:
    assert all(resolve(document, parse_pointer(format_pointer(place))) is value for place, value in places_in(document))


@given(st.text() | st.text(alphabet="~/01"))
def test_any_text_is_a_pointer_or_the_declared_error(text: str) -> None:
    outcome = pointer_or_error(text)
    if isinstance(outcome, ApiError):
        assert len(str(outcome).splitlines()) == 1
    else:
        assert format_pointer(outcome) == text
