"""Sources of the serving certificate: a Secret managed by the manager, or mounted files."""

import asyncio
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kohort.api.codec import Json
from kohort.api.core.config_objects import Secret
from kohort.api.meta import ObjectKey
from kohort.kube.client import Client
from kohort.kube.config.credential_files import RotatingFile
from kohort.kube.config.secrets import KeyPair
from kohort.kube.errors import ConfigError, StatusError
from kohort.webhooks.certificates import (
    CERTIFICATE,
    KEY,
    CertificateError,
    decode_secret,
    renewed_from_secret,
    to_secret,
)

_MAX_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class ServedCertificate:
    """The serving certificate, and the CA bundle that verifies it."""

    key_pair: KeyPair
    bundle: bytes = b""
    """Empty if the CA bundle is injected by something else."""


class CertificateSource(Protocol):
    """Provides the current certificate."""

    @property
    def origin(self) -> str:
        """The origin, for messages."""

    @property
    def pause(self) -> float:
        """Seconds after which to refresh."""

    async def current(self) -> ServedCertificate:
        """The certificate, created or renewed if due. Raises KubeError."""


class SecretSource:
    """Certificates that the manager creates and stores in a Secret for all replicas (`internalCertManagement`)."""

    pause = 600.0

    def __init__(self, client: Client, key: ObjectKey, hosts: Iterable[str]) -> None:
        self.key = key
        self._secrets = client.of(Secret.resource)
        self._clock = client.clock
        self._hosts = tuple(hosts)

    @property
    def origin(self) -> str:
        """The name of the Secret."""
        return f"Secret {self.key}"

    async def current(self) -> ServedCertificate:
        """The Secret's certificates after the next due step; all replicas serve what the first of them wrote."""
        for _ in range(_MAX_ATTEMPTS):
            found = await self._found()
            kept = decode_secret(found.get("data") or {}, self.origin)
            wanted = renewed_from_secret(kept, self._hosts, self._clock.wall(), self.origin)
            data = to_secret(wanted)
            if data == kept or await self._write(found, data):
                return ServedCertificate(wanted.key_pair, wanted.bundle)
        raise CertificateError(f"{self.origin}: too many conflicting writes: check which other client writes it")

    async def _found(self) -> dict[str, Any]:
        try:
            return await self._secrets.get(self.key)
        except StatusError as error:
            if not error.is_not_found:
                raise
            return {}

    async def _write(self, found: dict[str, Any], data: dict[str, bytes]) -> bool:
        """Write the Secret; returns False on a conflict."""
        encoded: Json = {name: b64encode(content).decode() for name, content in data.items()}
        try:
            if found:
                await self._secrets.update({**found, "data": encoded})
            else:
                metadata = {"namespace": self.key.namespace, "name": self.key.name}
                await self._secrets.create({"metadata": metadata, "type": "Opaque", "data": encoded})
        except StatusError as error:
            if error.is_conflict or error.is_already_exists:
                return False
            if error.is_not_found and not found:
                raise CertificateError(f"{self.origin}: {error}: create the namespace first") from None
            raise
        return True


class MountedSource:
    """A key pair in files, mounted and rotated by the kubelet."""

    pause = 10.0

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._certificate = RotatingFile(directory / CERTIFICATE, "webhook certificate")
        self._key = RotatingFile(directory / KEY, "webhook key")

    @property
    def origin(self) -> str:
        """The directory."""
        return str(self._directory)

    async def current(self) -> ServedCertificate:
        """The current content of the files."""
        try:
            return await asyncio.to_thread(self._read)
        except ConfigError as error:
            remedy = "mount the certificate there, or set internalCertManagement.enable=true"
            raise CertificateError(f"{error}; {remedy}") from None

    def _read(self) -> ServedCertificate:
        return ServedCertificate(KeyPair(self._certificate.read(), self._key.read()))
