"""Checks that roles and bindings grant only permissions that their author has."""

from collections.abc import Iterable, Mapping
from typing import Any

from kohort.embedded.auth.attributes import AuthorizationAttributes
from kohort.embedded.auth.rbac import GROUP, RbacAuthorizer
from kohort.embedded.auth.rules import PolicyRule
from kohort.embedded.auth.users import User
from kohort.kube.errors import ErrorSubject, forbidden, not_found

_MAX_ATOMS = 20000


def uncovered(held: Iterable[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The rules in `wanted` that `held` does not cover."""
    owned = list(held)
    return [atom for rule in wanted for atom in rule.atoms() if not any(each.covers(atom) for each in owned)][
        :_MAX_ATOMS
    ]


class EscalationCheck:
    """Denies roles and bindings that escalate privileges."""

    def __init__(self, authorizer: RbacAuthorizer) -> None:
        self._authorizer = authorizer

    def role(self, user: User, plural: str, namespace: str, role: Mapping[str, Any]) -> None:
        """A role may contain only permissions of its author, unless the author may `escalate`."""
        name = role["metadata"].get("name", "")
        attributes = AuthorizationAttributes("escalate", GROUP, plural, namespace=namespace, name=name)
        rules = [PolicyRule.of(rule) for rule in role.get("rules") or ()]
        if rules and not self._authorizer.allows(user, attributes):
            self._check(user, namespace, rules, ErrorSubject(plural, GROUP, name))
        if role.get("aggregationRule") and not self._may_aggregate(user, attributes):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise forbidden(ErrorSubject(plural, GROUP, name), why)

    def _may_aggregate(self, user: User, attributes: AuthorizationAttributes) -> bool:
        everything = PolicyRule(frozenset("*"), frozenset("*"), frozenset("*"))
        held = self._authorizer.rules_of(user, "")
        return self._authorizer.allows(user, attributes) or not uncovered(held, [everything])

    def binding(self, user: User, plural: str, namespace: str, binding: Mapping[str, Any]) -> None:
        """A binding may grant only permissions of its author, unless the author may `bind` that role."""
        reference = binding.get("roleRef") or {}
        kind, name = str(reference.get("kind")), str(reference.get("name"))
        resource = "roles" if kind == "Role" else "clusterroles"
        if self._authorizer.allows(
            user, AuthorizationAttributes("bind", GROUP, resource, namespace=namespace, name=name)
        ):
            return
        rules = self._authorizer.role_rules(kind, namespace, name)
        if rules is None:
            raise not_found(ErrorSubject(resource, GROUP, name))
        self._check(user, namespace, rules, ErrorSubject(plural, GROUP, binding["metadata"].get("name", "")))

    def _check(self, user: User, namespace: str, rules: list[PolicyRule], about: ErrorSubject) -> None:
        missing = uncovered(self._authorizer.rules_of(user, namespace), rules)
        if missing:
            groups = " ".join(f'"{group}"' for group in user.groups)
            listed = "\n".join(map(str, missing))
            raise forbidden(
                about,
                f'user "{user.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not currently held:\n'
                + listed,
            )
