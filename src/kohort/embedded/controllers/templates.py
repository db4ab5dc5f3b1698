"""Hashes of templates for object names."""

from hashlib import sha256

import msgspec

from kohort.api.codec import Json

HASH_LENGTH = 10
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Letters and digits that form no words (Kubernetes' safe alphabet)."""


def short_hash(content: Json, collisions: int | None) -> str:
    """A hash of the content and the collision count."""
    number = int.from_bytes(sha256(msgspec.json.encode([content, collisions or 0], order="deterministic")).digest())
    digits = []
    for _ in range(HASH_LENGTH):
        number, digit = divmod(number, len(_LETTERS))
        digits.append(_LETTERS[digit])
    return "".join(digits)
