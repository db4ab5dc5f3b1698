"""Field descriptions from the string literal below each field of a struct.

CRDs and reference pages use the same texts.
"""

import ast
import inspect
from functools import cache
from types import ModuleType


@cache
def _class_bodies(module: ModuleType) -> dict[str, ast.ClassDef]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _own_fields(owner: type) -> dict[str, str]:
    module = inspect.getmodule(owner)
    body = _class_bodies(module).get(owner.__name__) if module else None
    if body is None:
        return {}
    docs: dict[str, str] = {}
    for statement, follower in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = _literal_text(follower)
            if text:
                docs[statement.target.id] = text
    return docs


def _literal_text(statement: ast.stmt) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        value = statement.value.value
        return " ".join(value.split()) if isinstance(value, str) else ""
    return ""


@cache
def field_descriptions(owner: type) -> dict[str, str]:
    """Field name to description, inherited fields included."""
    docs: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.startswith("kohort."):
            docs.update(_own_fields(base))
    return docs


def class_description(owner: type) -> str:
    """The struct's own docstring on one line."""
    return " ".join((owner.__doc__ or "").split())
