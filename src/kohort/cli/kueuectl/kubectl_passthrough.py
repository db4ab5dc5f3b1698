"""`get`, `edit`, `describe`, `patch` and `delete` of Kueue's kinds: runs kubectl with the same arguments."""

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
    "get": "Display resources (runs kubectl)",
    "edit": "Edit a resource (runs kubectl)",
    "describe": "Describe a resource (runs kubectl)",
    "patch": "Patch a resource (runs kubectl)",
    "delete": "Delete resources (runs kubectl); Workloads with their jobs",
}
UNPARSED: Final = {"ignore_unknown_options": True, "help_option_names": []}


def verbs() -> list[click.Group]:
    """A group for each verb, with a command for each kind."""
    return [_group(name, summary) for name, summary in VERBS.items()]


def _group(name: str, summary: str) -> click.Group:
    group = verb(name, summary)
    for kind in KINDS:
        is_own = (name, kind) == ("delete", "workload")
        group.add_command(delete_workload if is_own else _passthrough(kind))
    return group


def _passthrough(kind: str) -> click.Command:
    arguments = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        kind, params=[arguments], callback=_to_kubectl, context_settings=UNPARSED, help=f"Run kubectl for kind {kind}"
    )


def _to_kubectl(words: Sequence[str]) -> NoReturn:
    """Replace this process by kubectl with the same arguments."""
    del words
    program = which("kubectl")
    if program is None:
        raise ApiError("kubectl not found: install it, or add it to PATH")
    sys.stdout.flush()
    os.execv(program, ["kubectl", *sys.argv[1:]])  # noqa: S606
