"""`kohort doctor`: text for users, JSON for programs, and its exit codes."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from insight.doctor_snapshots import GPU, cluster_queue, job, quota, snapshot, workload
from kit.builders.core import make_node
from kit.builders.kueue import make_local_queue, make_resource_flavor
from kohort.cli import doctor as command
from kohort.cli.main import cli
from kohort.insight.doctor.model import AffectedObject, DoctorFinding, Subject
from kohort.insight.doctor.runner import CHECKS, run_checks
from kohort.insight.listing import IncompleteKind
from kohort.insight.snapshot import Snapshot
from kohort.terminal.glyphs import UNICODE
from kohort.terminal.screen import Screen
from kohort.terminal.style import COLOURED

PICTURES = Path(__file__).parent / "pictures"
ILL = snapshot(
    make_resource_flavor("gpu-a100", {"gpu-type": "a100"}),
    make_resource_flavor("old"),
    cluster_queue("team-research", quota(16, GPU, "gpu-a100")),
    make_local_queue("research", "team-research"),
    make_local_queue("vision", "team-vision"),
    make_node("one", {"gpu-type": "A100"}, gpu="8"),
    *(workload(f"job-{number}", "research", 64, requests={GPU: "1"}) for number in range(12)),
)
POORLY = snapshot(make_resource_flavor(), cluster_queue(), make_local_queue(), make_node(), job("past"))
WELL = snapshot(make_resource_flavor(), cluster_queue(), make_local_queue(), make_node())

Doctor = Callable[..., Result]


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch) -> Doctor:
    """The command, on a cluster that was looked at before."""

    def run(seen: Snapshot, *arguments: str) -> Result:
        async def look(_where: object) -> Snapshot:
            return seen

        monkeypatch.setattr(command, "_take", look)
        return CliRunner().invoke(cli, ["doctor", *arguments], prog_name="kohort")

    return run


def test_the_help_has_examples(doctor: Doctor) -> None:
    assert "kohort doctor --fail-on warning" in doctor(WELL, "--help").output


def test_a_healthy_cluster_is_one_line(doctor: Doctor) -> None:
    result = doctor(WELL)
    assert (result.exit_code, result.output) == (0, f"✓ no findings ({len(CHECKS)} checks)\n")


@pytest.mark.parametrize(
    ("seen", "fail_on", "code"),
    [
        (ILL, "error", 1),
        (ILL, "warning", 1),
        (ILL, "never", 0),
        (POORLY, "error", 0),
        (POORLY, "warning", 1),
        (WELL, "warning", 0),
    ],
)
def test_the_exit_code_is_for_ci(doctor: Doctor, seen: Snapshot, fail_on: str, code: int) -> None:
    assert doctor(seen, "--fail-on", fail_on).exit_code == code


def test_checks_are_chosen_by_id(doctor: Doctor) -> None:
    only = json.loads(doctor(ILL, "--only", "flavor-unused", "-o", "json").output)
    assert (only["checks"], [each["name"] for each in only["findings"]]) == (["flavor-unused"], ["old"])
    rest = json.loads(doctor(ILL, "--skip", "flavor-unused", "-o", "json").output)
    assert len(rest["checks"]) == len(CHECKS) - 1


def test_a_misspelt_id_is_reported_with_the_intended_name(doctor: Doctor) -> None:
    result = doctor(ILL, "--only", "flavour-unused")
    assert (result.exit_code, "did you mean flavor-unused?" in result.output) == (2, True)


def test_machines_get_everything(doctor: Doctor) -> None:
    found = json.loads(doctor(ILL, "-o", "json").output)
    assert set(found) == {"findings", "counts", "checks", "leftOut", "unseen"}
    assert found["counts"] == {"error": 14, "warning": 0, "hint": 1}
    assert set(found["findings"][0]) == {"id", "severity", "kind", "namespace", "name", "problem", "why", "fix"}
    assert yaml.safe_load(doctor(ILL, "-o", "yaml").output) == found


def test_text_output_lists_the_first_ten_of_each(doctor: Doctor) -> None:
    printed = doctor(ILL).output
    assert printed.count("64 pods request 64 nvidia.com/gpu") == 10
    assert "and 2 more; -o json lists all" in printed


def test_the_list_names_every_check(doctor: Doctor) -> None:
    lines = doctor(WELL, "--list").output.splitlines()
    assert [line.split()[0] for line in lines] == ["ID", *(each.id for each in CHECKS)]
    assert [each["id"] for each in json.loads(doctor(WELL, "--list", "-o", "json").output)] == [
        each.id for each in CHECKS
    ]


def test_what_could_not_be_listed_is_reported(doctor: Doctor) -> None:
    refusal = 'nodes is forbidden: User "ann" cannot list resource "nodes"'
    printed = doctor(
        snapshot(unseen=[IncompleteKind("Node", refusal), IncompleteKind("Job", "no", seen_in="lab")])
    ).output
    assert f"cannot list all Node objects: {refusal}" in printed
    assert "cannot list all Job objects (listed in namespace lab only): no" in printed
    assert "skipped checks: flavor-without-nodes, " in printed


@pytest.mark.parametrize("width", [80, 160])
def test_the_output_equals_the_picture(doctor: Doctor, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(command, "screen", lambda: Screen(width, 50, glyphs=UNICODE))
    printed = doctor(ILL, "--skip", "request-beyond-quota").output
    assert max(map(len, printed.splitlines())) <= width
    assert printed == (PICTURES / f"doctor-{width}.txt").read_text("utf-8")


def test_colours_go_by_severity() -> None:
    lines = list(command._lines(run_checks(ILL), Screen(80, 50, COLOURED, UNICODE)))
    assert lines[0].startswith("\x1b[31merror: \x1b[0m\x1b[1mLocalQueue references")
    assert any(line.startswith("\x1b[36mhint: \x1b[0m") for line in lines)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_line_is_longer_than_the_screen(width: int) -> None:
    for check in CHECKS:
        finding = DoctorFinding(check, AffectedObject(Subject("Job", "j", "default"), "words " * 30, "words " * 30))
        for line in command._group(check, [finding], Screen(width, 50, glyphs=UNICODE)):
            assert len(line) <= width
