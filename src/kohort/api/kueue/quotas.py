"""Quota quantities in the form in which Kubernetes prints them (API-3)."""

from typing import Any

from kohort.api.quantity import QuantityError, canonical

_QUANTITIES = frozenset({"nominalQuota", "borrowingLimit", "lendingLimit", "weight"})


def canonical_quotas(value: Any) -> Any:
    """A copy of a queue's or cohort's JSON with canonical quantities; invalid ones are unchanged."""
    if isinstance(value, list):
        return [canonical_quotas(item) for item in value]
    if isinstance(value, dict):
        return {
            name: _canonical_or_same(member) if name in _QUANTITIES else canonical_quotas(member)
            for name, member in value.items()
        }
    return value


def _canonical_or_same(value: Any) -> Any:
    try:
        return canonical(value)
    except (QuantityError, TypeError):
        return value
