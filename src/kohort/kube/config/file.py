"""Reads and merges kubeconfig files: the first file that defines an entry wins.

No message contains a value of a file, because any of them may be secret.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from kohort.api.codec import Json, from_json
from kohort.api.documents import read_documents
from kohort.api.errors import DecodeError, DocumentError
from kohort.api.struct import FrozenMeta
from kohort.kube.config.credential_files import read_file
from kohort.kube.errors import ConfigError

T = TypeVar("T")

EXEC_EXTENSION = "client.authentication.k8s.io/exec"


class _Hidden(msgspec.Struct, metaclass=FrozenMeta, frozen=True, rename="kebab"):
    """A part of a file, hidden in its repr."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<hidden>)"


class Extension(_Hidden):
    """An extension that a tool stores with a cluster."""

    name: str = ""
    extension: Any = None


class KubeconfigCluster(_Hidden):
    """A server and its TLS settings."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: tuple[Extension, ...] = ()

    @property
    def exec_config(self) -> Json:
        """The cluster's configuration for exec plugins."""
        return next((one.extension for one in self.extensions if one.name == EXEC_EXTENSION), None)


class EnvironmentVariable(_Hidden):
    """An environment variable for an exec plugin."""

    name: str
    value: str = ""


class ExecPluginConfig(_Hidden, rename="camel"):
    """An exec plugin."""

    command: str
    api_version: str = ""
    args: tuple[str, ...] = ()
    env: tuple[EnvironmentVariable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProvider(_Hidden):
    """A legacy auth provider; only oidc is supported."""

    name: str
    config: dict[str, str] = {}


class KubeconfigUser(_Hidden):
    """Credentials of a user."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    as_user: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_user_extra: dict[str, tuple[str, ...]] = {}
    auth_provider: AuthProvider | None = None
    exec: ExecPluginConfig | None = None


class KubeconfigContext(_Hidden):
    """A cluster, a user and a namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Hidden):
    name: str
    cluster: KubeconfigCluster = KubeconfigCluster()


class _NamedUser(_Hidden):
    name: str
    user: KubeconfigUser = KubeconfigUser()


class _NamedContext(_Hidden):
    name: str
    context: KubeconfigContext = KubeconfigContext()


class _File(_Hidden):
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] = ()
    users: tuple[_NamedUser, ...] = ()
    contexts: tuple[_NamedContext, ...] = ()


@dataclass(frozen=True, slots=True)
class Sourced(Generic[T]):
    """An entry of a kubeconfig with its file, to which its paths are relative."""

    value: T
    file: Path


@dataclass
class Kubeconfig:
    """The merged content of all files."""

    files: tuple[Path, ...]
    current: str = ""
    clusters: dict[str, Sourced[KubeconfigCluster]] = field(default_factory=dict)
    users: dict[str, Sourced[KubeconfigUser]] = field(default_factory=dict)
    contexts: dict[str, Sourced[KubeconfigContext]] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The paths of the files, for messages."""
        return ", ".join(str(file) for file in self.files)


def read_kubeconfig(paths: tuple[Path, ...]) -> Kubeconfig:
    """Reads and merges the files that exist; raises ConfigError if none does."""
    present = tuple(path for path in paths if path.exists())
    if not present:
        names = ", ".join(str(path) for path in paths)
        raise ConfigError(f"no kubeconfig found at {names}: set KUBECONFIG or use --kubeconfig")
    merged = Kubeconfig(present)
    for path in present:
        _merge(merged, _read(path), path)
    return merged


def _merge(merged: Kubeconfig, found: _File, path: Path) -> None:
    merged.current = merged.current or found.current_context
    for cluster in found.clusters:
        merged.clusters.setdefault(cluster.name, Sourced(cluster.cluster, path))
    for user in found.users:
        merged.users.setdefault(user.name, Sourced(user.user, path))
    for context in found.contexts:
        merged.contexts.setdefault(context.name, Sourced(context.context, path))


def _read(path: Path) -> _File:
    try:
        documents = list(read_documents(read_file(path, "kubeconfig"), str(path)))
    except DocumentError as error:
        raise ConfigError(f"{error.place}: invalid YAML in kubeconfig") from None
    if not documents:
        return _File()
    try:
        return from_json(documents[0].value, _File)
    except DecodeError as error:
        raise ConfigError(f"{path}: invalid kubeconfig: {error}") from None
