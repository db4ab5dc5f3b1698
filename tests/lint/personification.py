"""Words that must not occur in names and docstrings of tests.

A test's name states a subject and its behavior, and a program doesn't ask, know or want. Other functions may ask a
user: that is why `vocabulary` does not hold these words.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

from lint.vocabulary import PART_OF_NAME, PHRASE

BANNED_WORDS: Final = """
ask asks asked asking know knows knew want wants wanted think thinks learn learns believe believes believed
forget forgets forgot forgotten remember remembers remembered stand stands fate story stories
"""
IN_TESTS: Final = frozenset(BANNED_WORDS.split())
IN_NAMES: Final = IN_TESTS | {"who", "answer", "answers", "answered", "lets"}
"""Docstrings may have a user who does something; a name has its subject instead."""

_WORD = re.compile(rf"(?<![A-Za-z-])(?:{'|'.join(sorted(IN_TESTS))})(?![A-Za-z-])", re.IGNORECASE)


def personifications(path: str, text: str) -> list[str]:
    """`path:line: word` for each of the words in the names and docstrings of a module of tests."""
    module_name = path.rpartition("/")[2].removesuffix(".py")
    found = {(1, word) for word in _in_name(module_name)}
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                found |= {(node.lineno, f"{word} (in {name})") for word in _in_name(name)}
            case ast.ClassDef(name=name):
                found |= {(node.lineno, f"{word} (in {name})") for word in _in_name(name)}
            case ast.Expr(value=ast.Constant(value=str(docstring))):
                found |= {(node.lineno + line, word) for line, word in _in_docstring(docstring)}
    return [f"{path}:{line}: {word}" for line, word in sorted(found)]


def _in_name(name: str) -> set[str]:
    parts = [part.lower() for part in PART_OF_NAME.findall(name)]
    return {part for part in parts if part in IN_NAMES} | {match[0] for match in PHRASE.finditer(" ".join(parts))}


def _in_docstring(text: str) -> Iterator[tuple[int, str]]:
    for match in _WORD.finditer(text):
        yield text[: match.start()].count("\n"), match[0]
