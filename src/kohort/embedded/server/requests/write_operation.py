"""One write on its way: who does what to which object, and what is to be told to them besides."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from kohort.embedded.auth.users import User
from kohort.embedded.resources import ServedResource
from kohort.embedded.server.requests.options import WriteRequestOptions
from kohort.embedded.storage import StorageKey
from kohort.kube.errors import ErrorSubject

Method = Literal["create", "update", "patch", "apply"]


@dataclass(frozen=True, slots=True)
class WriteOperation:
    """A write, before anything was done."""

    method: Method
    resource: ServedResource
    namespace: str
    name: str
    user: User
    now: datetime
    options: WriteRequestOptions = field(default_factory=WriteRequestOptions)
    subresource: str = ""
    warnings: list[str] = field(default_factory=list)
    """Filled on the way; goes back to the client as headers."""

    @property
    def about(self) -> ErrorSubject:
        """What errors call the object."""
        return ErrorSubject(self.resource.plural, self.resource.group, self.name)

    def key(self, name: str = "") -> StorageKey:
        """Where the object is stored."""
        return StorageKey(self.resource.key, self.namespace if self.resource.namespaced else "", name or self.name)

    def named(self, name: str) -> ErrorSubject:
        """What errors about the object's validity call it."""
        return ErrorSubject(self.resource.plural, self.resource.group, name, self.resource.kind)
