"""Shared parts of lists: flags, paging, tables as in kubectl, and the message for empty lists."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, TypeVar

import click

from kohort.api.codec import to_json
from kohort.api.errors import ApiError
from kohort.api.kinds import CustomObject
from kohort.api.resource import Resource
from kohort.cli.kueuectl.printing import Printer
from kohort.kube.client import Client
from kohort.kube.config import ClientConfig
from kohort.kube.options import EVERYTHING, ListScope
from kohort.terminal.screen import Screen
from kohort.terminal.tables import Column, table

R = TypeVar("R")
K = TypeVar("K", bound=CustomObject)

LIMIT_VARIABLE: Final = "KUEUECTL_LIST_REQUEST_LIMIT"
DEFAULT_LIMIT: Final = 100
_UNLIMITED: Final = Screen()
"""Tables are never truncated: scripts read them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Server-side selection of objects."""

    labels: str = ""
    fields: str = ""
    is_everywhere: bool = False

    def namespace(self, access: ClientConfig) -> str:
        """The namespace; empty for all."""
        return "" if self.is_everywhere else access.namespace

    def scope(self, namespace: str, more: ListScope = EVERYTHING) -> ListScope:
        """The scope of a request, narrowed by another one."""
        labels = ",".join(filter(None, (self.labels, more.labels)))
        return ListScope(namespace, labels, ",".join(filter(None, (self.fields, more.fields))))


def selection_options(command: Callable[..., R]) -> Callable[..., R]:
    """-l and --field-selector, and -A if present, as the parameter `selection`."""

    @wraps(command)
    def called(*args: Any, selector: str, field_selector: str, **rest: Any) -> R:
        is_everywhere = rest.pop("all_namespaces", False)
        return command(*args, selection=Selection(selector, field_selector, is_everywhere), **rest)

    decorated = click.option("--field-selector", default="", metavar="FIELD=VALUE,…", help="Field selector.")(called)
    return click.option("-l", "--selector", default="", metavar="LABEL=VALUE,…", help="Label selector.")(decorated)


def page_limit() -> int:
    """The page limit of list requests (API-154)."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    try:
        return int(text) if text else DEFAULT_LIMIT
    except ValueError:
        raise ApiError(f"invalid {LIMIT_VARIABLE} {text!r}: must be an integer") from None


async def all_of(client: Client, kind: type[K], scope: ListScope, limit: int) -> list[K]:
    """All objects of a kind, read in pages."""
    return [item async for page in client.of(kind).pages(scope, limit=limit) for item in page.items]


@dataclass(frozen=True, slots=True)
class ListPrinter:
    """Prints a list."""

    resource: Resource
    namespace: str
    """Empty for all namespaces and for cluster-scoped kinds."""
    columns: Sequence[str]
    printer: Printer
    is_everywhere: bool = False

    def print(self, found: Sequence[CustomObject], rows: Iterable[Sequence[str]]) -> None:
        """Print the objects in the requested format, else as a table."""
        if self.printer.has_format:
            self.printer.echo(listed(self.resource, [to_json(each) for each in found]))
        elif not found:
            print_nothing_found(self.namespace)
        else:
            spaces = [each.metadata.namespace for each in found]
            print_table(self.columns, rows, spaces if self.is_everywhere else None)


def listed(resource: Resource, items: list[Any]) -> dict[str, Any]:
    """Objects as one List."""
    return {"apiVersion": resource.api_version, "kind": f"{resource.kind}List", "metadata": {}, "items": items}


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], namespaces: Sequence[str] | None) -> None:
    """Print a table; namespaces, if given, are the first column."""
    cells = [list(row) for row in rows]
    if namespaces is not None:
        columns = ("NAMESPACE", *columns)
        cells = [[space, *row] for space, row in zip(namespaces, cells, strict=True)]
    for line in table([Column(name) for name in columns], cells, _UNLIMITED):
        click.echo(line)


def print_nothing_found(namespace: str) -> None:
    """Print the message for an empty list (API-154)."""
    click.echo(f"No resources found in {namespace} namespace." if namespace else "No resources found", err=True)
