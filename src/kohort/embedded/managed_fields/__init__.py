"""Managed fields: `metadata.managedFields`, updated by every write, and server-side apply, which is based on them."""

from kohort.embedded.managed_fields.applying import apply
from kohort.embedded.managed_fields.field_sets import EMPTY, FieldSet
from kohort.embedded.managed_fields.reset_fields import reset_fields
from kohort.embedded.managed_fields.tracking import track_update
from kohort.embedded.managed_fields.validation import manager_of, validate_manager

__all__ = [
    "EMPTY",
    "FieldSet",
    "apply",
    "manager_of",
    "reset_fields",
    "track_update",
    "validate_manager",
]
