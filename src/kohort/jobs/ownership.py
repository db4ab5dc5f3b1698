"""Verifies controller owner references: any user that may create a pod can set one (DEV-9).

A reference alone proves nothing. It counts if the owner creates objects of that kind, selects this one, and the
request came from a user with the permissions of the owner's controller.
"""

from collections.abc import Mapping
from typing import Any, Final

from kohort.api.codec import JsonObject, from_json
from kohort.api.core.reviews import UserInfo
from kohort.api.errors import ApiError
from kohort.api.meta import LabelSelector
from kohort.api.resource import GroupKind, Resource
from kohort.api.selectors import compile_selector
from kohort.jobs.objects import controller_owner, labels
from kohort.jobs.registry import group_kind
from kohort.kube.access_reviews import AccessAttributes, AccessReviewer, AuthenticatedUser

POD: Final[GroupKind] = ("", "Pod")
REPLICA_SET: Final[GroupKind] = ("apps", "ReplicaSet")
CREATORS: Final[Mapping[GroupKind, frozenset[GroupKind]]] = {
    POD: frozenset({("batch", "Job"), ("apps", "StatefulSet"), REPLICA_SET}),
    REPLICA_SET: frozenset({("apps", "Deployment")}),
}
"""Kinds of Kubernetes that create pods and ReplicaSets; each selects its dependents by labels."""
BUILT_IN_GROUPS: Final = frozenset({"", "apps", "batch"})

CONTROL_PLANE_USERS: Final = ("system:kube-controller-manager",)
CONTROL_PLANE_ACCOUNTS: Final = "system:serviceaccount:kube-system:"
PROOFS: Final = ("finalizers", "status")
"""Subresources that controllers may update and tenants may not; Kubernetes itself checks `finalizers` of owners."""

FORGED_CONTROLLER: Final = "controller: true may be set only by a user who may update the owner's status or finalizers"


def creates_kind(owner: GroupKind, child: JsonObject) -> bool:
    """Whether the controller of an owner's kind creates objects of this kind; assumed for other API groups."""
    creators = CREATORS.get(_kind(child))
    return creators is None or owner in creators or owner[0] not in BUILT_IN_GROUPS


def controls(owner: JsonObject, child: JsonObject) -> bool:
    """Whether an owner's selector matches the child; Kubernetes' controllers release others."""
    creators = CREATORS.get(_kind(child), frozenset())
    return creates_kind(_kind(owner), child) and (_kind(owner) not in creators or _selects(owner, child))


def claimed_controller(obj: JsonObject) -> Mapping[str, Any] | None:
    """The reference to a controller that may have created an object of this kind."""
    reference = controller_owner(obj)
    if reference is None or not creates_kind(group_kind(reference["apiVersion"], reference["kind"]), obj):
        return None
    return reference


def without_controller(obj: JsonObject) -> JsonObject:
    """The object with the same owners, none of which controls it; garbage collection treats it as before."""
    head = obj["metadata"]
    owners = [{**each, "controller": False} if each.get("controller") else each for each in head["ownerReferences"]]
    return {**obj, "metadata": {**head, "ownerReferences": owners}}


def _kind(obj: JsonObject) -> GroupKind:
    return group_kind(obj.get("apiVersion", ""), obj.get("kind", ""))


def _selects(owner: JsonObject, child: JsonObject) -> bool:
    selector = (owner.get("spec") or {}).get("selector")
    if selector is None:
        return False
    try:
        return compile_selector(from_json(selector, LabelSelector)).matches(labels(child))
    except ApiError:
        return False


class ControllerPermissions:
    """Which users have the permissions of owners' controllers, by the API server's authorization."""

    def __init__(self, reviews: AccessReviewer) -> None:
        self._reviews = reviews

    async def includes(self, user: UserInfo, owner: Resource, namespace: str) -> bool:
        """Whether the user has the permissions of a kind's controller; raises KubeError if the review fails.

        Controllers of Kubernetes' own kinds have them in all namespaces, tenants at most in one. An operator of other
        kinds may be installed for a single namespace.
        """
        if user.username in CONTROL_PLANE_USERS or user.username.startswith(CONTROL_PLANE_ACCOUNTS):
            return True
        reviewed, scope = _reviewed_user(user), "" if owner.group in BUILT_IN_GROUPS else namespace
        for subresource in PROOFS:
            act = AccessAttributes("update", "", owner.group, owner.version, owner.plural, subresource, scope)
            if await self._reviews.allows(reviewed, act):
                return True
        return False


def _reviewed_user(user: UserInfo) -> AuthenticatedUser:
    extra = sorted((key, tuple(values)) for key, values in user.extra.items())
    return AuthenticatedUser(user.username, user.groups, tuple(extra))
