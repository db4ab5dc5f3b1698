"""The permissions of the stand-ins: their own role, bound to their own user."""

from typing import Final

from kohort.api.codec import JsonObject
from kohort.api.permissions import READ, WRITE, Permission
from kohort.api.resource import Resource
from kohort.operators.contract import StandIn

USER: Final = "kohort-operator-stand-ins"
"""User name of the stand-ins at the API server."""
_GROUP: Final = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Final = Resource(_GROUP, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDINGS: Final = Resource(_GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)


def permissions(stand_ins: tuple[StandIn, ...]) -> list[Permission]:
    """What the stand-ins need: to report on jobs, and to create and delete the objects of these."""
    found = [Permission("events.k8s.io", ("events",), ("create", *WRITE))]
    for each in stand_ins:
        kind = each.resource
        found.append(Permission(kind.group, (kind.plural,), (*READ, "delete")))
        found.append(Permission(kind.group, (f"{kind.plural}/status", f"{kind.plural}/finalizers"), WRITE))
    children = {child.resource: None for each in stand_ins for child in each.children}
    for resource in children:
        plurals = (resource.plural, f"{resource.plural}/status")
        found.append(Permission(resource.group, plurals, (*READ, *WRITE, "create", "delete")))
    return found


def role_objects(stand_ins: tuple[StandIn, ...]) -> tuple[tuple[Resource, JsonObject], ...]:
    """The role of the stand-ins, and its binding."""
    rules = [each.rule() for each in permissions(stand_ins)]
    reference = {"apiGroup": _GROUP, "kind": "ClusterRole", "name": USER}
    subject = {"apiGroup": _GROUP, "kind": "User", "name": USER}
    return (
        (CLUSTER_ROLES, {"metadata": {"name": USER}, "rules": rules}),
        (CLUSTER_ROLE_BINDINGS, {"metadata": {"name": USER}, "roleRef": reference, "subjects": [subject]}),
    )
