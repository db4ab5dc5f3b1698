"""`kohort install`: everything that a cluster needs to run Kohort, as YAML for `kubectl apply`, or as a Helm chart."""

from pathlib import Path

import click

from kohort.api.codec import Json
from kohort.api.documents import read_documents
from kohort.api.fields import ROOT
from kohort.api.gates import COMPAT, parse_flag
from kohort.api.unsupported import configuration_notices
from kohort.cli.crds import FORMATS
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
  kohort install --chart charts/kohort
"""
_USUAL = Options()
_GATES = ROOT / "--feature-gates"


@click.command(epilog=EXAMPLES)
@click.option("--namespace", default=_USUAL.namespace, show_default=True, help="Where the manager runs.")
@click.option("--image", default=_USUAL.image, show_default=True, help="The manager's image.")
@click.option(
    "--replicas", default=_USUAL.replicas, show_default=True, type=click.IntRange(1), help="How many managers run."
)
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The manager's Configuration, Kueue's file as it is; a usual one if not given.",
)
@click.option("--feature-gates", default="", metavar="NAME=BOOL,...", help="Gates to switch in the Configuration.")
@click.option(
    "--compat",
    type=click.Choice(list(COMPAT)),
    help="Feature gates default as in this Kueue release; written to the Configuration.",
)
@click.option("--service-monitor", is_flag=True, help="Also a ServiceMonitor for the Prometheus operator.")
@click.option(
    "--cert-manager", is_flag=True, help="Certificates by cert-manager, which signs with an authority of its own."
)
@click.option(
    "--issuer", metavar="NAME[/KIND]", help="The Issuer or ClusterIssuer that signs instead; means --cert-manager too."
)
@click.option(
    "--only-v1beta2",
    is_flag=True,
    help="Serve no older version of Kueue's kinds, which saves API servers a copy of all objects and its upkeep.",
)
@click.option(
    "--priority-class", default=_USUAL.priority_class, show_default=True, help="PriorityClass of the manager's pods."
)
@click.option(
    "--api-server-cidr",
    "api_server_cidrs",
    multiple=True,
    metavar="CIDR",
    help="Addresses of API servers, which alone then reach webhooks and the visibility API; may be repeated.",
)
@click.option(
    "--metrics-cidr",
    "metrics_cidrs",
    multiple=True,
    metavar="CIDR",
    help="Addresses that alone then reach metrics; may be repeated.",
)
@click.option("-o", "--output", type=click.Choice(list(FORMATS)), default="yaml", show_default=True, help="Format.")
@click.option(
    "--chart",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the Helm chart into this directory instead; its values take the place of the other options.",
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
    output: str,
    chart: Path | None,
) -> None:
    """Print everything that a cluster needs to run Kohort.

    Definitions of the kinds, roles, the manager with its Services and its Configuration, webhook configurations and
    the visibility API. The manager makes its certificates itself and tells the API server of them; or cert-manager
    does.
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
    )
    click.echo(FORMATS[output](manifests(options)), nl=False)
    for notice in configuration_notices(document):
        click.echo(f"warning: {notice}", err=True)


def _document(config: Path | None) -> Json:
    if config is None:
        return default_document()
    documents = list(read_documents(config.read_bytes(), str(config)))
    if len(documents) != 1:
        raise OptionsError(f"{config}: has {len(documents)} documents; write exactly one Configuration")
    return documents[0].value


def _issuer(named: str | None, default: Issuer | None) -> Issuer | None:
    return default if named is None else parse_issuer(named)


def _with_gates(document: Json, flag: str, compat: str) -> Json:
    """The Configuration with gates of the flag before its own, and both before those of an earlier release."""
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
