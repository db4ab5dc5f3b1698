"""How each operator is started outside a pod: definitions, webhooks, flags, configuration.

Each listens on loopback where its options allow that; README.md lists the exceptions.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kit.ports import LOOPBACK
from real_operators.operator_files import OperatorFiles
from real_operators.ray_dashboard import running_dashboard

Json = Any
TRAINING_KINDS: Final = ("jaxjob", "paddlejob", "pytorchjob", "tfjob", "xgboostjob")
_TRAINING_CERTIFICATES: Final = Path("/tmp/k8s-webhook-server/serving-certs")  # noqa: S108  not of our choice


def _nothing(_: OperatorFiles) -> list[Json]:
    return []


@dataclass(frozen=True, slots=True)
class OperatorProgram:
    """One operator, by its name in the catalog."""

    program: str
    definitions: tuple[str, ...]
    """Files with CustomResourceDefinitions, as patterns in the folder of manifests."""
    flags: Callable[[OperatorFiles], list[str]]
    webhooks: str = ""
    """A folder for kustomize; empty if the operator runs without webhooks."""
    prerequisites: Callable[[OperatorFiles], list[Json]] = _nothing
    """Objects that exist before the operator starts."""
    environment: Callable[[], AbstractContextManager[Mapping[str, str]]] = lambda: nullcontext({})
    """Environment variables, and what they refer to, for as long as the operator runs."""
    authority: str = "kohort-operators"
    """The name of the authority of its webhooks' certificate."""
    server_names: tuple[str, ...] = ()
    """Names in that certificate, apart from loopback."""
    health_path: str = "/readyz"
    health_port: int = 0
    """A port that can't be chosen."""


def namespace(name: str) -> Json:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _component_config(api_version: str, site: OperatorFiles) -> Json:
    """What the configurations of several operators have in common."""
    return {
        "apiVersion": api_version,
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "webhook": {"host": LOOPBACK, "port": site.webhook, "certDir": str(site.certificates)},
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{site.health}"},
        "metrics": {"bindAddress": "0"},
    }


def _jobset(site: OperatorFiles) -> list[str]:
    config = _component_config("config.jobset.x-k8s.io/v1alpha1", site)
    return [site.write_config({**config, "internalCertManagement": {"enable": False}})]


def _lws(site: OperatorFiles) -> list[str]:
    config = _component_config("config.lws.x-k8s.io/v1alpha1", site)
    return [site.write_config({**config, "internalCertManagement": {"enable": False}})]


def _training(site: OperatorFiles) -> list[str]:
    """Its certificate rotator waits until this file exists, and does not read it."""
    _TRAINING_CERTIFICATES.mkdir(parents=True, exist_ok=True)
    (_TRAINING_CERTIFICATES / "tls.crt").touch()
    return [
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={LOOPBACK}:{site.health}",
        f"--webhook-server-port={site.webhook}",
        *(f"--enable-scheme={kind}" for kind in TRAINING_KINDS),
    ]


def _training_prerequisites(site: OperatorFiles) -> list[Json]:
    return [namespace("kubeflow"), site.secret("kubeflow", "training-operator-webhook-cert")]


def _ray(site: OperatorFiles) -> list[str]:
    return [
        "--metrics-addr=0",
        f"--health-probe-bind-address={LOOPBACK}:{site.health}",
        "--enable-leader-election=false",
    ]


def _mpi(_: OperatorFiles) -> list[str]:
    return ["--lock-namespace=mpi-operator"]


PROGRAMS: Final = MappingProxyType(
    {
        "jobset": OperatorProgram(
            "jobset", ("config/components/crd/bases/*.yaml",), _jobset, webhooks="config/components/webhook"
        ),
        "training": OperatorProgram(
            "training-operator",
            tuple(f"manifests/base/crds/kubeflow.org_{kind}s.yaml" for kind in TRAINING_KINDS),
            _training,
            webhooks="manifests/base/webhook",
            prerequisites=_training_prerequisites,
            authority="training-operator-ca",
            server_names=("training-operator.kubeflow.svc",),
        ),
        "ray": OperatorProgram("kuberay", ("config/crd/bases/*.yaml",), _ray, environment=running_dashboard),
        "mpi": OperatorProgram(
            "mpi-operator",
            ("manifests/base/kubeflow.org_mpijobs.yaml",),
            _mpi,
            prerequisites=lambda _: [namespace("mpi-operator")],
            health_path="/healthz",
            health_port=8080,
        ),
        "lws": OperatorProgram("lws", ("config/crd/bases/*.yaml",), _lws, webhooks="config/webhook"),
    }
)
