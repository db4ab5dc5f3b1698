"""Macros: `has`, comprehensions over lists and maps, and optional mapping."""

from kohort.embedded.cel.errors import CompileError
from kohort.embedded.cel.syntax import CallExpr, Expression, Has, Macro, Name, Select

_SHAPES: dict[str, dict[int, int]] = {
    "all": {2: 1, 3: 2},
    "exists": {2: 1, 3: 2},
    "exists_one": {2: 1, 3: 2},
    "existsOne": {2: 1, 3: 2},
    "filter": {2: 1},
    "map": {2: 1, 3: 1},
    "transformList": {3: 2, 4: 2},
    "transformMap": {3: 2, 4: 2},
    "transformMapEntry": {3: 2, 4: 2},
    "optMap": {2: 1},
    "optFlatMap": {2: 1},
    "sortBy": {2: 1},
}
"""Number of variables by number of arguments."""


def expanded(call: CallExpr, text: str) -> Expression:
    """The macro of a call, or the call itself."""
    if call.target is None:
        return _has(call, text) if call.function == "has" and len(call.arguments) == 1 else call
    variables = _SHAPES.get(call.function, {}).get(len(call.arguments))
    if variables is None:
        return call
    names = tuple(_variable(each, text) for each in call.arguments[:variables])
    if len(set(names)) < len(names):
        raise CompileError("iteration variables must be distinct", text, call.position)
    return Macro(call.function, call.target, names, call.arguments[variables:], call.position)


def _has(call: CallExpr, text: str) -> Expression:
    (argument,) = call.arguments
    if not isinstance(argument, Select) or argument.is_optional:
        raise CompileError("invalid argument to has() macro", text, call.position)
    return Has(argument.operand, argument.field, call.position)


def _variable(argument: Expression, text: str) -> str:
    if not isinstance(argument, Name):
        raise CompileError("argument must be a simple name", text, argument.position)
    return argument.name
