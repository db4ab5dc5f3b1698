"""Schemas of the built-in kinds, from the package kubernetes-validate.

The file is read on first use, never on import.
"""

import importlib.util
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from kohort.api.codec import decode_json
from kohort.api.errors import ApiError
from kohort.embedded.openapi import SchemaNode

KUBERNETES_VERSION = "1.37.0"
"""The served version of Kubernetes; schemas of other versions in the package are never opened."""

_REFERENCE = "#/$defs/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_PREFIXES = {
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
    "": "io.k8s.api.core",
}
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
_FREE = (
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    f"{_META}FieldsV1",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
)


class SchemasMissing(ApiError):  # noqa: N818 - named as the other ApiErrors
    """The package with Kubernetes' schemas is not installed, or too old."""


class BuiltinDefinitions(Mapping[str, Mapping[str, Any]]):
    """All schemas by name, loaded on first use."""

    @cached_property
    def _all(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = decode_json(_file().read_bytes())["$defs"]
        for name in (_QUANTITY, _INT_OR_STRING):
            found[name]["x-kubernetes-int-or-string"] = True
        for name in _FREE:
            found[name]["x-kubernetes-preserve-unknown-fields"] = True
        return found

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


DEFINITIONS = BuiltinDefinitions()


def _file() -> Path:
    spec = importlib.util.find_spec("kubernetes_validate")
    if importlib.util.find_spec("re2") is None:
        raise SchemasMissing("the package google-re2 is not installed: pip install 'kohort[up]'")
    if spec is None or spec.origin is None:
        raise SchemasMissing("schemas of Kubernetes' kinds are not installed: pip install 'kohort[up]'")
    folder = Path(spec.origin).parent / "kubernetes-json-schema" / f"v{KUBERNETES_VERSION}-local"
    path = folder / "_definitions.json"
    if not path.is_file():
        raise SchemasMissing(
            f"package kubernetes-validate knows no Kubernetes {KUBERNETES_VERSION}: "
            "install a newer one with pip install --upgrade kubernetes-validate"
        )
    return path


def definition_name(group: str, version: str, kind: str) -> str:
    """The schema name of a built-in kind."""
    prefix = _PREFIXES.get(group) or f"io.k8s.api.{group.partition('.')[0]}"
    return f"{prefix}.{version}.{kind}"


def meta_name(kind: str) -> str:
    """The name of a shared schema: `ObjectMeta`, `DeleteOptions` …"""
    return _META + kind


def node_of(name: str) -> SchemaNode:
    """The schema of that name, loaded on first access."""
    return SchemaNode({"$ref": _REFERENCE + name}, DEFINITIONS)
