"""How each operator is started outside a pod: definitions, webhooks, flags, configuration.

Each listens on loopback where its options allow that; README.md lists the exceptions.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from kit.ports import LOOPBACK
from real_operators.operator_files import OperatorFiles

Json = Any


def _nothing(_: OperatorFiles) -> list[Json]:
    return []


@dataclass(frozen=True, slots=True)
class OperatorProgram:
    """One operator, by its name in the catalog."""

    program: str
    definitions: tuple[str, ...]
    """Files with CustomResourceDefinitions, as patterns in the folder of manifests."""
    flags: Callable[[OperatorFiles], list[str]]
    webhooks: str = ""
    """A folder for kustomize; empty if the operator runs without webhooks."""
    prerequisites: Callable[[OperatorFiles], list[Json]] = _nothing
    """Objects that exist before the operator starts."""
    environment: Callable[[], AbstractContextManager[Mapping[str, str]]] = lambda: nullcontext({})
    """Environment variables, and what they refer to, for as long as the operator runs."""
    authority: str = "kohort-operators"
    """The name of the authority of its webhooks' certificate."""
    server_names: tuple[str, ...] = ()
    """Names in that certificate, apart from loopback."""
    health_path: str = "/readyz"
    health_port: int = 0
    """A port that can't be chosen."""


def _component_config(api_version: str, site: OperatorFiles) -> Json:
    """What the configurations of several operators have in common."""
    return {
        "apiVersion": api_version,
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "webhook": {"host": LOOPBACK, "port": site.webhook},
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{site.health}"},
        "metrics": {"bindAddress": "0"},
    }


def _jobset(site: OperatorFiles) -> list[str]:
    config = _component_config("config.jobset.x-k8s.io/v1alpha1", site)
    return [site.write_config({**config, "internalCertManagement": {"enable": False}})]


PROGRAMS: Final = MappingProxyType(
    {
        "jobset": OperatorProgram(
            "jobset", ("config/components/crd/bases/*.yaml",), _jobset, webhooks="config/components/webhook"
        ),
    }
)
