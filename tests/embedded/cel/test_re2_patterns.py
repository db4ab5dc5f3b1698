"""Regular expressions as RE2 reads them, and in a time that grows with the text only."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.markers import LABEL_REGEX, SUBDOMAIN_REGEX
from kohort.embedded.cel.re2 import RegexError, compile_pattern
from kohort.embedded.cel.re2.machine import Machine
from kohort.embedded.cel.re2.parser import parse
from kohort.embedded.cel.re2.translation import is_harmless, translated


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
    ],
)
def test_expressions_mean_what_they_mean_to_re2(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) == expected
    assert Machine(parse(pattern)).matches(text) == expected


@pytest.mark.parametrize(
    "pattern",
    ["(", "a)", "[", "*a", "a**", "(?=a)", "(?!a)", r"(a)\1", r"\8", "a{1001}", "a{3,2}", "[z-a]", "\\", r"\pX"],
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


def test_the_memory_of_a_machine_is_bounded() -> None:
    with pytest.raises(RegexError, match="too large"):
        compile_pattern("((a{1000}|b){1000}){1000}")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [("[0-9]+", "a12b3", ["12", "3"]), ("(ab?)+?", "abab", ["ab", "ab"]), ("a*", "baac", ["", "aa", ""])],
)
def test_matches_are_found_from_left_to_right(pattern: str, text: str, expected: list[str]) -> None:
    assert list(Machine(parse(pattern)).found(text)) == expected


ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\w", "^", "$", r"\b", "é"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "*?"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@given(PATTERNS, st.text("abcé\n ", max_size=8))
def test_the_machine_and_python_agree(pattern: str, text: str) -> None:
    tree = parse(pattern)
    assert Machine(tree).matches(text) == (translated(tree).search(text) is not None)


@given(st.text("ab[]()|*+?{}12,^$.\\dwpQE:-", max_size=10))
def test_any_text_is_an_expression_or_refused(pattern: str) -> None:
    try:
        tree = parse(pattern)
    except RegexError:
        return
    translated(tree)


@pytest.mark.parametrize("pattern", [SUBDOMAIN_REGEX, LABEL_REGEX])
def test_names_as_kubernetes_writes_them_stay_with_python(pattern: str) -> None:
    assert is_harmless(parse(pattern))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|b)*", "(-?[a-z-]+)*", "a*b*c*"])
def test_what_may_run_away_goes_to_the_machine(pattern: str) -> None:
    assert not is_harmless(parse(pattern))
