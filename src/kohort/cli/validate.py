"""`kohort validate`: validates manifests offline.

Prints findings to standard output, one line each, and the summary to standard error.
"""

import json
import sys
from collections.abc import Iterable
from typing import Any

import click

from kohort.api.errors import ApiError
from kohort.api.fields import Path
from kohort.api.gates import FeatureGates, from_settings, parse_flag
from kohort.api.manifests.checking import Checker, ManifestReport
from kohort.api.manifests.codes import WarningCode
from kohort.api.manifests.findings import FindingSeverity, ManifestFinding
from kohort.api.unsupported import gate_notices
from kohort.cli.option_types import switch_option
from kohort.terminal.counts import counted

PROBLEMS_FOUND = 1
UNUSABLE_INPUT = 2

_COLORS = {FindingSeverity.WARNING: "yellow"}
_UNUSABLE = (FindingSeverity.UNREADABLE, FindingSeverity.MALFORMED)
_FAILING = (FindingSeverity.ERROR,)
_STRICT = (FindingSeverity.ERROR, FindingSeverity.WARNING)


def _gates(_context: click.Context, _parameter: click.Parameter, text: str) -> FeatureGates:
    path = Path("--feature-gates")
    settings, errors = parse_flag(text, path)
    settled = from_settings(settings, path)
    problems = [*errors, *settled.errors]
    if problems:
        raise click.BadParameter("; ".join(str(problem) for problem in problems))
    for notice in gate_notices(settings, path):
        click.echo(f"warning: {notice}", err=True)
    return settled.gates


EXAMPLES = """\b
Examples:
  kohort validate -f manifests/
  helm template my-queues | kohort validate -f -
  kohort validate --strict --ignore W203 -f team-a.yaml -f team-b.yaml
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE|DIR|-",
    help="Files or directories to validate; repeatable.",
)
@click.argument("paths", nargs=-1, metavar="[FILE|DIR|-]...")
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)
@click.option(
    "--feature-gates", "gates", callback=_gates, default="", metavar="A=true,…", help="Feature gates to assume."
)
@switch_option(
    "--strict", "--warnings-as-errors", "failing", on=_STRICT, off=_FAILING, text="Treat warnings as errors."
)
@click.option(
    "--ignore",
    "ignored",
    multiple=True,
    type=click.Choice([code.value for code in WarningCode]),
    metavar="CODE",
    help="Ignore this warning; repeatable.",
)
@click.option("-q", "--quiet", is_flag=True, help="Omit the summary.")
def validate(
    *,
    files: tuple[str, ...],
    paths: tuple[str, ...],
    output: str,
    gates: FeatureGates,
    failing: tuple[FindingSeverity, ...],
    ignored: tuple[str, ...],
    quiet: bool,
) -> None:
    """Report what an API server would reject, and configuration that will not work as intended.

    Accepts files, directories (all *.yaml, *.yml and *.json files below them), and - for standard input. Exit code 0:
    no errors, 1: errors, 2: unreadable input.
    """
    if not files and not paths:
        raise click.UsageError("no manifests specified: use -f FILE, -f DIR, or -f - for standard input")
    checker = Checker(gates)
    checker.read_paths([*files, *paths])
    report = checker.report().without(ignored)
    if not report.objects and not report.findings:
        raise ApiError("no objects found in the given files")
    _OUTPUTS[output](report.findings)
    if not quiet:
        click.echo(_summary(report), err=True)
    sys.exit(_exit_code(report, failing))


def _print_lines(findings: Iterable[ManifestFinding]) -> None:
    for finding in findings:
        place, word, text = finding.parts
        colored = click.style(word, fg=_COLORS.get(finding.severity, "red"), bold=True)
        click.echo(_encodable(f"{place}: {colored}: {text}"))


def _print_json(findings: Iterable[ManifestFinding]) -> None:
    click.echo(json.dumps([_record(finding) for finding in findings], indent=2))


_OUTPUTS = {"text": _print_lines, "json": _print_json}


def _record(finding: ManifestFinding) -> dict[str, Any]:
    origin = finding.origin
    return {
        "file": origin.file,
        "line": finding.line,
        "severity": finding.severity.value,
        "code": finding.code,
        "apiVersion": origin.api_version,
        "kind": origin.kind,
        "namespace": origin.namespace,
        "name": origin.name,
        "field": finding.field,
        "message": finding.message,
    }


def _encodable(text: str) -> str:
    """The text with unencodable characters escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _summary(report: ManifestReport) -> str:
    errors = report.count(FindingSeverity.ERROR) + report.count(FindingSeverity.MALFORMED)
    warnings = report.count(FindingSeverity.WARNING)
    unread = report.count(FindingSeverity.UNREADABLE)
    found = [counted(errors, "error"), counted(warnings, "warning")]
    if unread:
        found.append(counted(unread, "unreadable file"))
    return f"{counted(report.objects, 'object')} checked: {', '.join(found)}"


def _exit_code(report: ManifestReport, failing: tuple[FindingSeverity, ...]) -> int:
    if any(report.count(severity) for severity in _UNUSABLE):
        return UNUSABLE_INPUT
    return PROBLEMS_FOUND if any(report.count(severity) for severity in failing) else 0
