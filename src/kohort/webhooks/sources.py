"""Where the serving certificate comes from: a Secret that the manager keeps, or files that somebody mounts."""

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
from kohort.webhooks.certificates import CERTIFICATE, KEY, CertificateError, decoded, due, to_secret

_TRIES = 5


@dataclass(frozen=True, slots=True)
class ServedCertificate:
    """What servers show, and what clients verify it by."""

    key_pair: KeyPair
    bundle: bytes = b""
    """Empty where somebody else tells clients whom to trust."""


class CertificateSource(Protocol):
    """What knows the certificate of the moment."""

    @property
    def origin(self) -> str:
        """Its place, for messages."""

    @property
    def pause(self) -> float:
        """Seconds after which to ask again, at the latest."""

    async def current(self) -> ServedCertificate:
        """The certificate; made or renewed where that is due. Raises KubeError."""


class SecretSource:
    """Certificates made here and kept in a Secret, which all replicas share (`internalCertManagement`)."""

    pause = 600.0

    def __init__(self, client: Client, key: ObjectKey, hosts: Iterable[str]) -> None:
        self.key = key
        self._secrets = client.of(Secret.resource)
        self._clock = client.clock
        self._hosts = tuple(hosts)

    @property
    def origin(self) -> str:
        """Which Secret."""
        return f"Secret {self.key}"

    async def current(self) -> ServedCertificate:
        """What the Secret keeps, after whatever step is due; whoever writes first, all serve the same."""
        for _ in range(_TRIES):
            found = await self._found()
            kept = decoded(found.get("data") or {}, self.origin)
            wanted = due(kept, self._hosts, self._clock.wall(), self.origin)
            data = to_secret(wanted)
            if data == kept or await self._wrote(found, data):
                return ServedCertificate(wanted.key_pair, wanted.bundle)
        raise CertificateError(f"{self.origin}: others change it all the time: see who writes it")

    async def _found(self) -> dict[str, Any]:
        try:
            return await self._secrets.get(self.key)
        except StatusError as error:
            if not error.is_not_found:
                raise
            return {}

    async def _wrote(self, found: dict[str, Any], data: dict[str, bytes]) -> bool:
        """Whether nobody else was first."""
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
    """A key pair in files, as cert-manager and kubelet put and replace them."""

    pause = 10.0

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._certificate = RotatingFile(directory / CERTIFICATE, "webhook certificate")
        self._key = RotatingFile(directory / KEY, "webhook key")

    @property
    def origin(self) -> str:
        """Which directory."""
        return str(self._directory)

    async def current(self) -> ServedCertificate:
        """What the files hold now."""
        try:
            return await asyncio.to_thread(self._read)
        except ConfigError as error:
            remedy = "mount the certificate there, or set internalCertManagement.enable=true"
            raise CertificateError(f"{error}; {remedy}") from None

    def _read(self) -> ServedCertificate:
        return ServedCertificate(KeyPair(self._certificate.read(), self._key.read()))
