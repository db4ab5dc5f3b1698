"""Names of modules and classes in tests: a harness, fixture or double is named after its subject."""

import ast
from typing import Final

from lint.vocabulary import PART_OF_NAME

METAPHORS: Final = frozenset(
    {"bench", "clinic", "desk", "fate", "house", "meddler", "peer", "play", "room", "site", "stage", "theatre"}
    | {"turmoil", "wire", "workshop", "workshops", "world", "worlds"}
)


def harness_faults(path: str, text: str) -> list[str]:
    """`path:line: word` for each metaphor in the name of the module or of a class."""
    module = path.rpartition("/")[2].removesuffix(".py").split("_")
    faults = [f"{path}:1: {word}" for word in module if word in METAPHORS]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            faults += [f"{path}:{node.lineno}: {word} (in {node.name})" for word in _metaphors(node.name)]
    return faults


def _metaphors(name: str) -> list[str]:
    return [part for part in map(str.lower, PART_OF_NAME.findall(name)) if part in METAPHORS]
