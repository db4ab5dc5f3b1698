"""A server that runs for years renews what would expire."""

import ssl
from datetime import timedelta
from pathlib import Path

from kit.virtual_time import VirtualClock
from kohort.embedded.auth.keyring import Keyring
from kohort.embedded.server.serving.certificate_rotation import AdminKubeconfig, CertificateRotation, CertificateUsers

HOSTS = ("127.0.0.1",)


def nothing() -> None:
    """Gets no requests."""


def context() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


async def test_certificates_are_renewed_before_they_expire(tmp_path: Path) -> None:
    clock = VirtualClock()
    keyring = Keyring(tmp_path, clock.wall())
    kubeconfig = AdminKubeconfig(tmp_path / "kubeconfig", "https://127.0.0.1:1")
    reported: list[bytes] = []
    shown = CertificateUsers(context(), lambda: reported.append(keyring.front_proxy_certificate.read_bytes()))
    freshness = CertificateRotation(keyring, HOSTS, shown, kubeconfig, clock)

    async def after(days: int) -> list[bytes]:
        await clock.advance(timedelta(days=days).total_seconds())
        await freshness.renew()
        return [keyring.certificate.read_bytes(), kubeconfig.path.read_bytes(), reported[-1]]

    first, later, last = await after(0), await after(200), await after(120)
    assert later == first
    assert all(new != old for new, old in zip(last, first, strict=True))


async def test_files_are_checked_periodically(tmp_path: Path) -> None:
    clock = VirtualClock()
    keyring = Keyring(tmp_path, clock.wall())
    kubeconfig = AdminKubeconfig(tmp_path / "kubeconfig", "https://127.0.0.1:1")
    freshness = CertificateRotation(keyring, HOSTS, CertificateUsers(context(), nothing), kubeconfig, clock)
    await freshness.start()
    assert kubeconfig.path.exists()
    await clock.advance(1)
    assert clock.sleepers == 1
    await freshness.stop()
