"""The four ways of changing a part of an object, each a value that knows its media type and its bytes."""

from dataclasses import dataclass
from typing import ClassVar

from kohort.api.codec import Json, encode
from kohort.kube.transport import Query


@dataclass(frozen=True, slots=True)
class MergePatch:
    """Members replace members, null removes, lists are replaced whole (RFC 7386)."""

    media_type: ClassVar[str] = "application/merge-patch+json"
    is_idempotent: ClassVar[bool] = True
    value: Json

    def query(self) -> Query:
        """Nothing more to say."""
        return ()

    def body(self) -> bytes:
        """The patch as it is sent."""
        return encode(self.value)


@dataclass(frozen=True, slots=True)
class StrategicPatch:
    """Like a merge patch, but lists are merged by their keys; for built-in kinds only."""

    media_type: ClassVar[str] = "application/strategic-merge-patch+json"
    is_idempotent: ClassVar[bool] = True
    value: Json

    def query(self) -> Query:
        """Nothing more to say."""
        return ()

    def body(self) -> bytes:
        """The patch as it is sent."""
        return encode(self.value)


@dataclass(frozen=True, slots=True)
class JsonPatch:
    """Operations one after the other, all or none (RFC 6902)."""

    media_type: ClassVar[str] = "application/json-patch+json"
    is_idempotent: ClassVar[bool] = False
    operations: tuple[Json, ...]

    def query(self) -> Query:
        """Nothing more to say."""
        return ()

    def body(self) -> bytes:
        """The operations as they are sent."""
        return encode(self.operations)


@dataclass(frozen=True, slots=True)
class ApplyPatch:
    """Everything the field manager wants of the object; what it wanted before and no longer says goes away."""

    media_type: ClassVar[str] = "application/apply-patch+yaml"
    is_idempotent: ClassVar[bool] = True
    value: Json
    """With `apiVersion`, `kind` and name, as any applied object."""
    force: bool = False
    """Take over fields that others own."""

    def query(self) -> Query:
        """Whether conflicts are overruled."""
        return (("force", "true"),) if self.force else ()

    def body(self) -> bytes:
        """JSON, which is YAML too."""
        return encode(self.value)


Patch = MergePatch | StrategicPatch | JsonPatch | ApplyPatch
