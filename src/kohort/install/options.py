"""What an administrator chooses when he installs Kohort."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from ipaddress import ip_network

from kohort import __version__
from kohort.api.codec import Json
from kohort.api.config.common import DEFAULT_NAMESPACE
from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS
from kohort.api.config.frameworks import KnownFramework as Known
from kohort.api.config.parsing import ParsingContext, parse_configuration
from kohort.api.config.v1beta2 import API_VERSION, Configuration
from kohort.api.crds import Choice, WebhookService
from kohort.api.errors import ApiError
from kohort.api.names import check_subdomain
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.contract import Framework

FRAMEWORKS = ("batch/job", "pod", "deployment", "statefulset")
"""What is managed unless an administrator says otherwise."""


PRIORITY_CLASS = "system-cluster-critical"
"""While no manager runs, pods and jobs that its webhooks are asked about can't be created."""
_SECRET = "kueue-webhook-server-cert"  # noqa: S105  a name


class OptionsError(ApiError):
    """Choices that lead to no installation; one line that says which and what to do."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who signs certificates in cert-manager's name; one of our own unless another is named."""

    name: str = "kueue-ca-issuer"
    kind: str = "Issuer"


ISSUER_KINDS = ("Issuer", "ClusterIssuer")


def parse_issuer(text: str) -> Issuer:
    """The issuer that `NAME` or `NAME/KIND` names; raises OptionsError."""
    name, _, kind = text.partition("/")
    found = Issuer(name, kind or ISSUER_KINDS[0])
    problem = check_subdomain(name)
    if problem:
        raise OptionsError(f"--issuer {text!r}: the name {problem}")
    if found.kind not in ISSUER_KINDS:
        raise OptionsError(f"--issuer {text!r}: no kind {kind}: write {name}/{' or '.join(ISSUER_KINDS)}")
    return found


def peers(cidrs: Sequence[str], option: str) -> list[Json]:
    """NetworkPolicy peers of some ranges of addresses; raises OptionsError."""
    for each in cidrs:
        try:
            ip_network(each)
        except ValueError as error:
            raise OptionsError(f"{option} {each!r}: {error}: write a range such as 192.0.2.0/24") from None
    return [{"ipBlock": {"cidr": each}} for each in cidrs]


class Extra(Enum):
    """What not every cluster has a use for."""

    SERVICE_MONITOR = "a ServiceMonitor for the Prometheus operator"


def usual_document() -> Json:
    """The Configuration of a new installation; what it leaves out has its default (API-142)."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": 5,
                "Pod": 5,
                "Workload.kueue.x-k8s.io": 10,
                "LocalQueue.kueue.x-k8s.io": 5,
                "Cohort.kueue.x-k8s.io": 1,
                "ClusterQueue.kueue.x-k8s.io": 5,
                "ResourceFlavor.kueue.x-k8s.io": 1,
            }
        },
        "clientConnection": {"qps": 300, "burst": 500},
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }


@dataclass(frozen=True)
class Options:
    """One installation."""

    namespace: str = DEFAULT_NAMESPACE
    image: str = f"kohort:{__version__}"
    replicas: int = 2
    document: Json = field(default_factory=usual_document)
    """The Configuration as it is given."""
    extras: frozenset[Extra] = frozenset()
    issuer: Issuer | None = None
    """Whose certificates cert-manager brings; None where it is not used."""
    serve_v1beta1: Choice = True
    """Whether clients may speak the older version."""
    priority_class: str = PRIORITY_CLASS
    """PriorityClass of the manager's pods."""
    api_servers: Json = ()
    """NetworkPolicy peers that reach webhooks and the visibility API; all where there are none."""
    scrapers: Json = ()
    """NetworkPolicy peers that reach metrics; all where there are none."""

    @property
    def written(self) -> Json:
        """The Configuration as it is installed: whoever uses cert-manager's certificates makes none."""
        if self.issuer is None:
            return self.document
        management = self.document.get("internalCertManagement") or {}
        return {**self.document, "internalCertManagement": {**management, "enable": False}}

    @cached_property
    def configuration(self) -> Configuration:
        """The same, read: ports and names come from here. Raises OptionsError."""
        found = parse_configuration(self.written, ParsingContext(self.namespace, _known_frameworks()))
        if found.errors or found.config is None:
            raise OptionsError("; ".join(f"configuration: {error}" for error in found.errors))
        return found.config

    @property
    def service(self) -> str:
        """The Service in front of the webhooks."""
        return self.configuration.internal_cert_management.webhook_service_name or WebhookService().name

    @property
    def secret(self) -> str:
        """The Secret with the serving certificate."""
        return self.configuration.internal_cert_management.webhook_secret_name or _SECRET


def _known_frameworks() -> Mapping[str, Known]:
    """What a Configuration may name: all of Kueue's frameworks, and those that only Kohort has."""
    ours = {each.name: each.resource for each in built_in_frameworks()}
    kinds = {name: Known(f"{each.kind}.{each.version}.{each.group}") for name, each in ours.items()}
    return {**kinds, **BUILT_IN_FRAMEWORKS}


def frameworks_of(names: Sequence[str]) -> list[Framework]:
    """The frameworks of these names that Kohort has, and those that they imply (JOB-94)."""
    known = {each.name: each for each in built_in_frameworks()}
    chosen = [known[name] for name in names if name in known]
    implied = [known[name] for each in chosen for name in each.implies if name in known]
    return sorted({each.name: each for each in (*chosen, *implied)}.values(), key=lambda each: each.name)
