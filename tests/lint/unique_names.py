"""Public class names and type aliases that several modules of `src` define.

A pair of modules that differ only in the API version (v1beta1, v1beta2) counts as one.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

UPSTREAM_NAMES = frozenset({"FairSharing", "ResourceQuota"})
"""Upstream uses one name for two kinds; so do we."""

API_VERSION = re.compile(r"v1beta\d")
CAMEL_CASE = re.compile(r"[A-Z](?=.*[a-z])[A-Za-z0-9]*")


def duplicate_names(sources: Mapping[str, str]) -> list[str]:
    """One line for each name that several of the modules, given by path, define."""
    paths = defaultdict[str, dict[str, str]](dict)
    for path, text in sources.items():
        for name in public_names(ast.parse(text)):
            paths[name].setdefault(API_VERSION.sub("", path), path)
    return [
        f"{name}: defined in {', '.join(sorted(found.values()))}"
        for name, found in sorted(paths.items())
        if len(found) > 1 and name not in UPSTREAM_NAMES
    ]


def public_names(module: ast.Module) -> Iterator[str]:
    """Names of the classes and type aliases at the top level of a module."""
    for node in module.body:
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.Assign(targets=[ast.Name(id=name)])
                | ast.AnnAssign(target=ast.Name(id=name))
            ) if CAMEL_CASE.fullmatch(name):
                yield name
