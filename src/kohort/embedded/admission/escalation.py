"""Privilege escalation: roles and bindings must not grant more than their author has."""

from kohort.embedded.admission.attributes import AdmissionAttributes, NoopPlugin
from kohort.embedded.auth.escalation import EscalationCheck
from kohort.embedded.auth.rbac import BINDINGS, CLUSTER_BINDINGS, CLUSTER_ROLES, ROLES


class NoEscalation(NoopPlugin):
    """Checks every write of RBAC objects."""

    def __init__(self, check: EscalationCheck) -> None:
        self._check = check

    async def validate(self, attributes: AdmissionAttributes) -> None:
        """Denies an escalation; unchanged rules are not checked again."""
        new, old, key = attributes.object, attributes.old, attributes.resource.key
        if new is None or attributes.verb not in ("CREATE", "UPDATE"):
            return
        if key in (ROLES, CLUSTER_ROLES) and _differs(new, old, "rules", "aggregationRule"):
            self._check.role(attributes.user, attributes.resource.plural, attributes.namespace, new)
        elif key in (BINDINGS, CLUSTER_BINDINGS) and _differs(new, old, "subjects", "roleRef"):
            self._check.binding(attributes.user, attributes.resource.plural, attributes.namespace, new)


def _differs(new: dict[str, object], old: dict[str, object] | None, *names: str) -> bool:
    return old is None or any(new.get(name) != old.get(name) for name in names)
