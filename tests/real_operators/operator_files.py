"""Files and ports of an operator that runs outside a pod."""

import base64
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from cryptography.hazmat.primitives.asymmetric import rsa

from cluster.access import write_secret
from kit.pki import KeyPair, ThrowawayCa
from kit.ports import LOOPBACK, free_port

Json = Any
_KEY_BITS: Final = 2048
"""Operators that manage their own certificate read keys of authorities only if these are RSA."""


@dataclass(frozen=True, slots=True)
class OperatorFiles:
    """The folder of a running operator, its ports, and the certificate of its webhooks."""

    folder: Path
    authority: ThrowawayCa
    certificate: KeyPair
    health: int = field(default_factory=free_port)
    webhook: int = field(default_factory=free_port)

    @classmethod
    def create(cls, parent: Path, authority: str, names: tuple[str, ...]) -> Self:
        """A folder with the certificate for loopback and further names, signed by an authority of this name."""
        signer = ThrowawayCa.create(authority, rsa.generate_private_key(65537, _KEY_BITS))
        pair = signer.server(LOOPBACK, "localhost", *names)
        found = cls(Path(tempfile.mkdtemp(dir=parent)), signer, pair)
        found.certificates.mkdir(parents=True)
        write_secret(found.certificates / "tls.crt", pair.certificate)
        write_secret(found.certificates / "tls.key", pair.key)
        return found

    @property
    def certificates(self) -> Path:
        """Where controller-runtime finds the certificate by default, because `TMPDIR` is the folder."""
        return self.folder / "k8s-webhook-server" / "serving-certs"

    def secret(self, namespace: str, name: str) -> Json:
        """The same as the Secret that an operator makes for itself."""
        signer, pair = self.authority.pair, self.certificate
        data = {"ca.crt": signer.certificate, "ca.key": signer.key, "tls.crt": pair.certificate, "tls.key": pair.key}
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        metadata = {"namespace": namespace, "name": name}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}

    def write_config(self, content: Json) -> str:
        """The flag that names a configuration file with this content; JSON is YAML."""
        file = self.folder / "config.yaml"
        file.write_text(json.dumps(content))
        return f"--config={file}"
