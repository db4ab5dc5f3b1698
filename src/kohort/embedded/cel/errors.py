"""Errors of CEL.

CelError
  CompileError      the text is not an expression, or refers to an unknown name
  EvaluationError   no such key, no matching overload …; `&&` and `||` may absorb it
  CostError         the cost budget is exceeded; never absorbed
"""


class CelError(Exception):
    """Base class of CEL errors."""


class EvaluationError(CelError):
    """An operation has no result for these values."""


class CostError(CelError):
    """The cost budget is exceeded."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class CompileError(CelError):
    """The expression is invalid; shown with the line and a marker below the position."""

    def __init__(self, problem: str, text: str = "", position: int = 0) -> None:
        self.problem = problem
        line_start = text.rfind("\n", 0, position) + 1
        line = text[line_start:].partition("\n")[0]
        number = text.count("\n", 0, position) + 1
        column = position - line_start
        super().__init__(f"ERROR: <input>:{number}:{column + 1}: {problem}\n | {line}\n | {'.' * column}^")


def no_such_overload() -> EvaluationError:
    """The operator or function has no overload for these types."""
    return EvaluationError("no such overload")


def no_such_key(key: object) -> EvaluationError:
    """The map or object has no such member."""
    return EvaluationError(f"no such key: {key}")
