"""Access of a user to a cluster: address, CA and client certificate; as a kubeconfig and as a TLS context."""

import base64
import json
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.pki import KeyPair

Json = Any


@dataclass(frozen=True, slots=True)
class Access:
    """One user of one cluster."""

    address: str
    """Host and port."""
    authority: bytes
    """The certificate that the server's is signed with, in PEM."""
    identity: KeyPair

    def kubeconfig(self) -> Json:
        """What kubectl and client libraries read."""
        authority = base64.b64encode(self.authority).decode()
        cluster = {"server": f"https://{self.address}", "certificate-authority-data": authority}
        identity = self.identity
        user = {"client-certificate-data": identity.encoded_certificate, "client-key-data": identity.encoded_key}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "kohort", "cluster": cluster}],
            "users": [{"name": "kohort", "user": user}],
            "contexts": [{"name": "kohort", "context": {"cluster": "kohort", "user": "kohort"}}],
            "current-context": "kohort",
        }

    def write(self, path: Path) -> Path:
        """The kubeconfig as a file that only its owner reads."""
        return write_secret(path, json.dumps(self.kubeconfig(), indent=2).encode())

    def tls(self) -> ssl.SSLContext:
        """For clients in Python."""
        context = ssl.create_default_context(cadata=self.authority.decode())
        self.identity.load_into(context)
        return context


def write_secret(path: Path, content: bytes) -> Path:
    """A file of mode 0600 from its first moment on."""
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path
