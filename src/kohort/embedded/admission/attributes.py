"""Admission attributes of a request, and the interface of admission plugins."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from kohort.api.codec import JsonObject
from kohort.embedded.auth.users import User
from kohort.embedded.resources import ServedResource
from kohort.kube.errors import ErrorSubject

Verb = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


@dataclass(frozen=True, slots=True)
class AdmissionAttributes:
    """A write under admission."""

    verb: Verb
    resource: ServedResource
    namespace: str
    name: str
    user: User
    subresource: str = ""
    object: JsonObject | None = None
    """The new object; None for a delete."""
    old: JsonObject | None = None
    dry_run: bool = False
    options: JsonObject = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """Warnings for the client, added by plugins."""

    @property
    def about(self) -> ErrorSubject:
        """Resource and name of the object in errors."""
        return ErrorSubject(self.resource.plural, self.resource.group, self.name)

    def changed(self, found: JsonObject) -> "AdmissionAttributes":
        """The same write with a changed object; spelled out for speed: every plugin may call it for every write."""
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
    """An admission plugin."""

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """The changed object, or None if unchanged; raises `StatusError` to deny."""

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Raises `StatusError` to deny."""

    def confirm(self, attributes: AdmissionAttributes) -> None:
        """Last check right before the write is stored; does not wait. Raises `StatusError`."""

    def settle(self, attributes: AdmissionAttributes) -> None:
        """Releases reservations after the write is stored or has failed."""


class NoopPlugin:
    """A plugin that changes and denies nothing; base class of plugins."""

    async def mutate(self, attributes: AdmissionAttributes) -> JsonObject | None:
        """Changes nothing."""

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Denies nothing."""

    def confirm(self, attributes: AdmissionAttributes) -> None:
        """Checks nothing."""

    def settle(self, attributes: AdmissionAttributes) -> None:
        """Reserves nothing."""


def is_write_of(attributes: AdmissionAttributes, resource: str, *verbs: Verb) -> bool:
    """Whether this is a create or update of the resource itself."""
    return attributes.resource.key == resource and not attributes.subresource and attributes.verb in verbs
