"""Limits of the webhook server: size of a review, time to send it, buffers, processing slots, connections.

The numbers follow from what an API server sends. It takes requests of up to 3 MiB and stores objects of up to 1.5 MiB,
so an AdmissionReview, which has the old and the new object, stays below 8 MiB. It converts objects one by one as it
reads them from storage; a ConversionReview of a page of a list is allowed too.
"""

from dataclasses import dataclass
from typing import Final

MAX_REVIEW: Final = 8 * 2**20
"""Bytes of a review: two objects of 3 MiB, the limit of an API server's requests, and what surrounds them."""
MAX_OBJECTS: Final = 5000
"""Objects of a ConversionReview: ten pages of a list as client-go reads them."""
LARGE: Final = 128 * 1024
"""Bytes from which a review is large: few are processed at once, and away from the event loop where possible."""


@dataclass(frozen=True, slots=True)
class WebhookLimits:
    """Bounds on memory and time that all clients share."""

    review: int = MAX_REVIEW
    """Bytes of one review."""
    buffered: int = 64 * 2**20
    """Bytes of all reviews that are being received, wait for a slot, or are processed."""
    idle_seconds: float = 2.0
    """Longest pause between two parts of a body."""
    body_seconds: float = 10.0
    """Longest time to send a body: the timeout of the admission webhooks, after which API servers do not wait."""
    handshake_seconds: float = 5.0
    """Longest time for a TLS handshake."""
    large_at_once: int = 2
    """Large reviews processed at the same time."""
    small_at_once: int = 32
    """Other reviews processed at the same time."""
    connections: int = 512
    """Open connections; above it, the one that has waited longest for its client is closed."""


DEFAULT_LIMITS: Final = WebhookLimits()
