"""CEL, the expression language of Kubernetes' validation rules and policies, compiled to Python closures (ADR 4)."""

from kohort.embedded.cel.budget import CostBudget
from kohort.embedded.cel.errors import CelError, CompileError, CostError, EvaluationError
from kohort.embedded.cel.program import Program, compile_expression

__all__ = ["CelError", "CompileError", "CostBudget", "CostError", "EvaluationError", "Program", "compile_expression"]
