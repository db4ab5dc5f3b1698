"""Objects that depend on a choice, as one template: both variants are written, and where they differ is a condition."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile

from kohort.api.codec import Json
from kohort.install.text import to_documents


def when(condition: str, text: str, otherwise: str = "") -> str:
    """Lines that are there if a condition holds, and others if not."""
    if not text:
        return when(f"not {condition}", otherwise)
    other = f"{{{{- else }}}}\n{otherwise}" if otherwise else ""
    return f"{{{{- if {condition} }}}}\n{text}{other}{{{{- end }}}}\n"


def merged(condition: str, found: Sequence[Json], otherwise: Sequence[Json]) -> str:
    """Documents that depend on a condition; one of the variants has all objects of the other, in the same order."""
    variants = [{_identity(each): to_documents([each]) for each in objects} for objects in (found, otherwise)]
    return "".join(
        _either(condition, *(variant.get(each, "") for variant in variants)) for each in max(variants, key=len)
    )


def _identity(found: Json) -> tuple[str, str]:
    return found["kind"], found["metadata"]["name"]


def _either(condition: str, text: str, otherwise: str) -> str:
    if not (text and otherwise):
        return when(condition, text, otherwise)
    return "".join(_pieces(condition, text.splitlines(keepends=True), otherwise.splitlines(keepends=True)))


def _pieces(condition: str, lines: list[str], others: list[str]) -> Iterator[str]:
    """What both share, and what only one of them has."""
    # Most differ at one place only: the rest need not be searched for a match.
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lines, others, strict=False)))
    yield from lines[:shared]
    lines, others = lines[shared:], others[shared:]
    for step, start, end, other_start, other_end in SequenceMatcher(None, lines, others, autojunk=False).get_opcodes():
        text = "".join(lines[start:end])
        yield text if step == "equal" else when(condition, text, "".join(others[other_start:other_end]))
