"""Compiles syntax trees to Python closures.

Each node becomes one function of the frame: a list of the budget, the variables, and a slot per loop variable. Names
are resolved at compile time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kohort.embedded.cel import syntax as s
from kohort.embedded.cel.errors import CompileError
from kohort.embedded.cel.loops import LOOPS
from kohort.embedded.cel.overloads import FUNCTIONS, METHODS, Overloads
from kohort.embedded.cel.steps import (
    EvaluationStep,
    calling,
    choosing,
    comparing,
    conjunction,
    constant,
    disjunction,
    equality,
    has_member,
    indexing,
    listing,
    mapping,
    negation,
    optional_indexing,
    reading,
    selecting,
)
from kohort.embedded.cel.values import TYPES, TypeValue

_QUALIFIED_TYPES = ("google.protobuf.Timestamp", "google.protobuf.Duration")


@dataclass
class CompilerScope:
    """Visible names, each with its slot in the frame; slot 0 is the budget."""

    text: str
    slots: dict[str, int]
    size: list[int] = field(default_factory=lambda: [0])
    """Number of slots used, shared by all inner scopes."""

    @classmethod
    def of(cls, text: str, variables: tuple[str, ...]) -> "CompilerScope":
        """The outermost scope."""
        return cls(text, {name: slot for slot, name in enumerate(variables, start=1)}, [len(variables) + 1])

    def inner(self, *names: str) -> "CompilerScope":
        """A scope with further variables, which shadow outer ones."""
        first = self.size[0]
        self.size[0] += len(names)
        return CompilerScope(
            self.text, {**self.slots, **dict(zip(names, range(first, first + len(names)), strict=True))}, self.size
        )

    def error(self, problem: str, position: int) -> CompileError:
        """The error at an offset of the text."""
        return CompileError(problem, self.text, position)


def compiled(node: s.Expression, scope: CompilerScope) -> EvaluationStep:
    """The function that computes a node's value from a frame."""
    return _COMPILERS[type(node)](node, scope)


def _literal(node: s.Literal, _scope: CompilerScope) -> EvaluationStep:
    return constant(node.value)


def _name(node: s.Name, scope: CompilerScope) -> EvaluationStep:
    if node.name in scope.slots:
        return reading(scope.slots[node.name])
    if node.name in TYPES:
        return constant(TYPES[node.name])
    raise scope.error(f"undeclared reference to '{node.name}' (in container '')", node.position)


def _select(node: s.Select, scope: CompilerScope) -> EvaluationStep:
    qualified = _qualified(node)
    if qualified in scope.slots:
        return reading(scope.slots[qualified])
    if qualified in _QUALIFIED_TYPES:
        return constant(TypeValue(qualified))
    operand = compiled(node.operand, scope)
    return optional_indexing(operand, constant(node.field)) if node.is_optional else selecting(operand, node.field)


def _qualified(node: s.Expression) -> str:
    """A chain of plain names as one qualified name, or None."""
    if isinstance(node, s.Name):
        return node.name
    if isinstance(node, s.Select) and not node.is_optional:
        head = _qualified(node.operand)
        return f"{head}.{node.field}" if head else ""
    return ""


def _has(node: s.Has, scope: CompilerScope) -> EvaluationStep:
    return has_member(compiled(node.operand, scope), node.field)


def _index(node: s.Index, scope: CompilerScope) -> EvaluationStep:
    making = optional_indexing if node.is_optional else indexing
    return making(compiled(node.operand, scope), compiled(node.key, scope))


def _list(node: s.ListLiteral, scope: CompilerScope) -> EvaluationStep:
    return listing([(compiled(item.value, scope), item.is_optional) for item in node.items])


def _map(node: s.MapLiteral, scope: CompilerScope) -> EvaluationStep:
    return mapping(
        [(compiled(each.key, scope), compiled(each.value, scope), each.is_optional) for each in node.entries]
    )


_SPECIAL: Mapping[str, Callable[..., EvaluationStep]] = {
    "_&&_": conjunction,
    "_||_": disjunction,
    "_?_:_": choosing,
    "!_": negation,
    "_==_": equality,
    "_!=_": lambda left, right: negation(equality(left, right)),
    "_<_": lambda left, right: comparing(left, right, "_<_"),
    "_<=_": lambda left, right: comparing(left, right, "_<=_"),
    "_>_": lambda left, right: comparing(left, right, "_>_"),
    "_>=_": lambda left, right: comparing(left, right, "_>=_"),
}


def _call(node: s.CallExpr, scope: CompilerScope) -> EvaluationStep:
    special = _SPECIAL.get(node.function)
    if special is not None:
        return special(*(compiled(each, scope) for each in node.arguments))
    arguments, overloads = _callee(node, scope)
    if overloads is None:
        raise scope.error(f"undeclared reference to '{node.function}' (in container '')", node.position)
    if not overloads.takes(len(arguments)):
        raise scope.error(f"found no matching overload for '{node.function}'", node.position)
    return calling(overloads, [compiled(each, scope) for each in arguments])


def _callee(node: s.CallExpr, scope: CompilerScope) -> tuple[tuple[s.Expression, ...], Overloads | None]:
    """The function and its arguments: `sets.contains(a, b)` and `a.contains(b)` both have two."""
    if node.target is None:
        return node.arguments, FUNCTIONS.get(node.function)
    space = _qualified(node.target)
    if space and space not in scope.slots and f"{space}.{node.function}" in FUNCTIONS:
        return node.arguments, FUNCTIONS[f"{space}.{node.function}"]
    return (node.target, *node.arguments), METHODS.get(node.function)


def _macro(node: s.Macro, scope: CompilerScope) -> EvaluationStep:
    operand = compiled(node.operand, scope)
    inner = scope.inner(*node.variables)
    slots = [inner.slots[name] for name in node.variables]
    return LOOPS[node.name](operand, slots, [compiled(each, inner) for each in node.arguments])


_COMPILERS: dict[type, Callable[[Any, CompilerScope], EvaluationStep]] = {
    s.Literal: _literal,
    s.Name: _name,
    s.Select: _select,
    s.Has: _has,
    s.Index: _index,
    s.CallExpr: _call,
    s.ListLiteral: _list,
    s.MapLiteral: _map,
    s.Macro: _macro,
}
