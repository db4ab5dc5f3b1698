"""What admission gets to see of a request, and the two questions that every plugin may answer."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from kohort.api.codec import JsonObject
from kohort.embedded.auth.users import User
from kohort.embedded.resources import ServedResource
from kohort.kube.errors import ErrorSubject

Verb = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@dataclass(frozen=True, slots=True)
class AdmissionAttributes:
    """A write that is about to happen."""

    verb: Verb
    resource: ServedResource
    namespace: str
    name: str
    user: User
    subresource: str = ""
    object: JsonObject | None = None
    """The state to be; None when the object is to go."""
    old: JsonObject | None = None
    dry_run: bool = False
    options: JsonObject = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """Plugins add what the client should be told."""

    @property
    def about(self) -> ErrorSubject:
        """What errors call the object."""
        return ErrorSubject(self.resource.plural, self.resource.group, self.name)

    def changed(self, found: JsonObject) -> "AdmissionAttributes":
        """The same write of a changed object; spelled out, since every plugin may do this to every write."""
        return AdmissionAttributes(
            self.verb,
            self.resource,
            self.namespace,
            self.name,
            self.user,
            self.subresource,
            found,
            self.old,
            self.dry_run,
            self.options,
            self.warnings,
        )


class AdmissionPlugin(Protocol):
    """One admission plugin; both questions have an answer that changes and refuses nothing."""

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """The object as it should be; None leaves it as it is. Raises `StatusError` to refuse."""

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Raises `StatusError` to refuse."""

    def confirm(self, attributes: AdmissionAttributes) -> None:
        """A last look right before the store, without waiting, since others took their time. Raises `StatusError`."""

    def settle(self, attributes: AdmissionAttributes) -> None:
        """Let go of what was set aside for a write that is now stored, or never will be."""


class NoopPlugin:
    """A plugin that changes and refuses nothing; others say only what they do differently."""

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """Leave the object as it is."""

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse nothing."""

    def confirm(self, attributes: AdmissionAttributes) -> None:
        """Nothing to look at."""

    def settle(self, attributes: AdmissionAttributes) -> None:
        """Nothing was set aside."""


def is_write_of(attributes: AdmissionAttributes, resource: str, *verbs: Verb) -> bool:
    """Whether this is such a write of the resource itself."""
    return attributes.resource.key == resource and not attributes.subresource and attributes.verb in verbs
