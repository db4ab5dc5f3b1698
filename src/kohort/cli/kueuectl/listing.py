"""What lists have in common: their flags, pages of a hundred, tables as kubectl prints them, and words for nothing."""

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
USUAL_LIMIT: Final = 100
_NO_EDGE: Final = Screen()
"""Tables are never cut here: scripts read them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects, as the server selects them."""

    labels: str = ""
    fields: str = ""
    is_everywhere: bool = False

    def place(self, access: ClientConfig) -> str:
        """The namespace to look in; empty for all."""
        return "" if self.is_everywhere else access.namespace

    def scope(self, namespace: str, more: ListScope = EVERYTHING) -> ListScope:
        """The scope of a request, narrowed by another one."""
        labels = ",".join(filter(None, (self.labels, more.labels)))
        return ListScope(namespace, labels, ",".join(filter(None, (self.fields, more.fields))))


def selection_options(command: Callable[..., R]) -> Callable[..., R]:
    """-l and --field-selector, and -A where there is one, as the parameter `selection`."""

    @wraps(command)
    def called(*args: Any, selector: str, field_selector: str, **rest: Any) -> R:
        is_everywhere = rest.pop("all_namespaces", False)
        return command(*args, selection=Selection(selector, field_selector, is_everywhere), **rest)

    decorated = click.option("--field-selector", default="", metavar="FIELD=VALUE,…", help="Only these, by fields.")(
        called
    )
    return click.option("-l", "--selector", default="", metavar="LABEL=VALUE,…", help="Only these, by labels.")(
        decorated
    )


def page_limit() -> int:
    """How many objects a request asks for (API-154)."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    try:
        return int(text) if text else USUAL_LIMIT
    except ValueError:
        raise ApiError(f"{LIMIT_VARIABLE} is {text!r}: write a whole number") from None


async def all_of(client: Client, kind: type[K], scope: ListScope, limit: int) -> list[K]:
    """All objects of a kind, so many at a time."""
    return [item async for page in client.of(kind).pages(scope, limit=limit) for item in page.items]


@dataclass(frozen=True, slots=True)
class ListPrinter:
    """How a list shows."""

    resource: Resource
    namespace: str
    """Empty where it is of all namespaces, or of none."""
    columns: Sequence[str]
    printer: Printer
    is_everywhere: bool = False

    def print(self, found: Sequence[CustomObject], rows: Iterable[Sequence[str]]) -> None:
        """The objects in the form asked for, else as a table."""
        if self.printer.is_asked_for:
            self.printer.echo(listed(self.resource, [to_json(each) for each in found]))
        elif not found:
            say_nothing_found(self.namespace)
        else:
            spaces = [each.metadata.namespace for each in found]
            print_table(self.columns, rows, spaces if self.is_everywhere else None)


def listed(resource: Resource, items: list[Any]) -> dict[str, Any]:
    """Objects as one List."""
    return {"apiVersion": resource.api_version, "kind": f"{resource.kind}List", "metadata": {}, "items": items}


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], namespaces: Sequence[str] | None) -> None:
    """A table; with namespaces, they come first."""
    cells = [list(row) for row in rows]
    if namespaces is not None:
        columns = ("NAMESPACE", *columns)
        cells = [[space, *row] for space, row in zip(namespaces, cells, strict=True)]
    for line in table([Column(name) for name in columns], cells, _NO_EDGE):
        click.echo(line)


def say_nothing_found(namespace: str) -> None:
    """What stands in place of an empty table (API-154)."""
    click.echo(f"No resources found in {namespace} namespace." if namespace else "No resources found", err=True)
