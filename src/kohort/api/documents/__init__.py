"""Reads manifest files into plain JSON values with the position of each field.

YAML is interpreted as Kubernetes does; what Kubernetes accepts by guessing (duplicate keys, unknown tags, unbounded
numbers) is an error here. Both notations use one `TreeBuilder`, which enforces all limits.
"""

from kohort.api.documents.document import Document
from kohort.api.documents.files import discover, load
from kohort.api.documents.stream import MAX_FILE_BYTES, MAX_OBJECT_BYTES, read_documents
from kohort.api.documents.tree import MAX_DEPTH, MAX_VALUES

__all__ = [
    "MAX_DEPTH",
    "MAX_FILE_BYTES",
    "MAX_OBJECT_BYTES",
    "MAX_VALUES",
    "Document",
    "discover",
    "load",
    "read_documents",
]
