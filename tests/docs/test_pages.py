"""Pages are right: those marked to be run are run, and no page has commands, manifests or links that fail."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from docs.page_runner import PageRunner, own_loopback_address
from docs.pages import (
    CLONE,
    FENCE,
    ONLY_PARSED,
    ROOT,
    STAYS,
    WITH_MISTAKES,
    Block,
    Command,
    all_pages,
    begins_like_page,
    blocks,
    commands,
    continues_like_page,
    is_run,
    matches_page,
    pages_to_run,
    run_by,
)
from kohort.api.gates import DEFAULT_GATES
from kohort.api.manifests.checking import Checker
from kohort.api.manifests.findings import FindingSeverity
from kohort.cli.main import cli
from kohort.insight.doctor.runner import CHECKS

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
MANIFEST = re.compile(r"(?:\s*#.*\n)*apiVersion:")
PICTURE = re.compile(r"!\[[^\]]+\]\(([^)]+\.svg)\)")
PAGES_WITH_COMMANDS = [page for page in all_pages() if not page.is_relative_to(ROOT / "examples")]
"""The manifests of examples are applied by tests of their own."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[PageRunner]:
    found = PageRunner(tmp_path)
    yield found
    found.close()


@pytest.mark.waits
@pytest.mark.parametrize("page", pages_to_run(), ids=name)
def test_a_page_works(page: Path, reader: PageRunner) -> None:
    reader.read(page)


def test_a_page_that_fails_leaves_nothing_running(reader: PageRunner, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(HALF_WAY, "utf-8")
    with pytest.raises(AssertionError, match="and not:\nwell"):
        reader.read(page)
    process = int((reader.folder / "pid").read_text())
    os.kill(process, 0)
    assert "Running" in reader.run("kohort status")
    reader.close()
    assert "Stopped" in reader.run("kohort status")
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


HALF_WAY = """
<!-- file: pod.yaml -->
```yaml
apiVersion: v1
kind: Pod
metadata: {name: long}
spec:
  restartPolicy: Never
  containers:
  - {name: main, image: none, command: [bash, -c, "echo $BASHPID > pid; exec sleep 600"], workingDir: /home/you/here}
```

```console
$ kohort up -d --no-manager --merge-kubeconfig
…
$ kubectl apply -f pod.yaml
pod/long created
$ timeout 30 bash -c 'until [ -s pid ]; do sleep 0.1; done'
$ echo ill
well
```
"""


# No command is left out


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=name)
def test_every_shell_block_is_run_or_has_a_reason_why_not(page: Path) -> None:
    for block in blocks(page):
        if block.is_typed:
            assert is_accounted_for(block, page), (
                f"{name(page)}:{block.line}: add `<!-- test: run -->` to the page, "
                f"or `<!-- {ONLY_PARSED}REASON -->` before this block (tests/docs/README.md)"
            )


def is_accounted_for(block: Block, page: Path) -> bool:
    is_run_as_it_stands = block.language == "console" and is_run(page)
    return (
        is_run_as_it_stands
        or block.note == CLONE
        or bool(block.why_not_run or block.run_by or block.file or run_by(page))
    )


@pytest.mark.parametrize(
    ("page", "before", "language"),
    [
        ("", "", "console"),
        ("", "", "sh"),
        ("<!-- test: run -->", "", "sh"),
        ("", "<!-- test: only parsed: -->", "console"),
        ("<!-- test: run by tests/somewhere.py -->\n```yaml\n```", "", "text"),
    ],
)
def test_a_block_that_is_not_run_is_found(page: str, before: str, language: str, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"{page}\n\n{before}\n```{language}\n$ make it\n```\n", "utf-8")
    assert [is_accounted_for(block, file) for block in blocks(file) if block.is_typed] == [False]


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=name)
def test_notes_are_known_and_no_block_is_overlooked(page: Path) -> None:
    found = list(blocks(page))
    assert len(FENCE.findall(page.read_text("utf-8"))) == 2 * len(found), "each begins and ends with ```"
    for block in found:
        is_known = block.note in (CLONE, STAYS, "") or block.why_not_run or block.run_by or block.file
        assert is_known, f"{name(page)}:{block.line}: {block.note!r} is unknown, or gives no reason"


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=name)
def test_another_test_that_runs_a_page_is_there_and_names_it(page: Path) -> None:
    for test in {run_by(page), *(block.run_by for block in blocks(page))} - {""}:
        assert page.name in (ROOT / test).read_text("utf-8"), f"{name(page)} is not named in {test}"


