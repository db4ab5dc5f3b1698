"""The operators that tests run beside Kohort: Go module, version, programs, and the folders of manifests to keep."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class OperatorModule:
    """A published Go module and what is used of it."""

    module: str
    version: str
    programs: Mapping[str, str]
    """Packages by the name of the program that is built from each."""
    manifests: tuple[str, ...]
    """Folders and files that are kept beside the programs: definitions, webhooks, defaults."""


OPERATORS: Final = MappingProxyType(
    {
        "jobset": OperatorModule(
            "sigs.k8s.io/jobset", "v0.12.0", {"jobset": "."}, ("config/components/crd", "config/components/webhook")
        ),
        "training": OperatorModule(
            "github.com/kubeflow/training-operator",
            "v1.9.4",
            {"training-operator": "./cmd/training-operator.v1"},
            ("manifests/base",),
        ),
        "ray": OperatorModule(
            "github.com/ray-project/kuberay/ray-operator", "v1.6.2", {"kuberay": "."}, ("config/crd", "config/webhook")
        ),
        "mpi": OperatorModule(
            "github.com/kubeflow/mpi-operator", "v0.8.2", {"mpi-operator": "./cmd/mpi-operator"}, ("manifests/base",)
        ),
        "lws": OperatorModule("sigs.k8s.io/lws", "v0.9.0", {"lws": "./cmd"}, ("config/crd", "config/webhook")),
    }
)
