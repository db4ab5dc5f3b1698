"""What the views of all Kubernetes kinds share: their head, their metadata, and small pieces of status.

A view declares its kind by its `resource`; nothing else lists views.
"""

from typing import Annotated, Any, ClassVar

from kohort.api.markers import Format
from kohort.api.meta import ObjectMeta, Time
from kohort.api.resource import Resource
from kohort.api.struct import View

MicroTime = Annotated[str, Format("date-time")]
"""An instant with exactly six decimals, as written: API servers refuse it when decimals that are zero are left out,
as a datetime would leave them. `kohort.api.times` reads and prints it."""


class KindView(View):
    """A view on anything that carries `apiVersion` and `kind`."""

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
    """A view on an object with metadata."""

    metadata: ObjectMeta = ObjectMeta()


class StatusCondition(View):
    """A condition as foreign kinds write it: like ours, but with no field certain to be there."""

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
    """A pointer to an object, as events carry it."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""
