"""ValidatingAdmissionPolicies, evaluated for every matching write."""

from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin
from kohort.embedded.admission.evaluation_context import AdmissionContext
from kohort.embedded.policies import PolicyContext, evaluate, refusal
from kohort.embedded.storage import Store

_GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = f"validatingadmissionpolicies.{_GROUP}", f"validatingadmissionpolicybindings.{_GROUP}"


class ValidatingPolicies(NoopPlugin):
    """Evaluates the policies."""

    def __init__(self, store: Store, context: AdmissionContext) -> None:
        self._store = store
        self._context = context

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Denies by a bound policy, and adds its warnings."""
        bindings = self._store.list(BINDINGS).entries
        if not bindings:
            return
        policies = (entry.object for entry in self._store.list(POLICIES).entries)
        here = self._context
        policy_context = PolicyContext(
            here.namespace, here, here.authorizer_for(attributes.user), here.versions, here.convert
        )
        outcome = await evaluate(policies, (entry.object for entry in bindings), attributes, policy_context)
        attributes.warnings.extend(outcome.warnings)
        error = refusal(outcome, attributes)
        if error is not None:
            raise error
