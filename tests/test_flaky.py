"""`make flaky`: failures are counted over runs, the cores are busy meanwhile, and nothing is left running."""

import sys
import tempfile
from pathlib import Path

import pytest

from flaky import NOT_FINISHED, busy_cores, failed_in, main

REPORT = '<testsuites><testsuite><testcase classname="tests.a" name="x">{}</testcase></testsuite></testsuites>'
WRITES = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.argv[2]); sys.exit(int(sys.argv[3]))"

FAILS_LATER = """
import pathlib, sys
report, mark = map(pathlib.Path, sys.argv[1:3])
report.write_text(sys.argv[3 + mark.exists()])
sys.exit(mark.exists() or mark.touch())
"""


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def command(report: str, code: int) -> list[str]:
    return [sys.executable, "-c", WRITES, "{report}", report, str(code)]


@pytest.mark.parametrize("what", ["failure", "error"])
def test_what_failed_is_counted_over_all_runs(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runs", "2", "--busy", "0", "--", *command(REPORT.format(f"<{what}/>"), 1)]) == 1
    assert capsys.readouterr().out.endswith("2 of 2: tests.a::x\n0 of 2 runs without a failure\n")


def test_runs_without_a_failure_are_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runs", "2", "--busy", "1", "--", *command(REPORT.format(""), 0)]) == 0
    assert capsys.readouterr().out.endswith("2 of 2 runs without a failure\n")


def test_reports_and_logs_are_kept_only_of_runs_with_a_failure(reports: Path) -> None:
    main(["--runs", "2", "--busy", "0", "--", *command(REPORT.format(""), 0)])
    assert list(reports.iterdir()) == []
    texts = REPORT.format(""), REPORT.format("<failure/>")
    fails_later = [sys.executable, "-c", FAILS_LATER, "{report}", str(reports / "mark"), *texts]
    main(["--runs", "2", "--busy", "0", "--", *fails_later])
    assert sorted(path.name for path in reports.glob("kohort-flaky-*/*")) == ["run-2.log", "run-2.xml"]


def test_a_run_that_breaks_off_is_a_failure(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    assert failed_in(report, 0) == [NOT_FINISHED]
    report.write_text(REPORT.format(""))
    assert failed_in(report, 3) == [NOT_FINISHED]


def test_busy_processes_end() -> None:
    with busy_cores(2) as children:
        assert [child.poll() for child in children] == [None, None]
    assert all(child.returncode is not None for child in children)
