"""`get`, `edit`, `describe`, `patch` and `delete` of Kueue's kinds: done by kubectl, with the same words."""

import os
import sys
from collections.abc import Sequence
from shutil import which
from typing import Final, NoReturn

import click

from kohort.api.errors import ApiError
from kohort.cli.kueuectl.deleting import workload as delete_workload
from kohort.cli.kueuectl.groups import verb

KINDS: Final = ("clusterqueue", "localqueue", "resourceflavor", "workload")
VERBS: Final = {
    "get": "Get objects, by kubectl.",
    "edit": "Edit an object, by kubectl.",
    "describe": "Describe an object, by kubectl.",
    "patch": "Patch an object, by kubectl.",
    "delete": "Delete objects, by kubectl; Workloads with their jobs.",
}
AS_THEY_ARE: Final = {"ignore_unknown_options": True, "help_option_names": []}


def verbs() -> list[click.Group]:
    """A group for each verb, with a command for each kind."""
    return [_group(name, summary) for name, summary in VERBS.items()]


def _group(name: str, summary: str) -> click.Group:
    group = verb(name, summary)
    for kind in KINDS:
        is_own = (name, kind) == ("delete", "workload")
        group.add_command(delete_workload if is_own else _passed_on(kind))
    return group


def _passed_on(kind: str) -> click.Command:
    arguments = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        kind, params=[arguments], callback=_to_kubectl, context_settings=AS_THEY_ARE, help=f"{kind}, by kubectl."
    )


def _to_kubectl(words: Sequence[str]) -> NoReturn:
    """Become kubectl, with the very words of this command."""
    del words
    program = which("kubectl")
    if program is None:
        raise ApiError("this command is kubectl's, which is not installed: put it on your PATH")
    sys.stdout.flush()
    os.execv(program, ["kubectl", *sys.argv[1:]])  # noqa: S606
