"""Builds the client configuration from kubeconfig files and a context."""

import base64
from collections.abc import Mapping
from pathlib import Path

from kohort.api.codec import Json
from kohort.kube.clock import Clock
from kohort.kube.config.client_config import ClientConfig, Credentials, Impersonation, ServerTrust
from kohort.kube.config.credential_files import RotatingFile, material
from kohort.kube.config.credentials import StaticCredentials
from kohort.kube.config.exec_plugin import ExecCredentials
from kohort.kube.config.file import (
    Kubeconfig,
    KubeconfigCluster,
    KubeconfigContext,
    KubeconfigUser,
    Sourced,
    read_kubeconfig,
)
from kohort.kube.config.oidc import OidcCredentials
from kohort.kube.config.secrets import SecretValue
from kohort.kube.errors import ConfigError

NO_USER = Sourced(KubeconfigUser(), Path())


def kubeconfig_access(
    paths: tuple[Path, ...], context: str, environment: Mapping[str, str], clock: Clock
) -> ClientConfig:
    """The configuration of a context (empty for the current one) of the merged files; raises ConfigError."""
    found = read_kubeconfig(paths)
    name = context or found.current
    chosen = _context(found, name)
    cluster = _cluster(found, chosen, name)
    user = _user(found, chosen, name)
    return ClientConfig(
        server=cluster.value.server.rstrip("/"),
        credentials=_credentials(user, cluster, environment, clock),
        trust=_trust(cluster),
        proxy=cluster.value.proxy_url,
        impersonation=_impersonation(user.value),
        namespace=chosen.namespace or "default",
        origin=f"context {name!r} of {found.shown}",
    )


def _context(found: Kubeconfig, name: str) -> KubeconfigContext:
    if name in found.contexts:
        return found.contexts[name].value
    if not name:
        raise ConfigError(f"{found.shown}: current-context is not set: choose one with `kubectl config use-context`")
    known = ", ".join(sorted(found.contexts)) or "none"
    raise ConfigError(f"{found.shown}: context {name!r} not found, available: {known}")


def _cluster(found: Kubeconfig, context: KubeconfigContext, name: str) -> Sourced[KubeconfigCluster]:
    cluster = found.clusters.get(context.cluster)
    if cluster is None:
        raise ConfigError(f"{found.shown}: cluster {context.cluster!r} of context {name!r} not found")
    if not cluster.value.server.startswith(("https://", "http://")):
        raise ConfigError(f"{cluster.file}: cluster {context.cluster!r} has no server: set its https:// address")
    return cluster


def _user(found: Kubeconfig, context: KubeconfigContext, name: str) -> Sourced[KubeconfigUser]:
    if not context.user:
        return NO_USER
    user = found.users.get(context.user)
    if user is None:
        raise ConfigError(f"{found.shown}: user {context.user!r} of context {name!r} not found")
    return user


def _trust(cluster: Sourced[KubeconfigCluster]) -> ServerTrust:
    value, base = cluster.value, cluster.file.parent
    if value.insecure_skip_tls_verify and (value.certificate_authority or value.certificate_authority_data):
        raise ConfigError(f"{cluster.file}: insecure-skip-tls-verify and certificate-authority are mutually exclusive")
    authority = material(value.certificate_authority_data, value.certificate_authority, base, "certificate-authority")
    return ServerTrust(authority, value.tls_server_name, value.insecure_skip_tls_verify)


def _credentials(
    user: Sourced[KubeconfigUser], cluster: Sourced[KubeconfigCluster], environment: Mapping[str, str], clock: Clock
) -> Credentials:
    value = user.value
    if value.exec is not None:
        described = _described(cluster) if value.exec.provide_cluster_info else None
        return ExecCredentials(value.exec, user.file, described, environment, clock)
    if value.auth_provider is not None:
        return _provided(value, user.file, clock)
    return _static(user)


def _provided(user: KubeconfigUser, file: Path, clock: Clock) -> Credentials:
    provider = user.auth_provider
    if provider is None or provider.name != "oidc":
        name = provider.name if provider else ""
        raise ConfigError(f"{file}: auth-provider {name!r} is no longer supported by Kubernetes: use its exec plugin")
    return OidcCredentials(provider.config, file, clock)


def _static(user: Sourced[KubeconfigUser]) -> StaticCredentials:
    value, base = user.value, user.file.parent
    certificate = material(value.client_certificate_data, value.client_certificate, base, "client-certificate")
    key = material(SecretValue(value.client_key_data), value.client_key, base, "client-key")
    if (certificate is None) is not (key is None):
        raise ConfigError(f"{user.file}: client-certificate and client-key must be set together")
    return StaticCredentials(
        token=RotatingFile(base / value.token_file, "tokenFile") if value.token_file else None,
        fallback_token=SecretValue(value.token) if value.token else None,
        username=value.username,
        password=SecretValue(value.password) if value.password else None,
        certificate=certificate,
        key=key,
    )


def _impersonation(user: KubeconfigUser) -> Impersonation:
    if not user.as_user and (user.as_groups or user.as_uid or user.as_user_extra):
        raise ConfigError("as-groups, as-uid and as-user-extra require `as`: set the user to impersonate")
    return Impersonation(user.as_user, user.as_uid, user.as_groups, user.as_user_extra)


def _described(cluster: Sourced[KubeconfigCluster]) -> Json:
    """The cluster as exec plugins get it in KUBERNETES_EXEC_INFO."""
    value = cluster.value
    authority = _trust(cluster).authority
    described = {
        "server": value.server,
        "tls-server-name": value.tls_server_name,
        "insecure-skip-tls-verify": value.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority.read()).decode() if authority else "",
        "proxy-url": value.proxy_url,
        "config": value.exec_config,
    }
    return {name: given for name, given in described.items() if given}
