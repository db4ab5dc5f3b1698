"""Schemas as OpenAPI writes them, for Kubernetes' own kinds and for CustomResourceDefinitions alike."""

from kohort.embedded.openapi.node import Definitions, SchemaNode
from kohort.embedded.openapi.schema import to_schema

__all__ = ["Definitions", "SchemaNode", "to_schema"]
