"""The reference systems are optional: nothing requires Go unless selected, and what did not run is reported."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster import binaries
from real_operators import binaries as operator_binaries
from real_operators.catalog import OPERATORS
from real_operators.programs import PROGRAMS
from shares import SHARE_NOTHING, share_of

ROOT = Path(__file__).parent.parent


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH with a fake `make` that prints its arguments, and with what the script itself needs."""
    executable(tmp_path / "make", '#!/bin/sh\necho "make $*"\n')
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    return tmp_path


def ci(path: Path) -> list[str]:
    """What CI ran and printed, without the times of its parts."""
    done = subprocess.run([ROOT / ".ci" / "run"], env={"PATH": str(path)}, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if not re.fullmatch(r"make [a-z-]+: \d+ s", line)]


def test_ci_runs_the_peers_where_go_is(tools: Path) -> None:
    executable(tools / "go", "#!/bin/sh\n")
    assert ci(tools) == ["make test", "make lint", "make test-peers"]


def test_ci_reports_in_one_line_that_the_comparisons_did_not_run(tools: Path) -> None:
    *ran, message = ci(tools)
    assert ran == ["make test", "make lint"]
    assert message.startswith("not run: make test-peers")


@pytest.mark.parametrize("named", [(), ("tests/cluster", "tests/real_operators")])
def test_tests_on_a_cluster_are_collected_only_when_named(named: tuple[str, ...]) -> None:
    others = ["--ignore-glob=tests/[!cr]*", "--ignore-glob=tests/c[!l]*", "--ignore=tests/cli"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:randomly", *others]
    done = subprocess.run([*command, *(named or ("tests",))], cwd=ROOT, capture_output=True, text=True, check=False)
    collected = {each for each in ("tests/cluster", "tests/real_operators") if f"{each}/test_" in done.stdout}
    assert collected == set(named), done.stdout + done.stderr


def test_every_part_of_kubernetes_has_the_same_version() -> None:
    text = (binaries.MODULE / "go.mod").read_text()
    parts = re.findall(r"^\s+k8s\.io/\S+ => k8s\.io/\S+ (v\S+)$", text, re.M)
    assert len(parts) > 20
    assert set(parts) == {binaries.versions().kubernetes.replace("v1.", "v0.", 1)}


def test_without_go_a_missing_program_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(binaries, "CACHE", tmp_path)
    monkeypatch.setenv("PATH", "")
    assert binaries.main() == 1
    assert capsys.readouterr().err == (
        "cluster-binaries: go is not on PATH: install Go (https://go.dev/dl) and run `make cluster-binaries` again\n"
    )


def test_what_is_built_is_not_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(binaries, "CACHE", tmp_path)
    monkeypatch.setenv("PATH", "")
    binaries.versions().folder.mkdir(parents=True)
    assert binaries.build() == binaries.built()


@pytest.mark.parametrize("file", sorted(SHARE_NOTHING))
def test_a_file_that_is_shared_by_test_is_there_and_plays_nothing_for_all_of_its_tests(file: str) -> None:
    assert 'scope="module"' not in (ROOT / file).read_text()


def test_processes_share_most_tests_by_file_and_some_one_by_one() -> None:
    tests = [
        "tests/conformance/test_conformance.py::one[a::b]",
        "tests/conformance/test_conformance.py::two",
        "tests/docs/from_a_clone.py::three",
    ]
    assert [share_of(each) for each in tests] == ["tests/conformance/test_conformance.py"] * 2 + [
        "tests/docs/from_a_clone.py::three"
    ]


# Operators


def test_without_go_a_missing_operator_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(operator_binaries, "CACHE", tmp_path)
    monkeypatch.setenv("PATH", "")
    assert operator_binaries.main(["jobset"]) == 1
    assert capsys.readouterr().err == (
        "operators: go is not on PATH: install Go (https://go.dev/dl) and run `make operators` again\n"
    )


def test_an_unknown_operator_is_reported_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert operator_binaries.main(["jobset", "kubevirt"]) == 1
    assert capsys.readouterr().err.startswith("operators: unknown operator kubevirt; known: jobset, ")


def test_an_operator_that_is_built_is_not_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(operator_binaries, "CACHE", tmp_path)
    monkeypatch.setenv("PATH", "")
    operator_binaries.folder_of("jobset").mkdir(parents=True)
    assert operator_binaries.build("jobset") == operator_binaries.built("jobset")


def test_every_operator_that_is_built_can_be_started() -> None:
    assert set(OPERATORS) == set(PROGRAMS)
