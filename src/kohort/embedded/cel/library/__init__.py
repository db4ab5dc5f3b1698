"""CEL functions of Kubernetes, one module per library. Importing this package registers them all."""

from kohort.embedded.cel.library import (
    arithmetic,
    authorization,
    conversions,
    formats,
    lists,
    network,
    optionals,
    quantities,
    regexes,
    sets,
    text_format,
    texts,
    times,
    urls,
    versions,
)

__all__ = [
    "arithmetic",
    "authorization",
    "conversions",
    "formats",
    "lists",
    "network",
    "optionals",
    "quantities",
    "regexes",
    "sets",
    "text_format",
    "texts",
    "times",
    "urls",
    "versions",
]
