"""The connection flags of kubectl, before or after the command name (API-152)."""

import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from kohort.api.errors import ApiError
from kohort.cli.job_builder import seconds_of
from kohort.cli.options import ClusterOptions, running_client, with_options
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock
from kohort.kube.config import ClientConfig, Impersonation, default_kubeconfig_paths
from kohort.kube.config.credential_files import RotatingFile
from kohort.kube.config.credentials import StaticCredentials
from kohort.kube.config.file import read_kubeconfig
from kohort.kube.config.kubeconfig import kubeconfig_access
from kohort.kube.config.secrets import SecretValue
from kohort.kube.errors import ConfigError

R = TypeVar("R")
_MIXED = "kubectl-kueue"


@dataclass(frozen=True, slots=True)
class ConnectionFlags:
    """Server and credentials."""

    kubeconfig: Path | None = None
    context: str = ""
    namespace: str = ""
    cluster: str = ""
    user: str = ""
    server: str = ""
    token: str = ""
    as_user: str = ""
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    request_timeout: str = "0"
    insecure_skip_tls_verify: bool = False
    certificate_authority: Path | None = None
    client_certificate: Path | None = None
    client_key: Path | None = None
    tls_server_name: str = ""

    def access(self) -> ClientConfig:
        """The client configuration; raises an ApiError with the remedy."""
        try:
            found = self._mixed() if self.cluster or self.user else self._where().access()
        except ConfigError as error:
            raise ApiError(str(error)) from None
        return replace(
            found,
            server=self.server.rstrip("/") or found.server,
            trust=self._trust(found),
            credentials=self._credentials() or found.credentials,
            impersonation=self._impersonation() or found.impersonation,
            namespace=self.namespace or found.namespace,
        )

    @asynccontextmanager
    async def client(self, access: ClientConfig) -> AsyncIterator[Client]:
        """A client of the server with the request timeout."""
        seconds = seconds_of(self.request_timeout, "--request-timeout")
        async with running_client(access) as client:
            yield replace(client, timeout=float(seconds)) if seconds else client

    def _where(self) -> ClusterOptions:
        return ClusterOptions(self.kubeconfig, self.context, self.namespace)

    def _mixed(self) -> ClientConfig:
        """The configuration for --cluster and --user, by a temporary context that combines them."""
        paths = (self.kubeconfig,) if self.kubeconfig else default_kubeconfig_paths(os.environ)
        found = read_kubeconfig(paths)
        base = found.contexts.get(self.context or found.current)
        cluster = self.cluster or (base.value.cluster if base else "")
        user = self.user or (base.value.user if base else "")
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(f"contexts: [{{name: {_MIXED}, context: {{cluster: {cluster!r}, user: {user!r}}}}}]\n")
            file.flush()
            return kubeconfig_access((Path(file.name), *paths), _MIXED, dict(os.environ), SystemClock())

    def _trust(self, found: ClientConfig) -> Any:
        authority = self.certificate_authority
        return replace(
            found.trust,
            authority=RotatingFile(authority, "--certificate-authority") if authority else found.trust.authority,
            server_name=self.tls_server_name or found.trust.server_name,
            insecure=self.insecure_skip_tls_verify or found.trust.insecure,
        )

    def _credentials(self) -> StaticCredentials | None:
        if (self.client_certificate is None) is not (self.client_key is None):
            raise ApiError("--client-certificate and --client-key must be used together")
        if not self.token and self.client_certificate is None:
            return None
        return StaticCredentials(
            fallback_token=SecretValue(self.token) if self.token else None,
            certificate=RotatingFile(self.client_certificate, "--client-certificate")
            if self.client_certificate
            else None,
            key=RotatingFile(self.client_key, "--client-key") if self.client_key else None,
        )

    def _impersonation(self) -> Impersonation | None:
        if not self.as_user and (self.as_groups or self.as_uid):
            raise ApiError("--as-group and --as-uid require --as")
        return Impersonation(self.as_user, self.as_uid, self.as_groups) if self.as_user else None


_FILE = click.Path(path_type=Path, dir_okay=False)
_OPTIONS = (
    click.option("-n", "--namespace", default="", metavar="NAME", help="Namespace to use (default: from the context)."),
    click.option("--kubeconfig", type=_FILE, metavar="FILE", help="Path to the kubeconfig file (default: as kubectl)."),
    click.option("--context", default="", metavar="NAME", help="Name of the kubeconfig context to use."),
    click.option("--cluster", default="", metavar="NAME", help="Name of the kubeconfig cluster to use."),
    click.option("--user", default="", metavar="NAME", help="Name of the kubeconfig user to use."),
    click.option("-s", "--server", default="", metavar="URL", help="Address of the API server."),
    click.option("--token", default="", metavar="TOKEN", help="Bearer token."),
    click.option("--as", "as_user", default="", metavar="USER", help="User to impersonate."),
    click.option("--as-uid", default="", metavar="UID", help="UID to impersonate."),
    click.option("--as-group", "as_groups", multiple=True, metavar="GROUP", help="Group to impersonate; repeatable."),
    click.option("--request-timeout", default="0", metavar="TIME", help="Timeout of a single request (0: default)."),
    click.option("--insecure-skip-tls-verify", is_flag=True, help="Skip verification of the server certificate."),
    click.option(
        "--certificate-authority", type=_FILE, metavar="FILE", help="Path to a CA certificate for the server."
    ),
    click.option("--client-certificate", type=_FILE, metavar="FILE", help="Path to a client certificate."),
    click.option("--client-key", type=_FILE, metavar="FILE", help="Path to its private key."),
    click.option("--tls-server-name", default="", metavar="NAME", help="Name in the server's certificate."),
    # Accepted for compatibility: there is no cache, and responses are never compressed.
    click.option("--cache-dir", expose_value=False, hidden=True),
    click.option("--disable-compression", is_flag=True, expose_value=False, hidden=True),
)


def connection_options(command: Callable[..., R]) -> Callable[..., R]:
    """All of these flags, as the parameter `connection`."""

    @wraps(command)
    def called(*args: Any, **given: Any) -> R:
        own = {field.name: given.pop(field.name) for field in fields(ConnectionFlags)}
        return command(*args, connection=_merged(click.get_current_context(), own), **given)

    return with_options(called, _OPTIONS)


def _merged(context: click.Context, own: dict[str, Any]) -> ConnectionFlags:
    """Flags after the command name override those before it."""
    outer: dict[str, Any] = context.find_root().params if context.parent is not None else {}
    given = {name for name in own if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    return ConnectionFlags(**{name: value if name in given else outer.get(name, value) for name, value in own.items()})
