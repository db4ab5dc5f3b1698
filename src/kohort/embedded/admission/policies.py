"""ValidatingAdmissionPolicies: the stored ones, evaluated for every write that they concern."""

from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin
from kohort.embedded.admission.evaluation_context import AdmissionContext
from kohort.embedded.policies import PolicyContext, evaluate, refusal
from kohort.embedded.storage import Store

_GROUP = "admissionregistration.k8s.io"
POLICIES, BINDINGS = f"validatingadmissionpolicies.{_GROUP}", f"validatingadmissionpolicybindings.{_GROUP}"


class ValidatingPolicies(NoopPlugin):
    """Asks the policies."""

    def __init__(self, store: Store, surroundings: AdmissionContext) -> None:
        self._store = store
        self._surroundings = surroundings

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse what a bound policy denies; tell what it warns of."""
        bindings = self._store.list(BINDINGS).entries
        if not bindings:
            return
        policies = (entry.object for entry in self._store.list(POLICIES).entries)
        here = self._surroundings
        world = PolicyContext(here.namespace, here, here.ask(attributes.user), here.versions, here.convert)
        outcome = await evaluate(policies, (entry.object for entry in bindings), attributes, world)
        attributes.warnings.extend(outcome.warnings)
        error = refusal(outcome, attributes)
        if error is not None:
            raise error
