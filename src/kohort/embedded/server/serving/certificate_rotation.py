"""Rotates the server's certificates before they expire."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kohort.embedded.auth.keyring import Keyring
from kohort.embedded.auth.kubeconfig import write_kubeconfig
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, User
from kohort.kube.certificates import CertificatePair
from kohort.kube.clock import Clock

ADMINISTRATOR = User("kubernetes-admin", (MASTERS, AUTHENTICATED))
_EVERY = 12 * 3600.0


@dataclass(frozen=True, slots=True)
class AdminKubeconfig:
    """Path of the administrator's kubeconfig, and the server in it."""

    path: Path
    url: str


@dataclass(frozen=True, slots=True)
class CertificateUsers:
    """Users of certificates, which reload them after renewal."""

    context: ssl.SSLContext
    """TLS context of the listener."""
    renew_front_proxy: Callable[[], None]
    """Reloads the front-proxy client certificate."""


class CertificateRotation:
    """Renews the certificates of the server and the administrator."""

    def __init__(
        self, keyring: Keyring, hosts: Sequence[str], shown: CertificateUsers, kubeconfig: AdminKubeconfig, clock: Clock
    ) -> None:
        self._keyring = keyring
        self._hosts = hosts
        self._shown = shown
        self._kubeconfig = kubeconfig
        self._clock = clock
        self._client: CertificatePair | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Writes the kubeconfig and starts the periodic check."""
        await self.renew()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while True:
            await self._clock.sleep(_EVERY)
            await self.renew()

    async def renew(self) -> None:
        """Renews certificates that are about to expire; open connections keep theirs."""
        now = self._clock.wall()
        await asyncio.to_thread(self._keyring.ensure_serving, self._hosts, now)
        self._shown.context.load_cert_chain(self._keyring.certificate, self._keyring.key)
        await asyncio.to_thread(self._keyring.ensure_front_proxy, now)
        self._shown.renew_front_proxy()
        if self._client is None or not self._client.is_fresh(now):
            self._client = self._keyring.client(ADMINISTRATOR, now)
            authority = self._keyring.authority.pem
            await asyncio.to_thread(
                write_kubeconfig, self._kubeconfig.path, self._kubeconfig.url, authority, self._client
            )

    async def stop(self) -> None:
        """Stops the periodic check."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
