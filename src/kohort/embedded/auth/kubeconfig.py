"""Writes kubeconfig files with one context and inline credentials, readable by their owner only."""

from base64 import b64encode
from pathlib import Path

import yaml

from kohort.embedded.auth.files import write_private
from kohort.kube.certificates import CertificatePair

NAME = "kohort"


def write_kubeconfig(path: Path, server: str, authority: bytes, client: CertificatePair) -> None:
    """Writes a kubeconfig for a user with a client certificate."""
    cluster = {"server": server, "certificate-authority-data": _inline(authority)}
    user = {
        "client-certificate-data": _inline(client.certificate_pem),
        "client-key-data": _inline(client.key_pem),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME}}],
        "current-context": NAME,
    }
    write_private(path, yaml.safe_dump(config, sort_keys=False).encode())


def _inline(data: bytes) -> str:
    return b64encode(data).decode()
