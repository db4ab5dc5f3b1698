"""Who owns which field: `managedFields`, kept by every write, and server-side apply, which lives by them."""

from kohort.embedded.ownership.applying import apply
from kohort.embedded.ownership.field_sets import EMPTY, FieldSet
from kohort.embedded.ownership.tracking import track_update

__all__ = ["EMPTY", "FieldSet", "apply", "track_update"]
