"""Merges two variants of objects into one template with conditions where they differ."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile

from kohort.api.codec import Json
from kohort.install.text import to_documents


def if_block(condition: str, text: str, otherwise: str = "") -> str:
    """A template block: `text` if the condition holds, else `otherwise`."""
    if not text:
        return if_block(f"not {condition}", otherwise)
    other = f"{{{{- else }}}}\n{otherwise}" if otherwise else ""
    return f"{{{{- if {condition} }}}}\n{text}{other}{{{{- end }}}}\n"


def merged(condition: str, found: Sequence[Json], otherwise: Sequence[Json]) -> str:
    """A template for both variants; one of them has all objects of the other, in the same order."""
    variants = [{_identity(each): to_documents([each]) for each in objects} for objects in (found, otherwise)]
    return "".join(
        _either(condition, *(variant.get(each, "") for variant in variants)) for each in max(variants, key=len)
    )


def _identity(found: Json) -> tuple[str, str]:
    return found["kind"], found["metadata"]["name"]


def _either(condition: str, text: str, otherwise: str) -> str:
    if not (text and otherwise):
        return if_block(condition, text, otherwise)
    return "".join(_diff_blocks(condition, text.splitlines(keepends=True), otherwise.splitlines(keepends=True)))


def _diff_blocks(condition: str, lines: list[str], others: list[str]) -> Iterator[str]:
    """Common lines, and conditional blocks where the variants differ."""
    # Most variants differ in one place only; skipping the common prefix keeps the matcher fast.
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(lines, others, strict=False)))
    yield from lines[:shared]
    lines, others = lines[shared:], others[shared:]
    for step, start, end, other_start, other_end in SequenceMatcher(None, lines, others, autojunk=False).get_opcodes():
        text = "".join(lines[start:end])
        yield text if step == "equal" else if_block(condition, text, "".join(others[other_start:other_end]))
