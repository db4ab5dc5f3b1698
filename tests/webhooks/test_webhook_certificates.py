"""Certificates that renew themselves in steps: a client with any recent CA bundle verifies the served certificate."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st

from kit.apiserver import InMemoryApiServer
from kohort.api.meta import ObjectKey
from kohort.embedded.auth.users import User
from kohort.kube.certificates import AUTHORITY_LIFE, CertificateAuthority
from kohort.kube.errors import StatusError
from kohort.webhooks.certificates import (
    TRUST_DELAY,
    CertificateError,
    Certificates,
    new_certificates,
    renew,
    renewed_from_secret,
    to_secret,
)
from kohort.webhooks.sources import MountedSource, SecretSource
from webhooks.webhook_harness import NAMESPACE, SECRET, client_of, running_cluster_without_kueue

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOSTS = ("127.0.0.1", "kueue-webhook-service.kueue-system.svc")
DAY = timedelta(days=1)
KEY = ObjectKey(NAMESPACE, "kueue-webhook-server-cert")


def is_verified(shown: x509.Certificate, trusted: bytes, now: datetime) -> bool:
    """As a TLS client judges, but for the host."""
    if not shown.not_valid_before_utc <= now <= shown.not_valid_after_utc:
        return False
    authorities = x509.load_pem_x509_certificates(trusted)
    return any(_signed(shown, each) and each.not_valid_after_utc >= now for each in authorities)


def _signed(shown: x509.Certificate, authority: x509.Certificate) -> bool:
    return shown.issuer == authority.subject


def old_age(found: Certificates) -> datetime:
    """A day on which the authority is to be replaced."""
    return found.authority.certificate.not_valid_after_utc - 30 * DAY


def test_nothing_is_done_before_it_is_due() -> None:
    found = new_certificates(HOSTS, NOW)
    assert renew(found, HOSTS, NOW + 200 * DAY) == found


def test_the_serving_certificate_is_renewed_by_the_same_authority() -> None:
    found = new_certificates(HOSTS, NOW)
    later = renew(found, HOSTS, NOW + 320 * DAY)
    assert later.serving != found.serving
    assert later.bundle == found.bundle
    assert later.serving.hosts == set(HOSTS)


def test_a_new_authority_is_trusted_for_a_while_before_it_signs() -> None:
    found = new_certificates(HOSTS, NOW)
    now = old_age(found)
    announced = renew(found, HOSTS, now)
    assert announced.serving.is_signed_by(found.authority.certificate)
    assert len(announced.trusted) == 2
    assert renew(announced, HOSTS, now + TRUST_DELAY / 2) == announced
    signing = renew(announced, HOSTS, now + TRUST_DELAY)
    assert announced.successor is not None
    assert signing.serving.is_signed_by(announced.successor.certificate)
    assert found.authority.certificate in signing.trusted


def test_an_old_authority_is_dropped_when_it_has_expired() -> None:
    found = new_certificates(HOSTS, NOW)
    now = old_age(found)
    signing = renew(renew(found, HOSTS, now), HOSTS, now + TRUST_DELAY)
    assert found.authority.certificate not in renew(signing, HOSTS, now + 31 * DAY).trusted


def test_after_a_long_suspension_everything_is_renewed() -> None:
    found = new_certificates(HOSTS, NOW)
    later = renew(found, HOSTS, NOW + 2 * AUTHORITY_LIFE)
    assert later.authority != found.authority
    assert later.serving.is_fresh(NOW + 2 * AUTHORITY_LIFE)


def test_replicas_of_different_names_keep_each_others() -> None:
    found = renew(new_certificates(["a"], NOW), ["b"], NOW)
    assert found.serving.hosts == {"a", "b"}
    assert renew(found, ["a"], NOW) == found


def test_a_secret_round_trips() -> None:
    found = new_certificates(HOSTS, NOW)
    found = renew(found, HOSTS, old_age(found))
    again = renewed_from_secret(to_secret(found), HOSTS, old_age(found), "Secret x")
    assert to_secret(again) == to_secret(found)


moments = st.timedeltas(min_value=timedelta(minutes=1), max_value=timedelta(hours=1))
days = st.timedeltas(min_value=DAY, max_value=40 * DAY)


@given(pauses=st.lists(moments | days, min_size=1, max_size=30), left=moments)
def test_the_served_certificate_is_verified_by_clients_with_an_older_ca_bundle(
    pauses: list[timedelta], left: timedelta
) -> None:
    """And an older certificate by clients with the newest bundle; starts shortly before the CA is replaced.

    A renewal is checked every forty days at least.
    """
    now = NOW
    found = renew(new_certificates(HOSTS, now - AUTHORITY_LIFE + 60 * DAY + left), HOSTS, now)
    history = [(now, found)]
    for pause in pauses:
        now += pause
        found = renew(found, HOSTS, now)
        history = [(at, each) for at, each in history if now - at < TRUST_DELAY] + [(now, found)]
        for _, each in history:
            assert is_verified(found.serving.certificate, each.bundle, now)
            assert is_verified(each.serving.certificate, found.bundle, now)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tls.crt": b""}, r"invalid certificates: no tls.crt"),
        ({"tls.key": b"nonsense"}, r"invalid certificates: "),
        ({"ca.crt": b"nonsense"}, r"invalid certificates: "),
        ({"tls.key": CertificateAuthority.create(NOW).pair.key_pem}, "the private key does not match the certificate"),
    ],
)
def test_a_damaged_secret_is_reported_in_one_line(change: dict[str, bytes], message: str) -> None:
    data = {**to_secret(new_certificates(HOSTS, NOW)), **change}
    with pytest.raises(CertificateError, match=message) as caught:
        renewed_from_secret(data, HOSTS, NOW, "Secret kueue-system/x")
    assert str(caught.value).startswith("Secret kueue-system/x: ")
    assert "\n" not in str(caught.value)


NUMBERED_0 = b"""\
-----BEGIN CERTIFICATE-----
MIIBajCCARCgAwIBAgIBADAKBggqhkjOPQQDAjATMREwDwYDVQQDDAhrdWV1ZS1j
YTAgFw0yNjExMTYxNTA5MzZaGA8yMTI2MTAyMzE1MDkzNlowEzERMA8GA1UEAwwI
a3VldWUtY2EwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQsXPiu9GLQZWL+88K4
nWYuUY/UPJsSe+/7h3t7Ps/anLfqfeJ1INPJZCadoldNsTjulIRWj3ox2d0EG/RQ
LdTco1MwUTAdBgNVHQ4EFgQUMKKYmuVM6pepQ9odM0UJIgWvWuQwHwYDVR0jBBgw
FoAUMKKYmuVM6pepQ9odM0UJIgWvWuQwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjO
PQQDAgNIADBFAiEAx9QzsbTi/BNIQokvDGw1ZtDRU507zHaPNXy863JRujoCIFfC
iGvIPZbuKw8blAUvo0PmsL0kBr3JGZead2bl4J8q
-----END CERTIFICATE-----
"""
"""An authority with the serial number that Kueue gives its own."""


def test_certificates_that_kueue_made_are_replaced() -> None:
    """Without inspecting them: a warning of the library would be an error here."""
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    key = rsa.generate_private_key(65537, 2048).private_bytes(*form)
    data = {"ca.crt": NUMBERED_0, "ca.key": key, "tls.crt": NUMBERED_0, "tls.key": key}
    found = renewed_from_secret(data, HOSTS, NOW, "Secret x")
    assert found.trusted == (found.authority.certificate,)
    assert to_secret(renewed_from_secret(to_secret(found), HOSTS, NOW, "Secret x")) == to_secret(found)


# Kept in a Secret, by several replicas


async def test_replicas_share_what_the_first_has_made() -> None:
    async with running_cluster_without_kueue() as cluster:
        one, other = (SecretSource(client_of(cluster), KEY, HOSTS) for _ in range(2))
        assert await one.current() == await other.current()


async def test_an_empty_secret_is_filled() -> None:
    async with running_cluster_without_kueue() as cluster:
        metadata = {"name": KEY.name, "namespace": NAMESPACE}
        await cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
        await SecretSource(client_of(cluster), KEY, HOSTS).current()
        assert set((await cluster.get(SECRET))["data"]) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}


class _Slow(SecretSource):
    """A replica that is always second."""

    def __init__(self, cluster: InMemoryApiServer) -> None:
        super().__init__(client_of(cluster), KEY, HOSTS)
        self.other = SecretSource(client_of(cluster), KEY, HOSTS)

    async def _found(self) -> dict[str, object]:
        found = await super()._found()
        await self.other.current()
        return found


async def test_the_replica_that_comes_second_takes_what_the_first_wrote() -> None:
    async with running_cluster_without_kueue() as cluster:
        slow = _Slow(cluster)
        assert await slow.current() == await slow.other.current()


async def test_without_its_namespace_the_error_names_the_command_to_create_it() -> None:
    async with running_cluster_without_kueue() as cluster:
        source = SecretSource(client_of(cluster), ObjectKey("missing", "x"), HOSTS)
        with pytest.raises(CertificateError, match=r'Secret missing/x: .*"missing" not found: create the namespace'):
            await source.current()


async def test_without_permissions_the_error_of_the_server_is_passed_on() -> None:
    async with running_cluster_without_kueue() as cluster:
        client = client_of(cluster, user=User("unprivileged"))
        with pytest.raises(StatusError, match="secrets"):
            await SecretSource(client, KEY, HOSTS).current()


# Mounted files


async def test_mounted_files_are_read_again_when_they_were_replaced(tmp_path: Path) -> None:
    source = MountedSource(tmp_path)
    shown = []
    for _ in range(2):
        found = new_certificates(HOSTS, NOW)
        for name, content in to_secret(found).items():
            (tmp_path / f".{name}").write_bytes(content)
            (tmp_path / f".{name}").replace(tmp_path / name)
        shown.append((await source.current()).key_pair)
        assert shown[-1] == found.key_pair
    assert shown[0] != shown[1]


async def test_a_missing_file_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CertificateError) as caught:
        await MountedSource(tmp_path).current()
    assert str(caught.value) == (
        f"cannot read webhook certificate {tmp_path}/tls.crt: No such file or directory; "
        f"mount the certificate there, or set internalCertManagement.enable=true"
    )
