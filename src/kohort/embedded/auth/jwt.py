"""JSON Web Tokens (ES256) for service accounts."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from hashlib import sha256

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kohort.api.codec import Json

_PART = 32
_ALGORITHM = "ES256"
MAX_TOKEN = 16384


class TokenError(Exception):
    """An invalid token; the message has the cause, never the token."""


def _write(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _read(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Signer:
    """Signs and verifies claims."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        self._public = key.public_key()
        numbers = self._public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self.key_id = _write(sha256(numbers).digest())[:43]
        self._coordinates = numbers[1:]

    @property
    def jwk(self) -> dict[str, Json]:
        """The public key as a JWK."""
        x, y = self._coordinates[:_PART], self._coordinates[_PART:]
        head = {"use": "sig", "kty": "EC", "kid": self.key_id, "crv": "P-256", "alg": _ALGORITHM}
        return {**head, "x": _write(x), "y": _write(y)}

    def sign(self, claims: dict[str, Json]) -> str:
        """A token with the claims."""
        head = {"alg": _ALGORITHM, "kid": self.key_id}
        text = f"{_write(msgspec.json.encode(head))}.{_write(msgspec.json.encode(claims))}"
        r, s = decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{_write(r.to_bytes(_PART, 'big') + s.to_bytes(_PART, 'big'))}"

    def verify(self, token: str) -> dict[str, Json]:
        """The claims of a token signed by this signer."""
        try:
            head, claims, signature = token.split(".")
            raw = _read(signature)
            header = msgspec.json.decode(_read(head), type=dict[str, Json])
            if header.get("alg") != _ALGORITHM or len(raw) != 2 * _PART:
                raise TokenError("the token has an unsupported algorithm")
            r, s = int.from_bytes(raw[:_PART], "big"), int.from_bytes(raw[_PART:], "big")
            signed = f"{head}.{claims}".encode()
            self._public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(hashes.SHA256()))
            return msgspec.json.decode(_read(claims), type=dict[str, Json])
        except InvalidSignature:
            raise TokenError("the token has an invalid signature") from None
        except (ValueError, Base64Error, msgspec.DecodeError, UnicodeError, RecursionError):
            raise TokenError("not a token") from None
