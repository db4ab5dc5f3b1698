"""What can go wrong with a CEL expression.

CelError
  CompileError      the text is not an expression, or names something that does not exist
  EvaluationError   a value has no such key, the types don't fit …; `&&` and `||` may absorb it
  CostError         the evaluation takes more steps than it may; nothing absorbs it
"""


class CelError(Exception):
    """The root of the tree."""


class EvaluationError(CelError):
    """An operation has no result for these values."""


class CostError(CelError):
    """The budget is spent."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class CompileError(CelError):
    """The expression can't be understood; shown with the line and a mark below the place."""

    def __init__(self, problem: str, text: str = "", position: int = 0) -> None:
        self.problem = problem
        line_start = text.rfind("\n", 0, position) + 1
        line = text[line_start:].partition("\n")[0]
        number = text.count("\n", 0, position) + 1
        column = position - line_start
        super().__init__(f"ERROR: <input>:{number}:{column + 1}: {problem}\n | {line}\n | {'.' * column}^")


def no_such_overload() -> EvaluationError:
    """The operator or function does not exist for these types."""
    return EvaluationError("no such overload")


def no_such_key(key: object) -> EvaluationError:
    """The map or object has no such member."""
    return EvaluationError(f"no such key: {key}")
