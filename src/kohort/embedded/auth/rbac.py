"""RBAC authorizer: reads the stored RBAC objects into an index that is rebuilt when one of them changes.

Changes are rare and checks are frequent: decisions are cached, and otherwise evaluate the few rules of a user.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kohort.embedded.auth.attributes import AuthorizationAttributes
from kohort.embedded.auth.rules import PolicyRule
from kohort.embedded.auth.users import MASTERS, User, account_user
from kohort.embedded.storage import StorageKey, Store

GROUP = "rbac.authorization.k8s.io"
ROLES, CLUSTER_ROLES = f"roles.{GROUP}", f"clusterroles.{GROUP}"
BINDINGS, CLUSTER_BINDINGS = f"rolebindings.{GROUP}", f"clusterrolebindings.{GROUP}"
RBAC_RESOURCES = (ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS)
_MAX_CACHED = 16384
_EVERYTHING = PolicyRule(frozenset("*"), frozenset("*"), frozenset("*"), paths=("*",))


@dataclass(frozen=True, slots=True)
class AuthorizationDecision:
    """Whether it is allowed, and an evaluation error."""

    allowed: bool
    reason: str = ""


@dataclass(slots=True)
class _Grant:
    """Rules of a subject in one namespace, and the missing roles it refers to."""

    rules: list[PolicyRule] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


_Question = tuple[str, tuple[str, ...], AuthorizationAttributes]
_Grants = dict[tuple[str, str], _Grant]
"""Grants by namespace (empty: cluster-wide) and subject."""


class RbacAuthorizer:
    """Authorizes by RBAC."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._grants: _Grants | None = None
        self._decisions: dict[_Question, AuthorizationDecision] = {}

    def invalidate(self) -> None:
        """Reads the RBAC objects again before the next decision."""
        self._grants = None
        self._decisions.clear()

    def decide(self, user: User, attributes: AuthorizationAttributes) -> AuthorizationDecision:
        """Whether the user may perform the action."""
        question = (user.name, user.groups, attributes)
        decision = self._decisions.get(question)
        if decision is None:
            decision = self._decide(user, attributes)
            if len(self._decisions) >= _MAX_CACHED:
                self._decisions.clear()
            self._decisions[question] = decision
        return decision

    def allows(self, user: User, attributes: AuthorizationAttributes) -> bool:
        """Whether the user may perform the action, without reason."""
        return self.decide(user, attributes).allowed

    def _decide(self, user: User, attributes: AuthorizationAttributes) -> AuthorizationDecision:
        if MASTERS in user.groups:
            return AuthorizationDecision(allowed=True)
        missing: list[str] = []
        for grant in self._grants_of(user, attributes.namespace):
            if any(rule.allows(attributes) for rule in grant.rules):
                return AuthorizationDecision(allowed=True)
            missing += grant.missing
        return AuthorizationDecision(allowed=False, reason=_missing_text(missing))

    def rules_of(self, user: User, namespace: str) -> list[PolicyRule]:
        """All rules of a user in a namespace."""
        if MASTERS in user.groups:
            return [_EVERYTHING]
        return [rule for grant in self._grants_of(user, namespace) for rule in grant.rules]

    def role_rules(self, kind: str, namespace: str, name: str) -> list[PolicyRule] | None:
        """The rules of a role that a binding refers to; None if it does not exist."""
        key = StorageKey(ROLES, namespace, name) if kind == "Role" else StorageKey(CLUSTER_ROLES, "", name)
        found = self._store.get(key)
        return None if found is None else [PolicyRule.of(rule) for rule in found.object.get("rules") or ()]

    def _grants_of(self, user: User, namespace: str) -> Iterator[_Grant]:
        grants = self._grants
        if grants is None:
            grants = self._grants = self._read()
        places = ("", namespace) if namespace else ("",)
        for place in places:
            for subject in (f"User:{user.name}", *(f"Group:{group}" for group in user.groups)):
                grant = grants.get((place, subject))
                if grant is not None:
                    yield grant

    def _read(self) -> _Grants:
        grants: _Grants = {}
        for resource in (CLUSTER_BINDINGS, BINDINGS):
            for entry in self._store.list(resource).entries:
                self._add(grants, entry.key.namespace, entry.object)
        return grants

    def _add(self, grants: _Grants, namespace: str, binding: Mapping[str, Any]) -> None:
        reference = binding["roleRef"]
        rules = self.role_rules(reference["kind"], namespace, reference["name"])
        for subject in _subjects(binding, namespace):
            grant = grants.setdefault((namespace, subject), _Grant())
            if rules is None:
                grant.missing.append(f'{reference["kind"].lower()}.{GROUP} "{reference["name"]}" not found')
            else:
                grant.rules += rules


def _subjects(binding: Mapping[str, Any], namespace: str) -> Iterator[str]:
    for subject in binding.get("subjects") or ():
        if subject["kind"] == "ServiceAccount":
            account = account_user(subject.get("namespace") or namespace, subject["name"])
            yield f"User:{account.name}"
        else:
            yield f"{subject['kind']}:{subject['name']}"


def _missing_text(missing: Iterable[str]) -> str:
    texts = list(dict.fromkeys(missing))
    if not texts:
        return ""
    return f"RBAC: {texts[0]}" if len(texts) == 1 else f"RBAC: [{', '.join(texts)}]"
