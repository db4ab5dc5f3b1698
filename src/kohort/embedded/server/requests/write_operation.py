"""A write in progress: user, resource, object, options, and the warnings to return."""

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
    """A requested write."""

    method: Method
    resource: ServedResource
    namespace: str
    name: str
    user: User
    now: datetime
    options: WriteRequestOptions = field(default_factory=WriteRequestOptions)
    subresource: str = ""
    warnings: list[str] = field(default_factory=list)
    """Collected during the write and returned as Warning headers."""

    @property
    def error_subject(self) -> ErrorSubject:
        """Resource and name of the object in errors."""
        return ErrorSubject(self.resource.plural, self.resource.group, self.name)

    def key(self, name: str = "") -> StorageKey:
        """Storage key of the object."""
        return StorageKey(self.resource.key, self.namespace if self.resource.namespaced else "", name or self.name)

    def validation_subject(self, name: str) -> ErrorSubject:
        """Kind and name of the object in validation errors."""
        return ErrorSubject(self.resource.plural, self.resource.group, name, self.resource.kind)
