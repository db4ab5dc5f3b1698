"""What pages say is true: those that are to be run are run, and no page has commands, manifests or links that fail."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from docs.pages import ROOT, Block, Command, all_pages, blocks, commands, is_as_told, pages_to_run
from docs.readers import Reader
from kohort.api.gates import DEFAULT_GATES
from kohort.api.manifests import Checker, Severity
from kohort.cli.main import cli
from kohort.insight.doctor.examining import CHECKS

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
MANIFEST = re.compile(r"(?:\s*#.*\n)*apiVersion:")
PICTURE = re.compile(r"!\[[^\]]+\]\(([^)]+\.svg)\)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    found = Reader(tmp_path)
    yield found
    found.close()


@pytest.mark.parametrize("page", pages_to_run(), ids=name)
def test_a_page_does_what_it_says(page: Path, reader: Reader) -> None:
    reader.read(page)


def test_the_tutorials_are_run() -> None:
    assert {*ROOT.glob("docs/tutorials/*.md")} <= {*pages_to_run()}


# All pages


def kohort_commands(page: Path) -> Iterator[Command]:
    """Every use of the command in a block for a shell."""
    for block in blocks(page):
        found = commands(block) if block.language == "console" else _script(block.text, block.line)
        for command in found if block.language in ("console", "sh") else ():
            if command.text.removeprefix(".venv/bin/").startswith("kohort ") and "…" not in command.text:
                yield command


def _script(text: str, line: int) -> Iterator[Command]:
    whole = re.sub(r"\\\n\s*", "", text)
    for each in whole.splitlines():
        yield Command(re.sub(r"\s+#\s.*$", "", each.strip()), (), line)


@pytest.mark.parametrize("page", [page for page in all_pages() if any(kohort_commands(page))], ids=name)
def test_commands_and_options_exist(page: Path) -> None:
    for command in kohort_commands(page):
        words = shlex.split(re.split(r"\s[|;&>]", command.text)[0])[1:]
        try:
            _parse(cli, words)
        except click.UsageError as error:
            pytest.fail(f"{name(page)}:{command.line}: {command.text}: {error.format_message()}")


def _parse(command: click.Command, words: list[str]) -> None:
    """See that a command line can be read; nothing is run."""
    context = click.Context(command, info_name=command.name, resilient_parsing=True)
    if isinstance(command, click.Group):
        _, found, rest = command.resolve_command(context, words)
        assert found is not None
        _parse(found, rest)
    else:
        command.parse_args(context, list(words))


@pytest.mark.parametrize("page", all_pages(), ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = CODE.sub("", page.read_text("utf-8"))
    for target in LINK.findall(prose):
        if "://" not in target and not target.startswith("mailto:"):
            assert (page.parent / target).exists(), f"{name(page)}: {target}"


def manifests(page: Path) -> list[Block]:
    return [each for each in blocks(page) if each.language == "yaml" and MANIFEST.match(each.text)]


@pytest.mark.parametrize("page", [page for page in all_pages() if manifests(page)], ids=name)
def test_manifests_are_without_errors(page: Path, tmp_path: Path) -> None:
    checker = Checker(DEFAULT_GATES)
    for block in manifests(page):
        (tmp_path / f"line-{block.line}.yaml").write_text(block.text, "utf-8")
    checker.read_paths([str(tmp_path)])
    assert [str(each) for each in checker.report().findings if each.severity is not Severity.WARNING] == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/concepts/*.md")), ids=name)
def test_a_concept_has_a_picture(page: Path) -> None:
    pictures = PICTURE.findall(page.read_text("utf-8"))
    assert pictures
    for each in pictures:
        root = ElementTree.parse(page.parent / each).getroot()  # noqa: S314 (our own file)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("viewBox")
        assert root.find("{http://www.w3.org/2000/svg}title") is not None, "for those who do not see it"


def test_the_page_of_the_doctor_has_every_check() -> None:
    text = (ROOT / "docs" / "how-to" / "doctor.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning|hint) \|", text, re.M)
    assert rows == [(each.id, each.severity.value) for each in CHECKS]


# How output is compared


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("NAME   AGE\njob-train-1a2b3   3m20s\n", ("NAME   AGE", "job-train-9f0e1   5s")),
        ("ready on https://127.0.0.1:41234\n", ("ready on https://127.0.0.1:6443",)),
        ("a\nb\nc\nd\n", ("a", "…", "d")),
        ("16 pods of 48\n", ("16 … 48",)),
        ("", ()),
    ],
)
def test_what_is_never_twice_the_same_may_differ(said: str, told: tuple[str, ...]) -> None:
    assert is_as_told(said, told)


@pytest.mark.parametrize(
    ("said", "told"),
    [("16 GPUs\n", ("17 GPUs",)), ("a\nb\n", ("a",)), ("a\n", ("a", "b")), ("train-x\n", ("train-y",))],
)
def test_everything_else_may_not(said: str, told: tuple[str, ...]) -> None:
    assert not is_as_told(said, told)
