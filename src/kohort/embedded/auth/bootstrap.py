"""Bootstrap RBAC roles and bindings, with Kubernetes' names."""

from collections.abc import Iterator

from kohort.api.codec import Json, JsonObject
from kohort.embedded.auth.rbac import GROUP
from kohort.embedded.auth.users import AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS, UNAUTHENTICATED

_LABEL = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AUTO_UPDATE = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"

_DISCOVERY_PATHS = ("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz")
_ISSUER_PATHS = ("/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks")
_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/version/")

AUTHENTICATION_CONFIGMAP = "extension-apiserver-authentication"
"""The ConfigMap in kube-system by which aggregated API servers trust this server."""
_CONFIGMAP_READER = f"{AUTHENTICATION_CONFIGMAP}-reader"
_CONFIGMAP_READERS = ("system:kube-controller-manager", "system:kube-scheduler")


_VIEWED = {
    "": (
        "bindings configmaps endpoints events limitranges namespaces namespaces/status persistentvolumeclaims "
        "persistentvolumeclaims/status pods pods/log pods/status replicationcontrollers replicationcontrollers/scale "
        "replicationcontrollers/status resourcequotas resourcequotas/status serviceaccounts services services/status"
    ),
    "apps": (
        "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets "
        "replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status"
    ),
    "autoscaling": "horizontalpodautoscalers horizontalpodautoscalers/status",
    "batch": "cronjobs cronjobs/status jobs jobs/status",
    "discovery.k8s.io": "endpointslices",
    "events.k8s.io": "events",
    "networking.k8s.io": "ingresses ingresses/status networkpolicies",
    "policy": "poddisruptionbudgets poddisruptionbudgets/status",
    "resource.k8s.io": "resourceclaims resourceclaims/status resourceclaimtemplates",
}
_EDITED = {
    "": (
        "configmaps events persistentvolumeclaims pods replicationcontrollers replicationcontrollers/scale secrets "
        "serviceaccounts services"
    ),
    "apps": "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets "
    "statefulsets/scale",
    "autoscaling": "horizontalpodautoscalers",
    "batch": "cronjobs jobs",
    "coordination.k8s.io": "leases",
    "events.k8s.io": "events",
    "networking.k8s.io": "ingresses networkpolicies",
    "policy": "poddisruptionbudgets",
    "resource.k8s.io": "resourceclaims resourceclaimtemplates",
}


def _rules(resources: dict[str, str], verbs: tuple[str, ...]) -> list[Json]:
    return [
        {"apiGroups": [group], "resources": names.split(), "verbs": list(verbs)} for group, names in resources.items()
    ]


def _rule(group: str, resources: str, *verbs: str) -> Json:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": list(verbs)}


def _paths(paths: tuple[str, ...]) -> Json:
    return {"nonResourceURLs": list(paths), "verbs": ["get"]}


def _view_rules() -> list[Json]:
    return _rules(_VIEWED, _READ)


def _edit_rules() -> list[Json]:
    reading = [_rule("", "secrets", *_READ), _rule("coordination.k8s.io", "leases", *_READ)]
    special = [
        _rule("", "pods/attach pods/exec pods/portforward pods/proxy services/proxy", *_READ, *_WRITE),
        _rule("", "pods/eviction serviceaccounts/token", "create"),
        _rule("", "serviceaccounts", "impersonate"),
    ]
    return [*reading, *special, *_rules(_EDITED, _WRITE)]


def _admin_rules() -> list[Json]:
    return [
        _rule("authorization.k8s.io", "localsubjectaccessreviews", "create"),
        _rule(GROUP, "rolebindings roles", *_READ, *_WRITE),
    ]


def _role(name: str, rules: list[Json], **labels: str) -> JsonObject:
    metadata = {"name": name, "labels": {**_LABEL, **labels}, "annotations": _AUTO_UPDATE}
    return {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _part(target: str, rules: list[Json]) -> JsonObject:
    role = _role(f"system:aggregate-to-{target}", rules)
    role["metadata"]["labels"][f"{_AGGREGATE}{target}"] = "true"
    return role


def _aggregated(name: str, part_of: str = "") -> JsonObject:
    role = _role(name, [])
    if part_of:
        role["metadata"]["labels"][f"{_AGGREGATE}{part_of}"] = "true"
    role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {f"{_AGGREGATE}{name}": "true"}}]}
    return role


def _binding(name: str, role: str, *groups: str) -> JsonObject:
    subjects = [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name, "labels": dict(_LABEL), "annotations": dict(_AUTO_UPDATE)},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": subjects,
    }


def _in_system(kind: str, name: str, **members: Json) -> JsonObject:
    metadata = {"name": name, "namespace": "kube-system", "labels": dict(_LABEL), "annotations": dict(_AUTO_UPDATE)}
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **members}


def _configmap_readers() -> Iterator[JsonObject]:
    """Role of aggregated API servers, which read that ConfigMap."""
    yield _in_system(
        "Role",
        _CONFIGMAP_READER,
        rules=[{**_rule("", "configmaps", *_READ), "resourceNames": [AUTHENTICATION_CONFIGMAP]}],
    )
    role = {"apiGroup": GROUP, "kind": "Role", "name": _CONFIGMAP_READER}
    readers = [{"apiGroup": GROUP, "kind": "User", "name": name} for name in _CONFIGMAP_READERS]
    yield _in_system("RoleBinding", f"system::{_CONFIGMAP_READER}", roleRef=role, subjects=readers)


def bootstrap_objects() -> Iterator[JsonObject]:
    """All objects, in order of creation."""
    everything: list[Json] = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    asking = _rule("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews", "create")
    yield _role("cluster-admin", everything)
    yield _role("system:discovery", [_paths((*_DISCOVERY_PATHS, "/version", "/version/"))])
    yield _role("system:basic-user", [asking, _rule("authentication.k8s.io", "selfsubjectreviews", "create")])
    yield _role("system:public-info-viewer", [_paths(_PUBLIC_PATHS)])
    yield _role("system:monitoring", [_paths((*_PUBLIC_PATHS, "/metrics", "/metrics/*", "/livez/*", "/readyz/*"))])
    yield _role("system:service-account-issuer-discovery", [_paths(_ISSUER_PATHS)])
    yield _part("view", _view_rules())
    yield _part("edit", _edit_rules())
    yield _part("admin", _admin_rules())
    yield _aggregated("view", "edit")
    yield _aggregated("edit", "admin")
    yield _aggregated("admin")
    yield _binding("cluster-admin", "cluster-admin", MASTERS)
    yield _binding("system:discovery", "system:discovery", AUTHENTICATED)
    yield _binding("system:basic-user", "system:basic-user", AUTHENTICATED)
    issuer = "system:service-account-issuer-discovery"
    yield _binding(issuer, issuer, SERVICE_ACCOUNTS)
    yield _binding("system:public-info-viewer", "system:public-info-viewer", AUTHENTICATED, UNAUTHENTICATED)
    yield from _configmap_readers()
