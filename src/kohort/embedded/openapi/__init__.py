"""OpenAPI schemas of built-in kinds and CustomResourceDefinitions."""

from kohort.embedded.openapi.node import Definitions, SchemaNode
from kohort.embedded.openapi.schema import to_schema

__all__ = ["Definitions", "SchemaNode", "to_schema"]