def test_the_readme_is_read_from_a_clone() -> None:
    parsed = "test: only parsed: the tests would run themselves"
    notes = {block.note: block.text.strip() for block in blocks(ROOT / "README.md") if block.is_typed}
    assert notes.keys() == {CLONE, parsed}
    assert notes[parsed] == "$ make test"


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
    """Those that are meant to be right."""
    found = (each for each in blocks(page) if each.language == "yaml" and not each.note.endswith(WITH_MISTAKES))
    return [each for each in found if MANIFEST.match(each.text)]


@pytest.mark.parametrize("page", [page for page in all_pages() if manifests(page)], ids=name)
def test_manifests_are_without_errors(page: Path, tmp_path: Path) -> None:
    checker = Checker(DEFAULT_GATES)
    for block in manifests(page):
        (tmp_path / f"line-{block.line}.yaml").write_text(block.text, "utf-8")
    checker.read_paths([str(tmp_path)])
    assert [str(each) for each in checker.report().findings if each.severity is not FindingSeverity.WARNING] == []


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
    ("output", "expected"),
    [
        ("NAME   AGE\njob-train-1a2b3   3m20s\n", ("NAME   AGE", "job-train-9f0e1   5s")),
        ("ready on https://127.0.0.1:41234\n", ("ready on https://127.0.0.1:6443",)),
        ("a\nb\nc\nd\n", ("a", "…", "d")),
        ("16 pods of 48\n", ("16 … 48",)),
        ("2026-05-01T12:00:00.210Z ready in 1.2s\n", ("2027-01-02T03:04:05.678Z ready in 0.9s",)),
        ("job.batch/train-x7k2p created\n", ("job.batch/train-4tq9m created",)),
        ("", ()),
    ],
)
def test_what_is_never_twice_the_same_may_differ(output: str, expected: tuple[str, ...]) -> None:
    assert matches_page(output, expected)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("16 GPUs\n", ("17 GPUs",)),
        ("team-alpha\n", ("team-bravo",)),
        ("a\nb\n", ("a",)),
        ("a\n", ("a", "b")),
        ("train-x\n", ("train-y",)),
    ],
)
def test_everything_else_may_not(output: str, expected: tuple[str, ...]) -> None:
    assert not matches_page(output, expected)


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("ready\n", ("ready",)),
        ("ready\none more\n", ("ready",)),
        ("one\ntwo\nready\none more\n", ("one", "…", "ready")),
        ("one\nready\n2026-05-01T12:00:00.210Z half a li", ("one", "ready")),
        ("", ()),
    ],
)
def test_a_stream_may_go_on_behind_what_a_page_shows(stream: str, expected: tuple[str, ...]) -> None:
    assert begins_like_page(stream, expected)


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("", ("ready",)),
        ("ready", ("ready",)),
        ("one more\nready\n", ("ready",)),
        ("two\none\n", ("one", "…", "two")),
        ("one\nthree\ntwo\n", ("one", "two")),
    ],
)
def test_a_stream_begins_with_what_a_page_shows(stream: str, expected: tuple[str, ...]) -> None:
    assert not begins_like_page(stream, expected)


@pytest.mark.parametrize(
    ("stream", "is_fine"),
    [
        ("ready\nstopping\nstopped\n", True),
        ("ready\na pod ended\nstopping\na pod ended\nstopped\n", True),
        ("ready\nstopped\nstopping\n", False),
        ("ready\nstopping\n", False),
        ("stopping\nready\nstopped\n", False),
    ],
)
def test_lines_behind_ctrl_c_come_in_order(stream: str, is_fine: bool) -> None:
    assert continues_like_page(stream, ("ready",), ("…", "stopping", "stopped")) is is_fine


def test_a_foreground_command_may_print_while_it_is_observed(reader: PageRunner, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(CHATTY, "utf-8")
    reader.read(page)


CHATTY = """
```console
$ trap 'echo stopping; echo stopped; exit' INT; echo ready; while :; do echo more; sleep 0.01; done
ready
^C
stopping
stopped
```
"""


def test_two_readers_share_no_address() -> None:
    assert own_loopback_address() == "127.0.0.1" or own_loopback_address() != own_loopback_address()


@pytest.mark.parametrize(
    ("text", "verb", "uses_kubectl"),
    [
        ("kohort queue -n lab", "queue", False),
        ("kubectl --context kohort get nodes", "get", True),
        ("kubectl kueue list cq", "list", True),
        ("kohort crds | kubectl apply -f -", "crds", True),
        ("KUBECONFIG=mine kohort doctor", "doctor", False),
        ("source <(kubectl-kueue completion bash)", "source", False),
    ],
)
def test_what_a_command_is_to_do(text: str, verb: str, uses_kubectl: bool) -> None:
    command = Command(text, (), 1)
    assert (command.verb, command.uses_kubectl) == (verb, uses_kubectl)
