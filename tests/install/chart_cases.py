"""Values of the chart, and what `kohort install` prints for the same choices."""

from pathlib import Path
from typing import Any

import yaml

from jobs.simulations import SIMULATION
from kohort.install.manifests import manifests
from kohort.install.options import Issuer, OptionalManifest, Options

Json = Any
CHART = Path(__file__).parents[2] / "charts" / "kohort"


def objects(text: str) -> list[Json]:
    """Those of a rendered chart; a ConfigMap's text is read, since Helm orders its keys, and webhooks are sorted."""
    found = yaml.load_all(text, Loader=yaml.CSafeLoader)
    return sorted((read(each) for each in found if each), key=identity)


def read(found: Json) -> Json:
    if "webhooks" in found:
        return {**found, "webhooks": sorted(found["webhooks"], key=lambda each: each["name"])}
    if found["kind"] != "ConfigMap":
        return found
    return {**found, "data": {name: yaml.safe_load(text) for name, text in found["data"].items()}}


def printed(options: Options) -> list[Json]:
    """Every object of the manifests; Helm itself makes the namespace."""
    return sorted((read(each) for each in manifests(options) if each["kind"] != "Namespace"), key=identity)


def identity(found: Json) -> tuple[str, str, str]:
    metadata = found["metadata"]
    return found["kind"], metadata.get("namespace", ""), metadata["name"]


def values(**changes: Json) -> Json:
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    return {**defaults, **changes}


def given(**members: Json) -> Json:
    """The usual Configuration with other members."""
    return {**values()["managerConfig"], **members}


RENDER = {"name": "render.example.org/frame", "gvk": "render.example.org/v1/Leaf", "plural": "leaves"}
MOUNTED = given(internalCertManagement={"enable": False})
CASES: dict[str, tuple[Json, str, Options]] = {
    "as it is": ({}, "kueue-system", Options()),
    "elsewhere": ({"image": "x:1", "replicas": 5}, "queues", Options("queues", "x:1", 5)),
    "monitored": (
        {"serviceMonitor": True},
        "kueue-system",
        Options(extras=frozenset({OptionalManifest.SERVICE_MONITOR})),
    ),
    "mounted": ({"managerConfig": MOUNTED}, "kueue-system", Options(document=MOUNTED)),
    "by cert-manager": (
        {"certManager": {"enable": True, "issuer": {"name": "", "kind": "Issuer"}}, "serviceMonitor": True},
        "queues",
        Options("queues", extras=frozenset({OptionalManifest.SERVICE_MONITOR}), issuer=Issuer()),
    ),
    "by another issuer": (
        {"certManager": {"enable": True, "issuer": {"name": "company", "kind": "ClusterIssuer"}}},
        "kueue-system",
        Options(issuer=Issuer("company", "ClusterIssuer")),
    ),
    "guarded": (
        {
            "priorityClassName": "important",
            "networkPolicy": {"apiServers": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "scrapers": [{"podSelector": {}}]},
        },
        "kueue-system",
        Options(
            priority_class="important",
            api_servers=[{"ipBlock": {"cidr": "192.0.2.0/24"}}],
            scrapers=[{"podSelector": {}}],
        ),
    ),
    "with declared frameworks": (
        {"frameworks": [yaml.safe_load(SIMULATION), {**yaml.safe_load(SIMULATION), **RENDER}]},
        "queues",
        Options(
            "queues",
            declarations={
                "example.org-simulation.yaml": SIMULATION,
                "render.example.org-frame.yaml": yaml.safe_dump({**yaml.safe_load(SIMULATION), **RENDER}),
            },
        ),
    ),
    "one version": ({"serveV1beta1": False}, "kueue-system", Options(serve_v1beta1=False)),
    **{
        f"for {','.join(names)}": (
            {"managerConfig": given(integrations={"frameworks": names})},
            "kueue-system",
            Options(document=given(integrations={"frameworks": names})),
        )
        for names in ([], ["batch/job"], ["pod"], ["deployment", "replicaset"], ["statefulset"])
    },
}
"""Values of the chart, the namespace, and the choices of the command that mean the same."""
