"""Control groups, on directories of the same structure: this machine may have none to divide."""

from pathlib import Path

import pytest

from kohort.embedded.runtimes.process.cgroups import ContainerGroups, find_groups, limit_files
from kohort.embedded.runtimes.process.shim.main import ran_out_of_memory


def group(path: Path, controllers: str) -> Path:
    path.mkdir(parents=True)
    (path / "cgroup.subtree_control").write_text(controllers)
    (path / "cgroup.procs").write_text("")
    return path


def test_limits_are_files() -> None:
    assert limit_files(64 << 20, 1500, 100) == {
        "pids.max": "100",
        "memory.max": "67108864",
        "memory.oom.group": "1",
        "memory.swap.max": "0",
        "cpu.max": "150000 100000",
    }
    assert limit_files(0, 0, 100) == {"pids.max": "100"}


def test_only_limits_of_controllers_that_are_there_are_written(tmp_path: Path) -> None:
    made = ContainerGroups(tmp_path, frozenset({"pids"}))
    (tmp_path / "one").mkdir()
    made.make("one", limit_files(64 << 20, 0, 100))
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["pids.max"]


@pytest.mark.parametrize("given", ["nothing", "file"])
def test_what_is_no_control_group_is_not_used(tmp_path: Path, given: str) -> None:
    (tmp_path / "file").write_text("")
    assert find_groups(tmp_path / given, "kohort") is None


def test_a_group_that_passes_nothing_on_is_still_good_for_killing(tmp_path: Path) -> None:
    top = group(tmp_path / "given", "hugetlb")
    group(top / "kohort", "")
    found = find_groups(top, "kohort")
    # A plain file takes what is written over it, so that the last controller seems to be switched on.
    assert found is not None
    assert found.top == top / "kohort"


@pytest.mark.parametrize(("text", "ran_out"), [("oom 3\noom_kill 0\n", False), ("oom_kill 2\n", True), ("", False)])
def test_the_group_reports_whether_memory_ran_out(tmp_path: Path, text: str, ran_out: bool) -> None:
    (tmp_path / "memory.events").write_text(text)
    assert ran_out_of_memory(str(tmp_path)) is ran_out
    assert not ran_out_of_memory(str(tmp_path / "none"))
