"""`kohort validate` from a user's view: lines, summary, exit codes, and no traceback for any input."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kohort.cli.main import main

FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f1}\n"
QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f1, resources: [{name: cpu, nominalQuota: 1}]}]
"""
WARNED = f"{FLAVOR}---\n{QUEUE}"
WRONG = FLAVOR.replace("{name: f1}", "{name: F1}")
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]\n" for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def validate(*arguments: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as left:
            main(["validate", *map(str, arguments)])
        assert isinstance(left.value.code, int)
        return Outcome(left.value.code, *capsys.readouterr())

    return validate


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_sound_file_is_silent_but_for_the_summary(run: Run, folder: Path) -> None:
    (folder / "a.yaml").write_text(FLAVOR)
    assert run("-f", "a.yaml") == (0, "", "1 object checked: 0 errors, 0 warnings\n")
    assert run("-q", "-f", "a.yaml") == (0, "", "")


def test_an_error_is_one_line_with_position_object_field_and_remedy(run: Run, folder: Path) -> None:
    (folder / "a.yaml").write_text(WRONG)
    outcome = run("-f", "a.yaml")
    assert outcome.code == 1
    assert outcome.out.startswith(
        'a.yaml:3: error: ResourceFlavor F1: metadata.name: Invalid value: "F1": is malformed'
    )
    assert outcome.out.count("\n") == 1
    assert outcome.err == "1 object checked: 1 error, 0 warnings\n"


def test_warnings_fail_only_with_the_strict_option(run: Run, folder: Path) -> None:
    (folder / "a.yaml").write_text(WARNED)
    assert run("a.yaml").code == 0
    assert "warning: ClusterQueue cq: spec.namespaceSelector" in run("a.yaml").out
    assert run("--strict", "a.yaml").code == 1
    assert run("--warnings-as-errors", "a.yaml").code == 1
    assert run("--strict", "--ignore", "W201", "a.yaml") == (0, "", "2 objects checked: 0 errors, 0 warnings\n")


def test_a_directory_is_read_as_all_manifests_below_it_in_order(run: Run, folder: Path) -> None:
    (folder / "set" / "sub").mkdir(parents=True)
    (folder / "set" / "b.yaml").write_text(WRONG)
    (folder / "set" / "a.yml").write_text(WRONG)
    (folder / "set" / "sub" / "c.json").write_text('{"kind": "X"}')
    (folder / "set" / "notes.txt").write_text("a: b: c")
    lines = run("-q", "--ignore", "W301", "-f", "set").out.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["set/a.yml:3", "set/b.yaml:3", "set/sub/c.json:1"]


def test_files_see_each_other_in_the_order_given(run: Run, folder: Path) -> None:
    (folder / "queue.yaml").write_text(QUEUE)
    (folder / "flavor.yaml").write_text(FLAVOR)
    assert "W203" in run("-f", "queue.yaml").out
    assert "W203" not in run("-f", "queue.yaml", "-f", "flavor.yaml").out


def test_a_file_named_twice_is_read_once(run: Run, folder: Path) -> None:
    (folder / "a.yaml").write_text(FLAVOR)
    (folder / "b.yaml").symlink_to("a.yaml")
    assert run("-f", "a.yaml", "a.yaml", "b.yaml", ".").err == "1 object checked: 0 errors, 0 warnings\n"


def test_standard_input_is_read_for_a_dash(run: Run) -> None:
    outcome = run("-f", "-", stdin=WRONG.encode())
    assert outcome.code == 1
    assert outcome.out.startswith("<stdin>:3: error: ResourceFlavor F1")


def test_json_output_is_a_list_of_records(run: Run, folder: Path) -> None:
    (folder / "a.yaml").write_text(WARNED)
    outcome = run("-o", "json", "a.yaml")
    (record,) = json.loads(outcome.out)
    assert record.pop("message").startswith("absent, which matches no namespace")
    assert record == {
        "file": "a.yaml",
        "line": 8,
        "severity": "warning",
        "code": "W201",
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "namespace": "",
        "name": "cq",
        "field": "spec.namespaceSelector",
    }
    (folder / "a.yaml").write_text(FLAVOR)
    assert json.loads(run("-o", "json", "a.yaml").out) == []


def test_the_result_is_the_same_every_time(run: Run, folder: Path) -> None:
    (folder / "a.yaml").write_text(f"{WARNED}---\n{WRONG}---\n{WARNED}")
    assert run("-f", "a.yaml") == run("-f", "a.yaml")


