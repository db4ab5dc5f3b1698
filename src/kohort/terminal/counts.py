"""Counts with their nouns, for messages and tables."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 node`, `3 nodes`."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"
