"""What webhooks and policies need besides the request: namespaces, other versions, the authorizer."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kohort.api.codec import Json, JsonObject
from kohort.embedded.auth.attributes import AuthorizationAttributes as Asked
from kohort.embedded.auth.rbac import RbacAuthorizer
from kohort.embedded.auth.users import User, account_user
from kohort.embedded.cel.library.authorization import Ask, AuthorizationCheck, AuthorizerDecision
from kohort.embedded.matching import labels_of
from kohort.embedded.resources import ServedResource
from kohort.embedded.storage import StorageKey, Store


@dataclass(frozen=True, slots=True)
class AdmissionContext:
    """Reads from the store, the resource catalog and the authorizer."""

    store: Store
    authorizer: RbacAuthorizer
    versions: Callable[[ServedResource], Sequence[ServedResource]]
    """All served versions of a resource."""
    find_kind: Callable[[str, str], ServedResource | None]
    """The resource of a kind, by apiVersion and kind."""
    convert: Callable[[Mapping[str, Json], ServedResource], Awaitable[JsonObject]]
    """An object in another version."""

    def namespace(self, name: str) -> Mapping[str, Json] | None:
        """A stored namespace."""
        found = self.store.get(StorageKey("namespaces", "", name))
        return found.object if found else None

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """The labels of a stored namespace."""
        found = self.namespace(name)
        return None if found is None else labels_of(found)

    def authorizer_for(self, user: User) -> Ask:
        """An authorizer function for the user."""

        def answer(question: AuthorizationCheck) -> AuthorizerDecision:
            who = account_user(*question.service_account) if question.service_account else user
            asked = Asked(
                question.verb,
                question.group,
                question.resource,
                question.subresource,
                question.namespace,
                question.name,
                question.path,
            )
            decision = self.authorizer.decide(who, asked)
            return AuthorizerDecision(decision.allowed, decision.reason)

        return answer

    def is_namespaced(self, api_version: str, kind: str) -> bool | None:
        """Whether a kind is namespaced; None for an unknown kind."""
        found = self.find_kind(api_version, kind)
        return None if found is None else found.namespaced

    def objects(self, api_version: str, kind: str, namespace: str) -> Iterable[Mapping[str, Json]]:
        """All objects of a kind."""
        found = self.find_kind(api_version, kind)
        return [entry.object for entry in self.store.list(found.key, namespace).entries] if found else []
