"""The registered webhooks and their rules, as data (docs/spec/api.md, section 5).

Names and paths are Kueue's, so that references to them keep working. One more webhook only warns of unsupported kinds;
no write fails because it cannot be called.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from kohort.api.codec import Json
from kohort.api.kinds import kind_of
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.kueue.group import GROUP
from kohort.api.resource import Resource
from kohort.api.unsupported import UNSUPPORTED_QUEUE_KINDS

CREATE, UPDATE = "CREATE", "UPDATE"
ON_CREATE = (CREATE,)
ON_WRITE = (CREATE, UPDATE)


class WebhookType(Enum):
    """The type of a webhook; the value is the prefix of its path."""

    MUTATE = "mutate"
    VALIDATE = "validate"


@dataclass(frozen=True, slots=True)
class WebhookRegistration:
    """One webhook of a webhook configuration."""

    act: WebhookType
    resource: Resource
    operations: tuple[str, ...]
    subresources: tuple[str, ...] = ()
    """Subresources whose writes match too."""
    framework: str = ""
    """The job framework it belongs to; empty for Kueue's own kinds."""

    @property
    def name(self) -> str:
        """`vworkload.kb.io`."""
        return f"{self.act.value[0]}{self.resource.kind.lower()}.kb.io"

    @property
    def path(self) -> str:
        """`/validate-kueue-x-k8s-io-v1beta2-workload`; two dashes in the core group."""
        group = self.resource.group.replace(".", "-")
        return f"/{self.act.value}-{group}-{self.resource.version}-{self.resource.kind.lower()}"

    @property
    def resources(self) -> list[str]:
        """The resource and its subresources, as rules name them."""
        return [self.resource.plural, *(f"{self.resource.plural}/{each}" for each in self.subresources)]

    @property
    def rules(self) -> list[Json]:
        """Which writes are shown."""
        return [_rule(self.resource.group, self.resource.version, self.resources, self.operations)]

    @property
    def failure_policy(self) -> str:
        """What happens to a write if the webhook cannot be called."""
        return "Fail"


@dataclass(frozen=True, slots=True)
class UnsupportedRegistration:
    """The webhook that warns of unsupported kinds; it rejects nothing, and its failures are ignored."""

    act: WebhookType = WebhookType.VALIDATE
    framework: str = ""
    name: str = "vunsupported.kb.io"
    path: str = "/validate-unsupported"
    failure_policy: str = "Ignore"

    @property
    def rules(self) -> list[Json]:
        """Kinds of Kueue without a webhook of their own, in any version."""
        checked = {each.resource.kind for each in KUEUE if each.act is WebhookType.VALIDATE}
        kinds = (kind_of(V1BETA2, kind) for kind in UNSUPPORTED_QUEUE_KINDS - checked)
        queues = sorted(kind.info.resource.plural for kind in kinds if kind is not None)
        return [_rule(GROUP, "*", queues, ON_WRITE)] if queues else []


AnyRegistration = WebhookRegistration | UnsupportedRegistration


def _rule(group: str, version: str, resources: list[str], operations: tuple[str, ...]) -> Json:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": resources,
        "scope": "*",
    }


def _kueue(act: WebhookType, kind: str, operations: tuple[str, ...], *subresources: str) -> WebhookRegistration:
    found = kind_of(V1BETA2, kind)
    if found is None:
        raise LookupError(f"{V1BETA2} has no {kind}")
    return WebhookRegistration(act, found.info.resource, operations, subresources)


KUEUE = (
    _kueue(WebhookType.MUTATE, "ClusterQueue", ON_CREATE),
    _kueue(WebhookType.MUTATE, "ResourceFlavor", ON_CREATE),
    _kueue(WebhookType.MUTATE, "Workload", ON_CREATE),
    _kueue(WebhookType.VALIDATE, "ClusterQueue", ON_WRITE),
    _kueue(WebhookType.VALIDATE, "Cohort", ON_WRITE),
    _kueue(WebhookType.VALIDATE, "ResourceFlavor", ON_WRITE),
    _kueue(WebhookType.VALIDATE, "Workload", ON_WRITE, "status"),
)
"""The webhooks of Kueue's own kinds (API-95)."""


def job_registrations(framework: str, resource: Resource, mutated: tuple[str, ...]) -> tuple[WebhookRegistration, ...]:
    """The two webhooks of a job framework, of which one changes objects on these operations (API-96, JOB-66)."""
    return (
        WebhookRegistration(WebhookType.MUTATE, resource, mutated, framework=framework),
        WebhookRegistration(WebhookType.VALIDATE, resource, ON_WRITE, framework=framework),
    )


UNSUPPORTED_REGISTRATIONS: tuple[UnsupportedRegistration, ...] = (
    (UnsupportedRegistration(),) if UnsupportedRegistration().rules else ()
)
"""Empty if all kinds are supported: API servers reject a webhook without rules."""


def acting(registrations: Iterable[AnyRegistration], act: WebhookType) -> list[AnyRegistration]:
    """The registrations of one type, sorted by name."""
    return sorted((each for each in registrations if each.act is act), key=lambda each: each.name)
