"""ValidatingAdmissionPolicies: CEL rules that an administrator binds to requests."""

from kohort.embedded.policies.definitions import policy_problems
from kohort.embedded.policies.evaluation import Denial, PolicyContext, PolicyResult, evaluate, refusal
from kohort.embedded.policies.params import Params

__all__ = ["Denial", "Params", "PolicyContext", "PolicyResult", "evaluate", "policy_problems", "refusal"]
