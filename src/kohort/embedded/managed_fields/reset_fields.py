"""Reset fields: fields that a write to the object or to a subresource cannot change."""

from kohort.embedded.managed_fields.field_sets import EMPTY, FieldSet
from kohort.embedded.resources import ServedResource

_SPEC = FieldSet.of("spec")
_STATUS = FieldSet.of("status")


def reset_fields(resource: ServedResource, subresource: str) -> FieldSet:
    """`status` for a write to the object, `spec` for one to its status; empty without a status subresource."""
    if resource.subresource("status") is None:
        return EMPTY
    if subresource == "status":
        return _SPEC
    return EMPTY if subresource else _STATUS
