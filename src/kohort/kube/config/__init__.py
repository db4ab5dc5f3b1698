"""Loads the client configuration: kubeconfig files as kubectl reads them, or the pod's service account."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kohort.kube.clock import Clock, SystemClock
from kohort.kube.config.client_config import ClientConfig, Credentials, Impersonation, RequestCredentials, ServerTrust
from kohort.kube.config.incluster import in_cluster, is_in_cluster
from kohort.kube.config.kubeconfig import kubeconfig_access

__all__ = [
    "ClientConfig",
    "ConfigOverrides",
    "Credentials",
    "Impersonation",
    "RequestCredentials",
    "ServerTrust",
    "default_kubeconfig_paths",
    "home_directory",
    "load_client_config",
]


def home_directory() -> Path:
    """The home directory of the user; `/` for a user without one, such as a bare UID in a container."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


@dataclass(frozen=True, slots=True)
class ConfigOverrides:
    """Options of the command line that select the server."""

    kubeconfig: Path | None = None
    context: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    home: Path = field(default_factory=home_directory)
    clock: Clock = field(default_factory=SystemClock)


def load_client_config(choice: ConfigOverrides) -> ClientConfig:
    """Loads the given file, or KUBECONFIG, or the pod's service account, or ~/.kube/config, in this order."""
    if choice.kubeconfig is not None:
        return kubeconfig_access((choice.kubeconfig,), choice.context, choice.environment, choice.clock)
    if not choice.environment.get("KUBECONFIG") and not choice.context and is_in_cluster(choice.environment):
        return in_cluster(choice.environment)
    usual = default_kubeconfig_paths(choice.environment, choice.home)
    return kubeconfig_access(usual, choice.context, choice.environment, choice.clock)


def default_kubeconfig_paths(environment: Mapping[str, str], home: Path | None = None) -> tuple[Path, ...]:
    """The files that kubectl reads by default; it writes to the first of them."""
    listed = tuple(Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part)
    return listed or ((home or home_directory()) / ".kube" / "config",)
