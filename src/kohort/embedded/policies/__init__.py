"""ValidatingAdmissionPolicies: rules in CEL that an administrator binds to writes of any kind."""

from kohort.embedded.policies.definitions import policy_problems
from kohort.embedded.policies.evaluation import Denial, PolicyContext, PolicyResult, evaluate, refusal
from kohort.embedded.policies.params import Params

__all__ = ["Denial", "Params", "PolicyContext", "PolicyResult", "evaluate", "policy_problems", "refusal"]
