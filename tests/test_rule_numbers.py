"""A rule number named anywhere in the project leads to a rule in docs/spec."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SPEC = ROOT / "docs" / "spec"
SEARCHED = ("src", "tests", "benchmarks", "docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
TEXT_SUFFIXES = {".py", ".pyi", ".md", ".json", ".yaml", ".yml", ".toml", ".txt"}

FAMILIES = "API|SCH|JOB|TAS|MK|FLT|GS|GA|DEV|EX"
DEFINITION = re.compile(
    rf"^\s*(?:- )?(?:\*\*(?P<bold>(?:{FAMILIES})-\d+)\b|\| *(?P<cell>(?:{FAMILIES})-\d+) *\|)", re.M
)
MENTION = re.compile(
    rf"\b(?P<family>{FAMILIES})-(?P<first>\d+)[a-z]?\b(?:(?:…|–|\.\.\.?)(?:(?P=family)-)?(?P<last>\d+))?"
)


def defined_in(text: str) -> list[str]:
    return [match["bold"] or match["cell"] for match in DEFINITION.finditer(text)]


def named_in(text: str) -> set[str]:
    return {
        f"{match['family']}-{number}"
        for match in MENTION.finditer(text)
        for number in (match["first"], match["last"])
        if number
    }


def text_files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        files = [place] if place.is_file() else place.rglob("*")
        yield from (file for file in files if file.suffix in TEXT_SUFFIXES)


def undefined_numbers(places: Iterable[Path], rules: set[str]) -> list[str]:
    return [
        f"{file}: {number}"
        for file in text_files(places)
        for number in sorted(named_in(file.read_text(encoding="utf-8")) - rules)
    ]


@pytest.fixture(scope="module")
def definitions() -> list[str]:
    return [rule for file in sorted(SPEC.glob("*.md")) for rule in defined_in(file.read_text(encoding="utf-8"))]


def test_every_rule_number_named_in_the_project_exists(definitions: list[str]) -> None:
    assert undefined_numbers([ROOT / place for place in SEARCHED], set(definitions)) == []


NOT_BUILT = {
    "TAS-90": "MultiKueue",
    "Q-9": "JobSet",
}
"""Rules of topology-aware scheduling without a test, and what they wait for."""


def test_a_test_names_every_rule_of_topology_aware_scheduling() -> None:
    text = (SPEC / "topology.md").read_text(encoding="utf-8")
    rules = {*defined_in(text), *re.findall(r"^\| (Q-\d+) \|", text, re.M)}
    tests = [file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py") if file != Path(__file__)]
    named = {name for each in tests for name in re.findall(r"\b(?:TAS|EX|Q)-\d+\b", each)}
    assert len(rules) > 150
    assert sorted(rules - named) == sorted(NOT_BUILT)


def test_no_rule_number_is_defined_twice(definitions: list[str]) -> None:
    assert sorted({rule for rule in definitions if definitions.count(rule) > 1}) == []


@pytest.mark.parametrize("family", FAMILIES.split("|"))
def test_every_family_has_rules(family: str, definitions: list[str]) -> None:
    assert [rule for rule in definitions if rule.startswith(f"{family}-")]


def test_a_made_up_number_is_reported_with_its_file(tmp_path: Path, definitions: list[str]) -> None:
    made_up = "API-" + "9999"
    source = tmp_path / "module.py"
    source.write_text(f'"""Implements API-1 and {made_up}."""')
    assert undefined_numbers([tmp_path], set(definitions)) == [f"{source}: {made_up}"]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("- **API-1** Serve the group.", ["API-1"]),
        ("**MK-2** A queue lists checks.", ["MK-2"]),
        ("**GS-3 eviction.** Given a running job", ["GS-3"]),
        ("| GA-4 | LocalQueue is accepted |", ["GA-4"]),
        ("as **stated** in API-5, and | SCH-124 (requeue) | text |", []),
    ],
)
def test_a_rule_is_defined_where_its_number_opens_the_paragraph_or_row(text: str, rules: list[str]) -> None:
    assert defined_in(text) == rules


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("see SCH-331b", {"SCH-331"}),
        ("EX-1…EX-20 and TAS-95…98", {"EX-1", "EX-20", "TAS-95", "TAS-98"}),
        ("SCH-610..613, SCH-910–912", {"SCH-610", "SCH-613", "SCH-910", "SCH-912"}),
        ("a SHA-256 of a DNS-1123 label", set()),
    ],
)
def test_letters_and_ranges_name_the_rules_they_belong_to(text: str, numbers: set[str]) -> None:
    assert named_in(text) == numbers
