"""Kubernetes' own kinds: their schemas, defaults, rules and what a write does to them."""

from kohort.embedded.kinds.catalog import builtin_resources
from kohort.embedded.kinds.definitions import KUBERNETES_VERSION, SchemasMissing

__all__ = ["KUBERNETES_VERSION", "SchemasMissing", "builtin_resources"]
