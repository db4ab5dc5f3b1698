"""Builders of CustomResourceDefinitions."""

from typing import Any

Json = Any


def version(name: str = "v1", spec: Json = None, **more: Json) -> Json:
    """A version whose objects have this schema in `spec`."""
    spec = spec if spec is not None else {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}


def crd(*versions: Json, plural: str = "shirts", group: str = "stable.example.com", **more: Json) -> Json:
    """The definition of Shirts, unless named otherwise."""
    names = {"plural": plural, "kind": plural.removesuffix("s").title(), **more.pop("names", {})}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": list(versions) or [version()], **more}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": spec,
    }
