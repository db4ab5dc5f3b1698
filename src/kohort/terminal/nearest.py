"""The name that somebody probably meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one; empty where none is."""
    by_fold = {each.casefold(): each for each in sorted(known, reverse=True)}
    found = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.6)
    return by_fold[found[0]] if found else ""


MOST_NAMES = 8


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """What to say after "no such thing": the name meant, else those there are, else that there is none."""
    there = sorted(set(known))
    if meant := nearest(name, there):
        return f"did you mean {meant}?"
    if not there:
        return "there is none"
    more = f" and {len(there) - MOST_NAMES} more" if len(there) > MOST_NAMES else ""
    return f"there is {', '.join(there[:MOST_NAMES])}{more}"
