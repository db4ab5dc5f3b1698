"""Built-in kinds of Kubernetes: schemas, defaulting, validation and strategies."""

from kohort.embedded.kinds.catalog import builtin_resources
from kohort.embedded.kinds.defaults import apply_defaults
from kohort.embedded.kinds.definitions import DEFINITIONS, KUBERNETES_VERSION, SchemasMissing
from kohort.embedded.kinds.events import from_stored, to_stored
from kohort.embedded.kinds.reading import ReadObject, read_object, strict_error, unreadable
from kohort.embedded.kinds.selection import field_values, selectable
from kohort.embedded.kinds.strategies import prepare_create, prepare_update
from kohort.embedded.kinds.validation import validate

__all__ = [
    "DEFINITIONS",
    "KUBERNETES_VERSION",
    "ReadObject",
    "SchemasMissing",
    "apply_defaults",
    "builtin_resources",
    "field_values",
    "from_stored",
    "prepare_create",
    "prepare_update",
    "read_object",
    "selectable",
    "strict_error",
    "to_stored",
    "unreadable",
    "validate",
]
