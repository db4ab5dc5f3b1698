"""Which fields a write can't change, by the door it comes through: they are nobody's gain, whatever the body says."""

from kohort.embedded.managed_fields.field_sets import EMPTY, FieldSet
from kohort.embedded.resources import ServedResource

_SPEC = FieldSet.of("spec")
_STATUS = FieldSet.of("status")


def reset_fields(resource: ServedResource, subresource: str) -> FieldSet:
    """`status` for a write to the object itself, `spec` for one to its status; nothing where they are one."""
    if resource.subresource("status") is None:
        return EMPTY
    if subresource == "status":
        return _SPEC
    return EMPTY if subresource else _STATUS
