"""Which API server to talk to, and as whom: kubeconfig files as kubectl reads them, or the pod's service account."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kohort.kube.clock import Clock, SystemClock
from kohort.kube.config.access import Access, Credentials, Impersonation, Login, Trust
from kohort.kube.config.incluster import in_cluster, is_in_cluster
from kohort.kube.config.kubeconfig import kubeconfig_access

__all__ = [
    "Access",
    "Choice",
    "Credentials",
    "Impersonation",
    "Login",
    "Trust",
    "find_access",
    "own_home",
    "usual_kubeconfigs",
]


def own_home() -> Path:
    """The user's home; the root for one who has none, such as a number without a name in a container."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line says about the server."""

    kubeconfig: Path | None = None
    context: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ), repr=False)
    home: Path = field(default_factory=own_home)
    clock: Clock = field(default_factory=SystemClock)


def find_access(choice: Choice) -> Access:
    """The file that was named, else KUBECONFIG, else the pod's service account, else ~/.kube/config."""
    if choice.kubeconfig is not None:
        return kubeconfig_access((choice.kubeconfig,), choice.context, choice.environment, choice.clock)
    if not choice.environment.get("KUBECONFIG") and not choice.context and is_in_cluster(choice.environment):
        return in_cluster(choice.environment)
    usual = usual_kubeconfigs(choice.environment, choice.home)
    return kubeconfig_access(usual, choice.context, choice.environment, choice.clock)


def usual_kubeconfigs(environment: Mapping[str, str], home: Path | None = None) -> tuple[Path, ...]:
    """The files that kubectl reads when none is named, the one that it writes to first."""
    listed = tuple(Path(part) for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part)
    return listed or ((home or own_home()) / ".kube" / "config",)
