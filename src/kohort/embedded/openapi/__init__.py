"""Schemas as OpenAPI writes them, for Kubernetes' own kinds and for CustomResourceDefinitions alike."""

from kohort.embedded.openapi.node import Definitions, Node
from kohort.embedded.openapi.schema import to_schema

__all__ = ["Definitions", "Node", "to_schema"]
