"""`kohort install`: installation manifests as YAML or JSON, or a Helm chart."""

from collections.abc import Sequence
from pathlib import Path

import click

from kohort.api.codec import Json
from kohort.api.documents import read_documents
from kohort.api.fields import ROOT
from kohort.api.gates import COMPAT, parse_flag
from kohort.api.unsupported import configuration_notices
from kohort.cli.crds import FORMATS
from kohort.cli.option_types import DIRECTORY, EXISTING_FILE, POSITIVE_COUNT
from kohort.cli.options import framework_option
from kohort.install.chart import chart_files
from kohort.install.manifests import manifests
from kohort.install.options import (
    Issuer,
    OptionalManifest,
    Options,
    OptionsError,
    default_document,
    parse_issuer,
    peers,
)

EXAMPLES = """\b
Examples:
  kohort install | kubectl apply --server-side -f -
  kohort install --namespace queues --image registry.example/kohort:1 --replicas 3
  kohort install --config controller_manager_config.yaml --service-monitor
  kohort install --cert-manager --issuer company-ca/ClusterIssuer
  kohort install --only-v1beta2
  kohort install --framework simulation.yaml
  kohort install --chart charts/kohort
"""
_USUAL = Options()
_GATES = ROOT / "--feature-gates"


@click.command(epilog=EXAMPLES)
@click.option(
    "--namespace", metavar="NAME", default=_USUAL.namespace, show_default=True, help="Namespace of the manager."
)
@click.option("--image", metavar="IMAGE", default=_USUAL.image, show_default=True, help="Image of the manager.")
@click.option(
    "--replicas", default=_USUAL.replicas, show_default=True, type=POSITIVE_COUNT, help="Number of manager replicas."
)
@click.option("--config", type=EXISTING_FILE, help="Configuration file (default: built-in).")
@click.option("--feature-gates", default="", metavar="NAME=BOOL,...", help="Feature gates to set.")
@click.option(
    "--compat",
    type=click.Choice(list(COMPAT)),
    help="Kueue release whose feature gate defaults are written to the Configuration.",
)
@click.option("--service-monitor", is_flag=True, help="Include a ServiceMonitor for the Prometheus operator.")
@click.option("--cert-manager", is_flag=True, help="Use cert-manager certificates (self-signed issuer).")
@click.option("--issuer", metavar="NAME[/KIND]", help="Issuer or ClusterIssuer to use; implies --cert-manager.")
@click.option(
    "--only-v1beta2",
    is_flag=True,
    help="Do not serve v1beta1, which reduces API server memory and CPU.",
)
@click.option(
    "--priority-class",
    metavar="NAME",
    default=_USUAL.priority_class,
    show_default=True,
    help="PriorityClass of the manager's pods.",
)
@click.option(
    "--api-server-cidr",
    "api_server_cidrs",
    multiple=True,
    metavar="CIDR",
    help="Addresses of API servers; restricts access to webhooks and the visibility API to them; repeatable.",
)
@click.option(
    "--metrics-cidr",
    "metrics_cidrs",
    multiple=True,
    metavar="CIDR",
    help="Addresses that may access metrics (default: any); repeatable.",
)
@framework_option
@click.option(
    "-o", "--output", type=click.Choice(list(FORMATS)), default="yaml", show_default=True, help="Output format."
)
@click.option(
    "--chart", type=DIRECTORY, help="Write the Helm chart to this directory; all other options become chart values."
)
def install(
    *,
    namespace: str,
    image: str,
    replicas: int,
    config: Path | None,
    feature_gates: str,
    compat: str | None,
    service_monitor: bool,
    cert_manager: bool,
    issuer: str | None,
    only_v1beta2: bool,
    priority_class: str,
    api_server_cidrs: tuple[str, ...],
    metrics_cidrs: tuple[str, ...],
    framework_files: tuple[Path, ...],
    output: str,
    chart: Path | None,
) -> None:
    """Print installation manifests or a Helm chart.

    Prints CRDs, RBAC, the manager with its Services and Configuration, webhook configurations and the visibility
    APIService. Certificates are managed by the manager, or by cert-manager.
    """
    if chart is not None:
        _write(chart)
        return
    extras = frozenset({OptionalManifest.SERVICE_MONITOR}) if service_monitor else frozenset[OptionalManifest]()
    document = _with_gates(_document(config), feature_gates, compat or "")
    signer = _issuer(issuer, Issuer() if cert_manager else None)
    options = Options(
        namespace,
        image,
        replicas,
        document,
        extras,
        signer,
        serve_v1beta1=not only_v1beta2,
        priority_class=priority_class,
        api_servers=peers(api_server_cidrs, "--api-server-cidr"),
        scrapers=peers(metrics_cidrs, "--metrics-cidr"),
        declarations=_declarations(framework_files),
    )
    click.echo(FORMATS[output](manifests(options)), nl=False)
    for notice in configuration_notices(document):
        click.echo(f"warning: {notice}", err=True)


def _declarations(files: Sequence[Path]) -> dict[str, str]:
    """The declared frameworks by file name; raises OptionsError."""
    found: dict[str, str] = {}
    for file in files:
        if file.name in found:
            raise OptionsError(f"--framework {file}: another file has this name: rename it")
        found[file.name] = file.read_text(encoding="utf-8")
    return found


def _document(config: Path | None) -> Json:
    if config is None:
        return default_document()
    documents = list(read_documents(config.read_bytes(), str(config)))
    if len(documents) != 1:
        raise OptionsError(f"{config}: has {len(documents)} documents: exactly one Configuration is required")
    return documents[0].value


def _issuer(named: str | None, default: Issuer | None) -> Issuer | None:
    return default if named is None else parse_issuer(named)


def _with_gates(document: Json, flag: str, compat: str) -> Json:
    """The Configuration with feature gates merged: flag over file over defaults of an earlier release."""
    gates, errors = parse_flag(flag, _GATES)
    if errors:
        raise OptionsError("; ".join(map(str, errors)))
    earlier = {gate.name: default for gate, (_, default) in COMPAT[compat].items()} if compat else {}
    merged = {**earlier, **document.get("featureGates", {}), **gates}
    return {**document, "featureGates": merged} if merged else document


def _write(directory: Path) -> None:
    for name, content in chart_files().items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8", newline="\n")
        click.echo(file)
