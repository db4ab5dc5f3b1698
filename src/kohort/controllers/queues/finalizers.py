"""The mark that keeps an object as long as others need it (API-30, API-40, API-42, API-46)."""

from typing import TypeVar

from msgspec.structs import replace

from kohort.api.kinds import CustomObject
from kohort.api.kueue.group import RESOURCE_IN_USE_FINALIZER
from kohort.api.meta import ObjectMeta

T = TypeVar("T", bound=CustomObject)


def with_finalizers(found: T, *, in_use: bool) -> T:
    """The object with our mark from the first until it is deleted and nobody needs it; the same object where it is so.

    One that is being deleted gets no new mark: the API server would refuse it.
    """
    finalizers = _wanted(found.metadata, in_use)
    if finalizers == found.metadata.finalizers:
        return found
    return replace(found, metadata=replace(found.metadata, finalizers=finalizers))


def _wanted(metadata: ObjectMeta, in_use: bool) -> tuple[str, ...]:  # noqa: FBT001  a fact, not a switch
    is_marked = RESOURCE_IN_USE_FINALIZER in metadata.finalizers
    if metadata.deletion_timestamp is None:
        return metadata.finalizers if is_marked else (*metadata.finalizers, RESOURCE_IN_USE_FINALIZER)
    if in_use:
        return metadata.finalizers
    return tuple(each for each in metadata.finalizers if each != RESOURCE_IN_USE_FINALIZER)
