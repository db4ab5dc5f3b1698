"""Schemas as OpenAPI writes them, for Kubernetes' own kinds and for CustomResourceDefinitions alike."""

from kohort.embedded.openapi.node import Definitions, Node

__all__ = ["Definitions", "Node"]
