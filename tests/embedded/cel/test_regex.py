"""Regular expressions as Go's `regexp` accepts them, in time linear in the text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.embedded.cel.regex import RegexError, compile_pattern


def matches(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).matches(text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("b+", "abbc", True),
        ("^b", "ab", False),
        ("a$", "a\n", False),
        ("^(?i)[a-z]+$", "AbC", True),
        ("^(?i:a)b$", "AB", False),
        ("(?m)^b$", "a\nb\nc", True),
        ("a.c", "a\nc", False),
        ("(?s)a.c", "a\nc", True),
        (r"^\d{2,3}$", "1234", False),
        (r"^\pL+$", "äß", True),
        (r"^\p{Lu}\P{Lu}$", "Äß", True),
        ("^[[:alpha:]_]+$", "a_b", True),
        ("^[^[:digit:]]$", "5", False),
        (r"^\Qa.b\E$", "a.b", True),
        (r"\Aab\z", "ab", True),
        (r"\bcat\b", "a cat sat", True),
        (r"\bcat\b", "concat", False),
        (r"^[\w.-]+$", "a-b.c", True),
        ("^[]a]$", "]", True),
        ("^[a-]$", "-", True),
        (r"^\x41\x{42}$", "AB", True),
        ("^a{,2}$", "a{,2}", True),
        ("", "anything", True),
        ("(a*)*b", "aaab", True),
        ("^()*$", "", True),
    ],
)
def test_expressions_mean_what_they_mean_to_re2(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "a)",
        "[",
        "*a",
        "a**",
        "(?=a)",
        "(?!a)",
        r"(a)\1",
        r"\8",
        "a{1001}",
        "a{3,2}",
        "[z-a]",
        "\\",
        r"\pX",
        "{1}a",
    ],
)
def test_what_re2_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "^(a|aa)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(a*)*(a*)*b", "(.*)*x", "a*a*x"]
)
def test_no_expression_takes_time_without_end(pattern: str) -> None:
    started = time.process_time()
    assert not matches(pattern, "a" * 2000 + "!")
    assert time.process_time() - started < 2


@pytest.mark.parametrize("pattern", ["((a{1000}|b){1000}){1000}", r"((\pL{100}){9}|\pN{900})"])
def test_the_memory_of_a_pattern_is_bounded(pattern: str) -> None:
    with pytest.raises(RegexError, match=r"invalid repeat count|too large"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(", "missing closing ): `a(`"),
        ("[", "missing closing ]: `[`"),
        ("a)", "unexpected ): `a)`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("*", "missing argument to repetition operator: `*`"),
        (r"\8", r"invalid escape sequence: `\8`"),
    ],
)
def test_errors_have_the_texts_of_go(pattern: str, message: str) -> None:
    with pytest.raises(RegexError) as error:
        compile_pattern(pattern)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [("[0-9]+", "a12b3", ["12", "3"]), ("(ab?)+?", "abab", ["ab", "ab"]), ("a*", "baac", ["", "aa", ""])],
)
def test_matches_are_found_from_left_to_right(pattern: str, text: str, expected: list[str]) -> None:
    assert list(compile_pattern(pattern).found(text)) == expected


@given(st.text("ab[]()|*+?{}12,^$.\\dwpQE:-é", max_size=10), st.text("ab1é\n", max_size=5))
def test_any_text_is_an_expression_or_rejected(pattern: str, text: str) -> None:
    try:
        compiled = compile_pattern(pattern)
    except RegexError:
        return
    assert compiled.matches(text) == (next(compiled.found(text), None) is not None)
