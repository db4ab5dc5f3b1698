"""Certificates, tokens and kubeconfigs: made once, kept private, renewed in time."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography.x509.verification import PolicyBuilder, Store
from hypothesis import given
from hypothesis import strategies as st

from kohort.embedded.auth.certificates import (
    CertificateFileError,
    FileCertificateAuthority,
    certificate_user,
    read_pair,
)
from kohort.embedded.auth.jwt import Signer, TokenError
from kohort.embedded.auth.keyring import Keyring
from kohort.embedded.auth.kubeconfig import write_kubeconfig
from kohort.embedded.auth.users import AUTHENTICATED, User
from kohort.kube.certificates import CertificatePair, new_key

NOW = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_secrets_are_for_their_owner_alone(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path / "keys", NOW)
    keyring.ensure_serving(["127.0.0.1", "localhost"], NOW)
    keyring.ensure_front_proxy(NOW)
    keyring.signer()
    write_kubeconfig(tmp_path / "kubeconfig", "https://x", b"ca", keyring.client(User("me"), NOW))
    files = [*(tmp_path / "keys").iterdir(), tmp_path / "kubeconfig"]
    assert len(files) == 10
    assert {mode(each) for each in files} == {0o600}
    assert mode(tmp_path / "keys") == 0o700


def test_keys_stay_until_they_are_about_to_expire(tmp_path: Path) -> None:
    def certificate(now: datetime) -> bytes:
        keyring = Keyring(tmp_path, now)
        keyring.ensure_serving(["127.0.0.1"], now)
        return keyring.certificate.read_bytes()

    first = certificate(NOW)
    assert certificate(NOW + YEAR / 2) == first
    assert certificate(NOW + YEAR - timedelta(days=30)) != first


def test_keys_of_a_clock_that_was_ahead_are_replaced(tmp_path: Path) -> None:
    Keyring(tmp_path, NOW + timedelta(days=2)).ensure_serving(["127.0.0.1"], NOW + timedelta(days=2))
    keyring = Keyring(tmp_path, NOW)
    keyring.ensure_serving(["127.0.0.1"], NOW)
    served = read_pair(keyring.certificate, keyring.key)
    assert served.is_signed_by(keyring.authority.pair.certificate)
    for pair in (served, keyring.authority.pair, keyring.front_proxy_authority.pair):
        assert pair.certificate.not_valid_before_utc <= NOW


def test_what_other_servers_see_is_signed_by_an_authority_of_its_own_and_renewed(tmp_path: Path) -> None:
    def shown(now: datetime) -> CertificatePair:
        keyring = Keyring(tmp_path, now)
        keyring.ensure_front_proxy(now)
        pair = read_pair(keyring.front_proxy_certificate, keyring.front_proxy_key)
        assert pair.is_signed_by(keyring.front_proxy_authority.pair.certificate)
        assert not pair.is_signed_by(keyring.authority.pair.certificate)
        return pair

    first = shown(NOW)
    assert shown(NOW + YEAR / 2).certificate == first.certificate
    assert shown(NOW + YEAR - timedelta(days=30)).certificate != first.certificate
    (tmp_path / "front-proxy-ca.crt").unlink()
    assert shown(NOW).certificate != first.certificate


def test_a_new_name_gets_a_new_certificate(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path, NOW)
    keyring.ensure_serving(["127.0.0.1"], NOW)
    first = keyring.certificate.read_bytes()
    keyring.ensure_serving(["127.0.0.1", "gpu.example"], NOW)
    assert keyring.certificate.read_bytes() != first


def test_a_damaged_key_is_reported_by_its_file(tmp_path: Path) -> None:
    Keyring(tmp_path, NOW)
    (tmp_path / "ca.key").write_text("nonsense")
    with pytest.raises(CertificateFileError, match=r"ca\.key: not a private key"):
        Keyring(tmp_path, NOW)


def test_what_the_authority_signs_can_be_verified() -> None:
    authority = FileCertificateAuthority.create(NOW)
    pair = authority.client(User("jane", ("team-a", AUTHENTICATED)), NOW)
    trust = Store([authority.pair.certificate])
    policy = PolicyBuilder().store(trust).time(NOW).build_client_verifier
    assert pair.certificate.issuer == authority.pair.certificate.subject
    assert callable(policy)
    names = {each.rfc4514_attribute_name: each.value for each in pair.certificate.subject}
    assert names == {"O": "team-a", "CN": "jane"}


def test_a_certificate_names_its_user() -> None:
    subject = ((("organizationName", "team-a"),), (("commonName", "jane"),))
    assert certificate_user({"subject": subject}) == User("jane", ("team-a", AUTHENTICATED))
    assert certificate_user({"subject": ()}) is None


def test_a_kubeconfig_is_whole(tmp_path: Path) -> None:
    authority = FileCertificateAuthority.create(NOW)
    path = tmp_path / "config"
    write_kubeconfig(path, "https://127.0.0.1:1", authority.pem, authority.client(User("me"), NOW))
    config = yaml.safe_load(path.read_text())
    assert config["current-context"] == config["contexts"][0]["name"]
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"


SIGNER = Signer(new_key())


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=10), max_size=4))
def test_a_token_contains_what_was_signed(claims: dict[str, str]) -> None:
    assert SIGNER.verify(SIGNER.sign(dict(claims))) == claims


@given(st.text(max_size=80))
def test_no_text_is_a_token_by_accident(text: str) -> None:
    with pytest.raises(TokenError):
        SIGNER.verify(text)


def test_a_token_of_another_owner_proves_nothing() -> None:
    token = Signer(new_key()).sign({"sub": "me"})
    with pytest.raises(TokenError, match="invalid signature"):
        SIGNER.verify(token)


def test_a_changed_token_proves_nothing() -> None:
    head, _, signature = SIGNER.sign({"sub": "me"}).split(".")
    _, claims, _ = SIGNER.sign({"sub": "you"}).split(".")
    with pytest.raises(TokenError):
        SIGNER.verify(f"{head}.{claims}.{signature}")
