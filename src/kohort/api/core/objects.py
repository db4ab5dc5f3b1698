"""Common parts of views of Kubernetes kinds: apiVersion and kind, metadata, conditions, references.

A view declares its kind by its `resource`.
"""

from typing import Annotated, Any, ClassVar

from kohort.api.codec import encode, to_json
from kohort.api.markers import Format
from kohort.api.meta import ObjectKey, ObjectMeta, Time
from kohort.api.resource import Resource
from kohort.api.struct import View

MicroTime = Annotated[str, Format("date-time")]
"""A time with exactly six decimals, as text: API servers reject it if trailing zeros are omitted, as datetime does.
`kohort.api.times` parses and prints it."""


class KindView(View):
    """A view of a value with `apiVersion` and `kind`."""

    resource: ClassVar[Resource]
    API_VERSION: ClassVar[str]
    KIND: ClassVar[str]

    api_version: str = ""
    kind: str = ""

    def __init_subclass__(cls, **config: Any) -> None:
        super().__init_subclass__(**config)
        if "resource" in cls.__dict__:
            cls.API_VERSION = cls.resource.api_version
            cls.KIND = cls.resource.kind


class ObjectView(KindView):
    """A view of an object with metadata."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.metadata.namespace, self.metadata.name)

    @property
    def is_terminating(self) -> bool:
        """Whether the object is being deleted."""
        return self.metadata.deletion_timestamp is not None


def encode_view(view: KindView) -> bytes:
    """A view as JSON with the `apiVersion` and `kind` of its resource."""
    return encode({"apiVersion": view.API_VERSION, "kind": view.KIND, **to_json(view)})


class StatusCondition(View):
    """A condition of a Kubernetes kind; every field may be absent."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    last_probe_time: Time | None = None
    last_update_time: Time | None = None
    last_heartbeat_time: Time | None = None
    observed_generation: int | None = None


class ObjectReference(View):
    """A reference to an object, as in events."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""
