"""Roles for users: an editor and a viewer role per kind, and two aggregated roles (API-148 to API-150)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kohort.api.codec import Json
from kohort.api.kueue.group import GROUP
from kohort.api.permissions import READ
from kohort.api.resource import Resource
from kohort.install.permissions import VISIBILITY_GROUP
from kohort.jobs.contract import Framework, UserRoles

RBAC = "rbac.authorization.k8s.io"
PREFIX = "kueue-"
_EDIT = ("create", "delete", "get", "list", "patch", "update", "watch")
_BATCH_ADMIN, _BATCH_USER, _ROLE = (f"rbac.kueue.x-k8s.io/{name}" for name in ("batch-admin", "batch-user", "role"))
ALL_ROLES = ("admin", "edit", "view")
ADMINS = ("admin",)


@dataclass(frozen=True, slots=True)
class RoleKind:
    """A kind with an editor and a viewer role."""

    name: str
    group: str
    plural: str
    has_status: bool = True
    seen_by_users: bool = False
    """Whether batch users may view it."""
    edited_by_users: bool = False
    seen_with: tuple[str, ...] = ADMINS
    """Default roles of Kubernetes that include the viewer role."""


QUEUE_KINDS = (
    RoleKind("clusterqueue", GROUP, "clusterqueues"),
    RoleKind("cohort", GROUP, "cohorts", has_status=False),
    RoleKind("localqueue", GROUP, "localqueues", seen_by_users=True, seen_with=ALL_ROLES),
    RoleKind("resourceflavor", GROUP, "resourceflavors"),
    RoleKind("topology", GROUP, "topologies"),
    RoleKind("workload", GROUP, "workloads", seen_by_users=True, seen_with=ALL_ROLES),
)


def user_roles(frameworks: Iterable[Framework]) -> list[Json]:
    """All ClusterRoles for users."""
    return [
        _aggregated("batch-admin-role", _BATCH_ADMIN),
        _aggregated("batch-user-role", _BATCH_USER),
        *_of_kinds(QUEUE_KINDS),
        *framework_roles(frameworks),
        *_pending_viewers(),
        _cluster_role("metrics-reader", {}, [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]),
    ]


def framework_roles(frameworks: Iterable[Framework]) -> list[Json]:
    """The ClusterRoles for users of the kinds of these frameworks."""
    return _of_kinds(_role_kind(each.resource, each.user_roles) for each in frameworks if each.user_roles is not None)


def _of_kinds(kinds: Iterable[RoleKind]) -> list[Json]:
    return [role for kind in kinds for role in (_editor(kind), _viewer(kind))]


def _role_kind(resource: Resource, roles: UserRoles) -> RoleKind:
    return RoleKind(
        resource.kind.lower(),
        resource.group,
        resource.plural,
        seen_by_users=roles.for_batch_users,
        edited_by_users=True,
        seen_with=ALL_ROLES,
    )


def _cluster_role(name: str, labels: Json, rules: list[Json]) -> Json:
    metadata = {"name": f"{PREFIX}{name}", **({"labels": labels} if labels else {})}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _aggregated(name: str, label: str) -> Json:
    selector = {"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}
    role = _cluster_role(name, {}, [])
    return {**{each: role[each] for each in ("apiVersion", "kind", "metadata")}, "aggregationRule": selector}


def _editor(kind: RoleKind) -> Json:
    labels = dict(_labels(f"{kind.name}-editor", with_users=kind.edited_by_users, seen_with=()))
    return _cluster_role(f"{kind.name}-editor-role", labels, _rules(kind, _EDIT))


def _viewer(kind: RoleKind) -> Json:
    labels = dict(_labels(f"{kind.name}-viewer", with_users=kind.seen_by_users, seen_with=kind.seen_with))
    return _cluster_role(f"{kind.name}-viewer-role", labels, _rules(kind, READ))


def _labels(name: str, *, with_users: bool, seen_with: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    yield _ROLE, name
    yield _BATCH_ADMIN, "true"
    if with_users:
        yield _BATCH_USER, "true"
    for each in seen_with:
        yield f"{RBAC}/aggregate-to-{each}", "true"


def _rules(kind: RoleKind, verbs: tuple[str, ...]) -> list[Json]:
    rules = [_rule(kind.group, kind.plural, verbs)]
    return [*rules, _rule(kind.group, f"{kind.plural}/status", ("get",))] if kind.has_status else rules


def _rule(group: str, resource: str, verbs: tuple[str, ...]) -> Json:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def _pending_viewers() -> Iterator[Json]:
    for short, plural, with_users in (("cq", "clusterqueues", False), ("lq", "localqueues", True)):
        name = f"pending-workloads-{short}-viewer"
        labels = dict(_labels(name, with_users=with_users, seen_with=ALL_ROLES))
        yield _cluster_role(f"{name}-role", labels, [_rule(VISIBILITY_GROUP, f"{plural}/pendingworkloads", READ)])