# Bad input


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"a: b: c\n", "bad.yaml:1"),
        (b"a:\n\t- b\n", "bad.yaml:2"),
        (b'{"a": 1, "b" 2}', "bad.yaml:1"),
        (b"a: 1\nb: 2\na: 3\n", "bad.yaml:3"),
        (b"a: 1\nb: \xff\n", "bad.yaml:2"),
        (b"[" * 5000, "bad.yaml:1"),
        (LAUGHS.encode(), "bad.yaml:"),
        (b"a: !!python/object/apply:os.system [ls]\n", "bad.yaml:1"),
        (b"a: *b\n", "bad.yaml:1"),
        (b"a: \x00\n", "bad.yaml:1"),
        (b"a: " + b"9" * 10_000, "bad.yaml:1"),
    ],
    ids=["malformed", "tab", "json", "twice", "encoding", "deep", "laughs", "tag", "alias", "control", "digits"],
)
def test_unreadable_input_is_one_line_with_its_position_and_code_2(
    run: Run, folder: Path, content: bytes, place: str
) -> None:
    (folder / "bad.yaml").write_bytes(content)
    outcome = run("-q", "-f", "bad.yaml")
    assert outcome.code == 2
    assert outcome.err == ""
    assert outcome.out.startswith(place)
    assert ": error: " in outcome.out
    assert outcome.out.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WARNED.replace("nominalQuota: 1}", "nominalQuota: 1e999999999}"), "must be a quantity"),
        (WARNED.replace("nominalQuota: 1}", f"nominalQuota: {'9' * 300}}}"), "too large for a quantity"),
        (WARNED.replace("nominalQuota: 1}", "nominalQuota: [1]}"), "must be a whole number or a text"),
    ],
)
def test_a_value_of_the_wrong_type_is_one_line_with_its_position_and_code_2(
    run: Run, folder: Path, text: str, message: str
) -> None:
    (folder / "a.yaml").write_text(text)
    outcome = run("-f", "a.yaml")
    lines = [line for line in outcome.out.splitlines() if ": error: " in line]
    assert outcome.code == 2
    assert len(lines) == 1
    assert lines[0].startswith("a.yaml:11: error: ClusterQueue cq: ")
    assert message in lines[0]


def test_other_files_are_checked_when_one_can_not_be_read(run: Run, folder: Path) -> None:
    (folder / "a.yaml").write_text("a: b: c")
    (folder / "b.yaml").write_text(WRONG)
    outcome = run("-f", "missing.yaml", "-f", ".")
    assert outcome.code == 2
    assert [line.split(":")[0] for line in outcome.out.splitlines()] == ["missing.yaml", "./a.yaml", "./b.yaml"]
    assert outcome.err == "1 object checked: 1 error, 0 warnings, 2 unreadable files\n"


def test_input_without_objects_is_not_taken_for_sound(run: Run, folder: Path) -> None:
    """A template that renders to nothing must not pass a pipeline."""
    outcome = run("-q", "-f", "-", stdin=b"# nothing\n---\n")
    assert outcome == (2, "", "kohort: error: no objects found in the given files\n")


def test_a_directory_without_manifests_is_reported(run: Run, folder: Path) -> None:
    (folder / "empty").mkdir()
    outcome = run("-q", "-f", "empty")
    assert outcome.code == 2
    assert outcome.out.startswith("empty: error: no manifests")


@pytest.mark.parametrize(
    "arguments",
    [(), ("-o", "xml", "-f", "-"), ("--feature-gates", "Nope=true", "-f", "-"), ("--ignore", "W999", "-f", "-")],
)
def test_wrong_usage_leaves_with_code_2(run: Run, arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert "Error: " in outcome.err


def test_feature_gates_are_taken(run: Run, folder: Path) -> None:
    concurrent = f"{QUEUE}  concurrentAdmissionPolicy: {{migration: {{mode: RetainFirstAdmission}}}}\n"
    (folder / "a.yaml").write_text(f"{FLAVOR}---\n{concurrent}  queueingStrategy: StrictFIFO\n")
    assert run("a.yaml").code == 0
    assert run("--feature-gates", "ConcurrentAdmission=true", "a.yaml").code == 1


# The process


def process(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-c", "from kohort.cli.main import main; main()", "validate", *arguments]
    return subprocess.run(command, capture_output=True, check=False, env={**os.environ, **environment})


def test_an_encoding_without_the_manifests_letters_is_no_obstacle(folder: Path) -> None:
    (folder / "a.yaml").write_text(FLAVOR.replace("{name: f1}", "{name: flämme}"), encoding="utf-8")
    outcome = process("-q", "a.yaml", PYTHONIOENCODING="ascii")
    assert outcome.returncode == 1
    assert b"ResourceFlavor fl\\xe4mme" in outcome.stdout
    assert outcome.stderr == b""


def test_a_reader_that_closes_the_pipe_early_is_no_error(folder: Path) -> None:
    (folder / "a.yaml").write_text("---\n".join([WRONG] * 2000))
    command = f"{sys.executable} -c 'from kohort.cli.main import main; main()' validate -q a.yaml | head -n 1"
    outcome = subprocess.run(command, shell=True, capture_output=True, check=False)  # noqa: S602
    assert outcome.stdout.count(b"\n") == 1
    assert outcome.stderr == b""


def test_colours_are_for_terminals_only(run: Run, folder: Path) -> None:
    (folder / "a.yaml").write_text(WRONG)
    assert "\x1b" not in run("a.yaml").out
