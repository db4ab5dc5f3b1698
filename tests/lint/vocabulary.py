"""Words that must not occur in names, docstrings, comments and messages.

docs/glossary.md has the term to use instead. The list is short on purpose: it holds words that are always wrong here.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

BANNED_WORDS = """
tell tells told telling say says said saying hear hears heard hearing speak speaks spoken speaking
nobody somebody everybody whoever whom whatever he she his her him himself
house household room rooms door doors shelf shelves crowd crowds crew furniture furnish
scribe sentry sidekick landlord stranger strangers meddler twin twins ledger yardstick
wish wishes hunt stir stirred lap laps rehearsal nowhere
"""
PHRASES = (
    "for ever",
    "gives? way",
    "lets? in",
    "thrown out",
    "another look",
    "goes? on",
    "put to rest",
    "at work",
    "takes up",
    "makes of it",
    "of its own accord",
    "block lasts",
)
ALLOWED_TEXTS: frozenset[str] = frozenset()
"""Texts copied verbatim from Kubernetes or Kueue."""

BANNED = frozenset(BANNED_WORDS.split())
PHRASE = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(PHRASES)})(?![A-Za-z])", re.IGNORECASE)
WORD = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(sorted(BANNED))}|{'|'.join(PHRASES)})(?![A-Za-z])", re.IGNORECASE)
PART_OF_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def banned_words(path: str, text: str) -> list[str]:
    """`path:line: word` for each banned word of a module."""
    module_name = path.rpartition("/")[2].removesuffix(".py")
    found = {(1, word) for word in _in_name(module_name)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            found |= {(token.start[0], word) for word in _in_prose(token.string)}
        elif token.type == tokenize.NAME:
            found |= {(token.start[0], f"{word} (in {token.string})") for word in _in_name(token.string)}
    for line, literal in _texts(ast.parse(text)):
        found |= {(line + literal[: match.start()].count("\n"), match[0]) for match in WORD.finditer(literal)}
    return [f"{path}:{line}: {word}" for line, word in sorted(found)]


def _texts(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings and messages with their lines; a literal without a space is data."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if " " in node.value and node.value not in ALLOWED_TEXTS:
            yield node.lineno, node.value


def _in_prose(text: str) -> set[str]:
    return {match[0] for match in WORD.finditer(text)}


def _in_name(name: str) -> set[str]:
    return {part for part in map(str.lower, PART_OF_NAME.findall(name)) if part in BANNED}
