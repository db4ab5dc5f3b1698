"""Suggestions for misspelled names."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most similar; empty if none is."""
    by_fold = {each.casefold(): each for each in sorted(known, reverse=True)}
    found = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return by_fold[found[0]] if found else ""


MAX_NAMES = 8


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The hint for a name that was not found: the most similar name, or the available ones."""
    there = sorted(set(known))
    if meant := nearest(name, there):
        return f"did you mean {meant}?"
    if not there:
        return "none available"
    more = f" and {len(there) - MAX_NAMES} more" if len(there) > MAX_NAMES else ""
    return f"available: {', '.join(there[:MAX_NAMES])}{more}"
