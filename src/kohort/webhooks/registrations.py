"""Which writes an API server shows to which webhook, as data (docs/spec/api.md, section 5).

Names and paths are Kueue's, so that whatever refers to them goes on to work.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from kohort.api.kinds import kind_of
from kohort.api.kueue.conversion import V1BETA2
from kohort.api.resource import Resource

CREATE, UPDATE = "CREATE", "UPDATE"
ON_CREATE = (CREATE,)
ON_WRITE = (CREATE, UPDATE)


class Act(Enum):
    """What a webhook does; the value is how its path begins."""

    MUTATE = "mutate"
    VALIDATE = "validate"


@dataclass(frozen=True, slots=True)
class Registration:
    """One webhook, as an API server knows it."""

    act: Act
    resource: Resource
    operations: tuple[str, ...]
    subresources: tuple[str, ...] = ()
    """Parts of the object whose writes are shown too."""
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


def _kueue(act: Act, kind: str, operations: tuple[str, ...], *subresources: str) -> Registration:
    found = kind_of(V1BETA2, kind)
    if found is None:
        raise LookupError(f"{V1BETA2} has no {kind}")
    return Registration(act, found.info.resource, operations, subresources)


KUEUE = (
    _kueue(Act.MUTATE, "ClusterQueue", ON_CREATE),
    _kueue(Act.MUTATE, "ResourceFlavor", ON_CREATE),
    _kueue(Act.MUTATE, "Workload", ON_CREATE),
    _kueue(Act.VALIDATE, "ClusterQueue", ON_WRITE),
    _kueue(Act.VALIDATE, "Cohort", ON_WRITE),
    _kueue(Act.VALIDATE, "ResourceFlavor", ON_WRITE),
    _kueue(Act.VALIDATE, "Workload", ON_WRITE, "status"),
)
"""The webhooks of Kueue's own kinds (API-95)."""


def job_registrations(framework: str, resource: Resource, mutated: tuple[str, ...]) -> tuple[Registration, ...]:
    """The two webhooks of a job framework, of which one changes objects on these operations (API-96, JOB-66)."""
    return (
        Registration(Act.MUTATE, resource, mutated, framework=framework),
        Registration(Act.VALIDATE, resource, ON_WRITE, framework=framework),
    )


def acting(registrations: Iterable[Registration], act: Act) -> list[Registration]:
    """Those that do one thing, by name."""
    return sorted((each for each in registrations if each.act is act), key=lambda each: each.name)
