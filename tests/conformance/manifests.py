"""Manifests for standard input."""

import json
from collections.abc import Iterable
from typing import Any

Json = Any


def as_list(objects: Iterable[Json]) -> str:
    """Several objects in one document."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
