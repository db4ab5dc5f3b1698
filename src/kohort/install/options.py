"""Options of an installation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from ipaddress import ip_network

from kohort import __version__
from kohort.api.codec import Json
from kohort.api.config.common import DEFAULT_NAMESPACE
from kohort.api.config.frameworks import BUILT_IN_FRAMEWORKS
from kohort.api.config.parsing import ParsedConfiguration, ParsingContext, parse_configuration
from kohort.api.config.v1beta2 import API_VERSION, Configuration
from kohort.api.crds import Choice, WebhookService
from kohort.api.errors import ApiError
from kohort.api.names import check_subdomain
from kohort.jobs.builtin import built_in_frameworks, framework_names, known_frameworks, with_declared
from kohort.jobs.contract import Framework
from kohort.jobs.declarative import parse_framework
from kohort.jobs.registry import FrameworkRegistry, RegistryError, registry_of

PRIORITY_CLASS = "system-cluster-critical"
"""Critical, because pods and jobs that match its webhooks cannot be created while no manager runs."""
_SECRET = "kueue-webhook-server-cert"  # noqa: S105  a name


class OptionsError(ApiError):
    """Invalid options; the message names the option and the remedy."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """The cert-manager issuer of the serving certificate; by default one that is part of the installation."""

    name: str = "kueue-ca-issuer"
    kind: str = "Issuer"


ISSUER_KINDS = ("Issuer", "ClusterIssuer")


def parse_issuer(text: str) -> Issuer:
    """The issuer from `NAME` or `NAME/KIND`; raises OptionsError."""
    name, _, kind = text.partition("/")
    found = Issuer(name, kind or ISSUER_KINDS[0])
    problem = check_subdomain(name)
    if problem:
        raise OptionsError(f"--issuer {text!r}: the name {problem}")
    if found.kind not in ISSUER_KINDS:
        raise OptionsError(f"--issuer {text!r}: unknown kind {kind}: use {name}/{' or '.join(ISSUER_KINDS)}")
    return found


def peers(cidrs: Sequence[str], option: str) -> list[Json]:
    """NetworkPolicy peers for CIDRs; raises OptionsError."""
    for each in cidrs:
        try:
            ip_network(each)
        except ValueError as error:
            raise OptionsError(f"{option} {each!r}: {error}: use a CIDR such as 192.0.2.0/24") from None
    return [{"ipBlock": {"cidr": each}} for each in cidrs]


class OptionalManifest(Enum):
    """Objects that are installed only on request."""

    SERVICE_MONITOR = "a ServiceMonitor for the Prometheus operator"


def default_integrations() -> list[str]:
    """The supported integrations of Kueue; that of a kind without a CustomResourceDefinition stays off."""
    ours = framework_names(each for each in built_in_frameworks() if each.gate is None)
    return [name for name in BUILT_IN_FRAMEWORKS if name in ours]


def default_document() -> Json:
    """The Configuration of a new installation; omitted fields have their defaults (API-142)."""
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
        "integrations": {"frameworks": default_integrations()},
    }


@dataclass(frozen=True)
class Options:
    """The options of one installation."""

    namespace: str = DEFAULT_NAMESPACE
    image: str = f"kohort:{__version__}"
    replicas: int = 2
    document: Json = field(default_factory=default_document)
    """The Configuration as given by the user."""
    extras: frozenset[OptionalManifest] = frozenset()
    issuer: Issuer | None = None
    """The issuer if cert-manager is used, else None."""
    serve_v1beta1: Choice = True
    """Whether v1beta1 is served."""
    priority_class: str = PRIORITY_CLASS
    """PriorityClass of the manager's pods."""
    api_servers: Json = ()
    """NetworkPolicy peers that may reach webhooks and the visibility API; empty allows all."""
    scrapers: Json = ()
    """NetworkPolicy peers that may reach metrics; empty allows all."""
    declarations: Mapping[str, str] = field(default_factory=dict)
    """Declared job frameworks, as YAML by file name."""

    @property
    def installed_document(self) -> Json:
        """The Configuration as installed: with cert-manager, internal certificate management is disabled."""
        if self.issuer is None:
            return self.document
        management = self.document.get("internalCertManagement") or {}
        return {**self.document, "internalCertManagement": {**management, "enable": False}}

    @cached_property
    def frameworks(self) -> list[Framework]:
        """The job frameworks that the Configuration may name; raises OptionsError."""
        return [*built_in_frameworks(), *self.declared]

    @cached_property
    def declared(self) -> list[Framework]:
        """The declared job frameworks; raises OptionsError."""
        return [_declared(*each) for each in self.declarations.items()]

    @cached_property
    def parsed(self) -> ParsedConfiguration:
        """The parsed Configuration and its feature gates."""
        frameworks = known_frameworks(self.frameworks)
        return parse_configuration(self.installed_document, ParsingContext(self.namespace, frameworks))

    @cached_property
    def configuration(self) -> Configuration:
        """The valid Configuration; raises OptionsError."""
        found = self.parsed
        if found.errors or found.config is None:
            raise OptionsError("; ".join(f"configuration: {error}" for error in found.errors))
        return found.config

    @cached_property
    def registry(self) -> FrameworkRegistry:
        """The job frameworks, as enabled by the Configuration."""
        return registry_of(with_declared(self.configuration, self.frameworks), self.frameworks, self.parsed.gates)

    @property
    def service(self) -> str:
        """The Service in front of the webhooks."""
        return self.configuration.internal_cert_management.webhook_service_name or WebhookService().name

    @property
    def secret(self) -> str:
        """The Secret with the serving certificate."""
        return self.configuration.internal_cert_management.webhook_secret_name or _SECRET


def _declared(name: str, text: str) -> Framework:
    try:
        return parse_framework(text)
    except RegistryError as error:
        raise OptionsError(f"--framework {name}: {error}") from None
