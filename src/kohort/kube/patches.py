"""The four ways of changing a part of an object, each a value that knows its media type and its bytes."""

from dataclasses import dataclass
from typing import ClassVar

from kohort.api.codec import Json, encode
from kohort.kube.transport import Query


@dataclass(frozen=True, slots=True)
class _ValuePatch:
    """A patch that is one JSON value."""

    media_type: ClassVar[str]
    is_idempotent: ClassVar[bool] = True
    value: Json

    def query(self) -> Query:
        """What the request says besides the patch."""
        return ()

    def body(self) -> bytes:
        """The patch as it is sent; JSON, which is YAML too."""
        return encode(self.value)


class MergePatch(_ValuePatch):
    """Members replace members, null removes, lists are replaced whole (RFC 7386)."""

    __slots__ = ()
    media_type: ClassVar[str] = "application/merge-patch+json"


class StrategicPatch(_ValuePatch):
    """Like a merge patch, but lists are merged by their keys; for built-in kinds only."""

    __slots__ = ()
    media_type: ClassVar[str] = "application/strategic-merge-patch+json"


class JsonPatch(_ValuePatch):
    """Operations one after the other, all or none (RFC 6902)."""

    __slots__ = ()
    media_type: ClassVar[str] = "application/json-patch+json"
    is_idempotent: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class ApplyPatch(_ValuePatch):
    """Everything the field manager wants of the object; what it wanted before and no longer says goes away.

    The value has `apiVersion`, `kind` and name, as any applied object.
    """

    media_type: ClassVar[str] = "application/apply-patch+yaml"
    force: bool = False
    """Take over fields that others own."""

    def query(self) -> Query:
        """Whether conflicts are overruled."""
        return (("force", "true"),) if self.force else ()


Patch = MergePatch | StrategicPatch | JsonPatch | ApplyPatch
