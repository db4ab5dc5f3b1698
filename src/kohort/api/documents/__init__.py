"""Manifest files: bytes in, plain JSON values with the place of every field out.

YAML means what Kubernetes' own reader makes of it; what that reader would accept by guessing (duplicate keys, unknown
tags, numbers without an end) is an error here. Both notations feed one `TreeBuilder`, which holds all the limits.
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
