"""The print flags of kubectl: -o json, yaml, name and jsonpath, or one line per object (API-153)."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from kohort.api.codec import Json, JsonObject
from kohort.api.errors import ApiError
from kohort.api.resource import Resource
from kohort.cli.options import OutputFormat, data_text, with_options
from kohort.cli.targets import shown

R = TypeVar("R")

GO_TEMPLATES: Final = frozenset({"go-template", "go-template-file", "template", "templatefile"})
_FORMS: Final = "json, yaml, name, jsonpath=TEMPLATE, jsonpath-as-json=TEMPLATE, jsonpath-file=FILE"


class OutputError(ApiError):
    """An unsupported output format."""


class DryRun(Enum):
    """Values of --dry-run."""

    NONE = "none"
    CLIENT = "client"
    SERVER = "server"

    @property
    def suffix(self) -> str:
        """The suffix of the line of an object."""
        return "" if self is DryRun.NONE else f" ({self.value} dry run)"


@dataclass(frozen=True, slots=True)
class Printer:
    """Prints objects in the format of the flags."""

    output: str = ""
    template: str = ""
    shows_managed_fields: bool = False

    @property
    def has_format(self) -> bool:
        """Whether an output format was requested."""
        return bool(self.output)

    def text(self, document: Json) -> str:
        """An object or a List in the requested format."""
        cleaned = document if self.shows_managed_fields else _without_managed_fields(document)
        form, _, argument = self.output.partition("=")
        if form in (OutputFormat.JSON, OutputFormat.YAML):
            return data_text(cleaned, OutputFormat(form))
        if form == OutputFormat.NAME:
            return "\n".join(_name(each) for each in cleaned.get("items", [cleaned]))
        return self._templated(form, argument or self.template, cleaned)

    def _templated(self, form: str, template: str, document: Json) -> str:
        if form in GO_TEMPLATES:
            raise OutputError(f"-o {form} is not supported: use -o jsonpath=TEMPLATE")
        if form not in ("jsonpath", "jsonpath-as-json", "jsonpath-file"):
            raise OutputError(f"unknown output format {form!r}: available: {_FORMS}")
        if not template:
            raise OutputError(f"-o {form} requires a template: use -o {form}=… or --template")
        # Imported on demand, because it imports the kinds of the embedded API server.
        from kohort.cli.kueuectl.jsonpath_text import JsonPathText

        made = JsonPathText(Path(template).read_text(encoding="utf-8") if form == "jsonpath-file" else template)
        if form == "jsonpath-as-json":
            return json.dumps(made.values(document), indent=4, ensure_ascii=False)
        return made(document)

    def echo(self, document: Json) -> None:
        """Print an object or a List; templates define line ends themselves."""
        click.echo(self.text(document), nl=not self.output.startswith(("jsonpath=", "jsonpath-file=")))

    def print(self, resource: Resource, obj: JsonObject, done: str, dry_run: DryRun) -> None:
        """Print an object in the requested format, else a line with the operation."""
        if self.has_format:
            self.echo(obj)
            return
        operation = f" {done}" if done else ""
        click.echo(f"{shown(resource, obj['metadata']['name'])}{operation}{dry_run.suffix}")


def _without_managed_fields(document: Json) -> Json:
    if "items" in document:
        return {**document, "items": [_without_managed_fields(each) for each in document["items"]]}
    metadata = {key: value for key, value in document.get("metadata", {}).items() if key != "managedFields"}
    return {**document, "metadata": metadata}


def _name(obj: JsonObject) -> str:
    group, slash, _ = obj["apiVersion"].partition("/")
    kind = obj["kind"].lower()
    return f"{kind}.{group}/{obj['metadata']['name']}" if slash else f"{kind}/{obj['metadata']['name']}"


def print_options(command: Callable[..., R]) -> Callable[..., R]:
    """-o and its companions, as the parameter `printer`."""

    @wraps(command)
    def called(*args: Any, output: str, template: str, show_managed_fields: bool, **rest: Any) -> R:
        return command(*args, printer=Printer(output, template, show_managed_fields), **rest)

    options = (
        click.option("-o", "--output", default="", metavar="FORMAT", help=f"Output format: {_FORMS}."),
        click.option("--template", default="", metavar="TEMPLATE", help="Template for -o jsonpath."),
        click.option("--show-managed-fields", is_flag=True, help="Show managedFields in JSON and YAML."),
        click.option("--allow-missing-template-keys", is_flag=True, default=True, expose_value=False, hidden=True),
    )
    return with_options(called, options)


def dry_run_option(command: Callable[..., R]) -> Callable[..., R]:
    """--dry-run, as the parameter `dry_run`."""
    return click.option(
        "--dry-run",
        type=click.Choice([each.value for each in DryRun]),
        default=DryRun.NONE.value,
        callback=lambda _context, _parameter, value: DryRun(value),
        help="One of none, client or server (default: none).",
    )(command)
