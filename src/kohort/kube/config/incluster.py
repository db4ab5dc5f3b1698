"""In-cluster configuration from the service account mounted into the pod."""

from collections.abc import Mapping
from pathlib import Path

from kohort.kube.config.client_config import ClientConfig, ServerTrust
from kohort.kube.config.credential_files import RotatingFile
from kohort.kube.config.credentials import StaticCredentials
from kohort.kube.errors import ConfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def is_in_cluster(environment: Mapping[str, str]) -> bool:
    """Whether the process runs in a pod with the API server's address in its environment."""
    return bool(environment.get("KUBERNETES_SERVICE_HOST") and environment.get("KUBERNETES_SERVICE_PORT"))


def in_cluster(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> ClientConfig:
    """The configuration of the pod's service account; its token is read again when it rotates."""
    if not is_in_cluster(environment):
        raise ConfigError("not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    token, authority = folder / "token", folder / "ca.crt"
    if not token.exists():
        raise ConfigError(f"{token} not found: mount the service account token (automountServiceAccountToken)")
    host = environment["KUBERNETES_SERVICE_HOST"]
    address = f"[{host}]" if ":" in host else host
    return ClientConfig(
        server=f"https://{address}:{environment['KUBERNETES_SERVICE_PORT']}",
        credentials=StaticCredentials(token=RotatingFile(token, "service account token")),
        trust=ServerTrust(RotatingFile(authority, "certificate authority") if authority.exists() else None),
        namespace=_namespace(folder / "namespace"),
        origin=f"service account in {folder}",
    )


def _namespace(file: Path) -> str:
    try:
        return file.read_text().strip() or "default"
    except OSError:
        return "default"
