"""Compiled expressions."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kohort.embedded.cel import library as library  # registers the functions
from kohort.embedded.cel.budget import STEPS_PER_CALL, CostBudget
from kohort.embedded.cel.compiler import CompilerScope, compiled
from kohort.embedded.cel.errors import CompileError, EvaluationError
from kohort.embedded.cel.names import names_in, paths_in
from kohort.embedded.cel.parser import parse
from kohort.embedded.cel.steps import EvaluationStep


@dataclass(frozen=True, slots=True)
class Program:
    """An expression over some variables."""

    text: str
    variables: tuple[str, ...]
    used: frozenset[str]
    """The variables that the expression uses."""
    paths: frozenset[tuple[str, ...]]
    """The accessed members of its variables; an empty path is the whole variable."""
    step: EvaluationStep
    slots: int
    """Slots of a frame beyond the budget and the variables."""

    def evaluate(self, budget: CostBudget, *values: Any) -> Any:
        """The result for the variables' values; raises `EvaluationError` or `CostError`."""
        call = CostBudget(min(budget.left, STEPS_PER_CALL))
        granted = call.left
        try:
            return self.step([call, *values, *(None,) * self.slots])
        except RecursionError:
            raise EvaluationError("expression or value is nested too deeply") from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # An unexpected error in a function must not fail the whole request.
            raise EvaluationError(f"internal error: {error}") from error
        finally:
            budget.left -= granted - call.left


@lru_cache(maxsize=1024)
def compile_expression(text: str, variables: tuple[str, ...]) -> Program:
    """The program of an expression over the named variables; raises `CompileError`."""
    try:
        tree = parse(text)
        scope = CompilerScope.of(text, variables)
        step = compiled(tree, scope)
    except RecursionError:
        raise CompileError("expression recursion limit exceeded", text) from None
    paths = frozenset(path for variable in variables for path in paths_in(tree, variable))
    return Program(text, variables, names_in(tree) & set(variables), paths, step, scope.size[0] - len(variables) - 1)
