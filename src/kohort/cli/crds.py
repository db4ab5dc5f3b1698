"""`kohort crds`: the CustomResourceDefinitions as YAML or JSON.

The output is deterministic, so that it can be kept under version control.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import click
import yaml

from kohort.api.codec import Json
from kohort.api.crds import WebhookService, definitions
from kohort.cli.option_types import DIRECTORY

EXAMPLES = """\b
Examples:
  kohort crds | kubectl apply --server-side -f -
  kohort crds --kind ClusterQueue --kind LocalQueue
  kohort crds --output-dir config/crds
"""

_DUMPER = yaml.CSafeDumper if yaml.__with_libyaml__ else yaml.SafeDumper
_NEVER_WRAP = 2**20


def to_yaml(documents: Sequence[Json]) -> str:
    """A stream of YAML documents in block style."""
    text: str = yaml.dump_all(
        documents, Dumper=_DUMPER, sort_keys=False, explicit_start=True, allow_unicode=True, width=_NEVER_WRAP
    )
    return text


def to_json(documents: Sequence[Json]) -> str:
    """A List, which kubectl accepts like its items."""
    whole = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Sequence[Json]], str]] = {"yaml": to_yaml, "json": to_json}


@click.command(epilog=EXAMPLES)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only print this kind; repeatable.")
@click.option(
    "-o", "--output", type=click.Choice(list(FORMATS)), default="yaml", show_default=True, help="Output format."
)
@click.option(
    "--namespace",
    metavar="NAME",
    default=WebhookService().namespace,
    show_default=True,
    help="Namespace of the conversion webhook's Service.",
)
@click.option(
    "--ca-bundle", type=click.File("rb"), metavar="FILE", help="CA bundle of the conversion webhook (PEM file)."
)
@click.option(
    "--output-dir", type=DIRECTORY, help="Directory to write one file per kind to (default: standard output)."
)
def crds(
    *, kinds: tuple[str, ...], output: str, namespace: str, ca_bundle: BinaryIO | None, output_dir: Path | None
) -> None:
    """Print the CustomResourceDefinitions in all served versions.

    Versions are converted by a webhook; --namespace and --ca-bundle set its Service and CA bundle.
    """
    service = WebhookService(namespace=namespace, ca_bundle=ca_bundle.read() if ca_bundle else b"")
    chosen = _chosen(definitions(service), kinds)
    if output_dir is None:
        click.echo(FORMATS[output](chosen), nl=False)
    else:
        _write(chosen, output, output_dir)


def _chosen(documents: list[Json], kinds: tuple[str, ...]) -> list[Json]:
    """The definitions with these names, case-insensitive; all if no name is given."""
    wanted = {name.lower() for name in kinds}
    unknown = wanted.difference(*map(_names, documents))
    if unknown:
        known = ", ".join(document["spec"]["names"]["kind"] for document in documents)
        raise click.BadParameter(f"unknown kind {', '.join(sorted(unknown))}: available: {known}", param_hint="--kind")
    return [document for document in documents if not wanted or wanted & _names(document)]


def _names(document: Json) -> set[str]:
    names = document["spec"]["names"]
    return {
        names["kind"].lower(),
        names["singular"],
        names["plural"],
        *names["shortNames"],
        document["metadata"]["name"],
    }


def _write(documents: list[Json], output: str, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for document in documents:
        file = directory / f"{document['metadata']['name']}.{output}"
        file.write_text(FORMATS[output]([document]), encoding="utf-8", newline="\n")
        click.echo(file)
