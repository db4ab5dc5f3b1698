"""OpenAPI schemas of built-in kinds and CustomResourceDefinitions."""

from kohort.embedded.openapi.node import Definitions, SchemaNode

__all__ = ["Definitions", "SchemaNode"]
