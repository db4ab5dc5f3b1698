"""The repository: the Makefile installs once and reports what is missing, pins are plain, links in the docs resolve.

The Makefile runs with a fake Python that only records its arguments.
"""

import os
import re
import shutil
import subprocess
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON_STAND_IN = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in
  *version_info*) exit {too_old} ;;
  *ensurepip*) exit {without_ensurepip} ;;
  "-m venv --clear .venv") rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
esac
"""
DISTRIBUTION = re.compile(r"^[A-Za-z0-9._-]+")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


@dataclass(frozen=True)
class RepositoryCopy:
    """A copy of the files that the Makefile reads, in an empty directory."""

    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "asked.log"

    def with_python(self, name: str = "python", *, too_old: int = 0, without_ensurepip: int = 0) -> "RepositoryCopy":
        python = self.folder / name
        python.write_text(
            PYTHON_STAND_IN.format(log=self.log, too_old=too_old, without_ensurepip=without_ensurepip),
        )
        python.chmod(0o755)
        return self

    def make(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        command = ["make", "--no-print-directory", "PYTHON=./python", *arguments]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)

    @property
    def installations(self) -> int:
        return self.log.read_text().count("-m pip install")


@pytest.fixture
def repository(tmp_path: Path) -> RepositoryCopy:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return RepositoryCopy(tmp_path)


def test_a_second_run_installs_nothing(repository: RepositoryCopy) -> None:
    repository.with_python()
    assert [repository.make("venv").returncode for _ in range(2)] == [0, 0]
    assert repository.installations == 1


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_a_changed_dependency_installs_again_and_only_once(repository: RepositoryCopy, changed: str) -> None:
    repository.with_python().make("venv")
    with (repository.folder / changed).open("a") as file:
        file.write("\n# a later thought\n")
    repository.make("venv")
    repository.make("venv")
    assert repository.installations == 2


def test_a_touched_file_with_the_same_content_installs_nothing(repository: RepositoryCopy) -> None:
    repository.with_python().make("venv")
    an_hour_later = time.time() + 3600
    os.utime(repository.folder / "pyproject.toml", (an_hour_later, an_hour_later))
    repository.make("venv")
    assert repository.installations == 1


def test_a_venv_whose_python_is_gone_is_made_anew(repository: RepositoryCopy) -> None:
    repository.with_python().make("venv")
    (repository.folder / ".venv/bin/python").unlink()
    assert repository.make("venv").returncode == 0
    assert repository.installations == 2


def test_the_first_python_that_runs_and_is_new_enough_is_taken(repository: RepositoryCopy) -> None:
    repository.with_python("old", too_old=1).with_python("new").with_python("newer")
    assert "in .venv with ./new\n" in repository.make("venv", "PYTHON=./missing ./old ./new ./newer").stdout


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ((), f"-m pytest -n {len(os.sched_getaffinity(0)) + 1} --dist worksteal"),
        (("ARGS=tests/api -k quantity",), "-m pytest -n 0 --dist worksteal tests/api -k quantity"),
        (("WORKERS=3",), "-m pytest -n 3 --dist worksteal"),
    ],
)
def test_a_whole_run_is_shared_by_all_cores_and_a_part_is_not(
    repository: RepositoryCopy, arguments: tuple[str, ...], asked: str
) -> None:
    repository.with_python().make("test", *arguments)
    assert repository.log.read_text().splitlines()[-1] == asked


@pytest.mark.parametrize(
    ("too_old", "without_ensurepip", "remedy"),
    [(1, 0, "Python 3.11 or newer"), (0, 1, "apt-get install python3-venv")],
)
def test_an_unfit_python_is_named_in_one_line_with_the_remedy(
    repository: RepositoryCopy, too_old: int, without_ensurepip: int, remedy: str
) -> None:
    answer = repository.with_python(too_old=too_old, without_ensurepip=without_ensurepip).make("venv")
    first, *rest = answer.stderr.splitlines()
    assert answer.returncode != 0
    assert remedy in first
    assert all(line.startswith("make: ***") for line in rest)


def test_help_lists_every_documented_target(repository: RepositoryCopy) -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert phony
    listed = re.findall(r"^  make ([\w-]+) +\S", repository.make("help").stdout, re.M)
    assert sorted(listed) == sorted(phony[1].split())


def test_ci_runs_the_tests_and_then_lint() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert re.findall(r"^part (\w+)", script.read_text(), re.M) == ["test", "lint"]


@pytest.mark.parametrize(("failing", "times"), [("", ["test", "lint"]), ("lint", ["test", "lint"]), ("test", ["test"])])
def test_ci_prints_the_time_of_each_part(tmp_path: Path, failing: str, times: list[str]) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "make").write_text(f'#!/bin/sh\ntest "$1" != "{failing}"\n')
    (tools / "make").chmod(0o755)
    for name in ("bash", "dirname"):
        (tools / name).symlink_to(shutil.which(name) or name)
    command = [tools / "bash", tmp_path / ".ci" / "run"]
    done = subprocess.run(command, env={"PATH": str(tools)}, capture_output=True, text=True, check=False)
    lines = [rf"make {part}: \d+ s{', failed' if part == failing else ''}\n" for part in times]
    assert (done.returncode != 0) is bool(failing), done.stderr
    assert re.search("".join(lines) + r"\Z", done.stdout), done.stdout


def test_every_dependency_is_pinned_to_a_plain_version() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [text for extra in project["optional-dependencies"].values() for text in extra]
    needed = {distribution(text) for text in [*project["dependencies"], *extras]}
    assert needed - {distribution(line) for line in lines} == {"kohort"}, "an extra may name another one of its own"


def distribution(requirement: str) -> str:
    match = DISTRIBUTION.match(requirement)
    assert match
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def test_links_in_the_docs_lead_to_files() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in pages
        for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))
        if not (page.parent / link).exists()
    ]
    assert broken == []


def test_test_modules_of_directories_without_a_package_have_different_names() -> None:
    """Pytest imports them by their name alone, and rejects the second of a name in one run."""
    by_name: dict[str, list[Path]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        is_excluded = path.parent.name in ("cluster", "conformance", "real_operators")
        if not is_excluded and not (path.parent / "__init__.py").exists():
            by_name.setdefault(path.name, []).append(path)
    assert {name: paths for name, paths in by_name.items() if len(paths) > 1} == {}
