"""The built-in kinds: the facts that their schemas lack, one line per kind.

Plural, scope, short names, categories, subresources, verbs and field selectors are defined here only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from kohort.embedded.kinds.definitions import definition_name, node_of
from kohort.embedded.resources import STANDARD_VERBS, ServedResource, Subresource

_CREATE = ("create",)
_WRITE = ("get", "patch", "update")
_NOT_IN_BULK = tuple(verb for verb in STANDARD_VERBS if verb != "deletecollection")


@dataclass(frozen=True, slots=True)
class _Kind:
    """One line of the catalog; words are separated by blanks."""

    kind: str
    plural: str
    short: str = ""
    categories: str = ""
    subresources: str = ""
    fields: str = ""
    """Field selectors that are the path of the field."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Field selectors with another path."""
    verbs: tuple[str, ...] = STANDARD_VERBS
    stored_as: str = ""


class _Cluster(_Kind):
    """A cluster-scoped kind."""


_SUBRESOURCES = {
    "approval": Subresource("approval", "", _WRITE),
    "binding": Subresource("binding", "Binding", _CREATE),
    "eviction": Subresource("eviction", "Eviction", _CREATE, "policy", "v1"),
    "finalize": Subresource("finalize", "", ("update",)),
    "log": Subresource("log", "", ("get",)),
    "scale": Subresource("scale", "Scale", _WRITE, "autoscaling", "v1"),
    "status": Subresource("status", "", _WRITE),
    "token": Subresource("token", "TokenRequest", _CREATE, "authentication.k8s.io", "v1"),
}

_EVENT_FIELDS = "reason reportingComponent type"
_INVOLVED = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")
_CORE_EVENT = (
    *((f"involvedObject.{one}", f"involvedObject.{one}") for one in _INVOLVED),
    ("source", "source.component"),
)
_NEW_EVENT = (
    *((f"regarding.{one}", f"regarding.{one}") for one in _INVOLVED),
    ("reportingController", "reportingController"),
)
_POD_FIELDS = (
    "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork "
    "status.phase status.podIP status.nominatedNodeName"
)

_CATALOG: dict[tuple[str, str], tuple[_Kind, ...]] = {
    ("", "v1"): (
        _Kind("Binding", "bindings", verbs=_CREATE),
        _Kind("ConfigMap", "configmaps", "cm"),
        _Kind("Endpoints", "endpoints", "ep"),
        _Kind("Event", "events", "ev", fields=_EVENT_FIELDS, aliases=_CORE_EVENT),
        _Kind("LimitRange", "limitranges", "limits"),
        _Cluster("Namespace", "namespaces", "ns", "", "finalize status", "status.phase", verbs=_NOT_IN_BULK),
        _Cluster("Node", "nodes", "no", "", "status", "spec.unschedulable"),
        _Kind("PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "", "status"),
        _Cluster("PersistentVolume", "persistentvolumes", "pv", "", "status"),
        _Kind("Pod", "pods", "po", "all", "binding eviction log status", _POD_FIELDS),
        _Kind("PodTemplate", "podtemplates"),
        _Kind("ReplicationController", "replicationcontrollers", "rc", "all", "scale status", "status.replicas"),
        _Kind("ResourceQuota", "resourcequotas", "quota", "", "status"),
        _Kind("Secret", "secrets", fields="type"),
        _Kind("ServiceAccount", "serviceaccounts", "sa", "", "token"),
        _Kind("Service", "services", "svc", "all", "status", "spec.clusterIP spec.type"),
    ),
    ("apiregistration.k8s.io", "v1"): (_Cluster("APIService", "apiservices", "", "api-extensions", "status"),),
    ("apps", "v1"): (
        _Kind("ControllerRevision", "controllerrevisions"),
        _Kind("DaemonSet", "daemonsets", "ds", "all", "status"),
        _Kind("Deployment", "deployments", "deploy", "all", "scale status"),
        _Kind("ReplicaSet", "replicasets", "rs", "all", "scale status"),
        _Kind("StatefulSet", "statefulsets", "sts", "all", "scale status"),
    ),
    ("events.k8s.io", "v1"): (
        _Kind("Event", "events", "ev", fields="reason type", aliases=_NEW_EVENT, stored_as="events"),
    ),
    ("authentication.k8s.io", "v1"): (
        _Cluster("SelfSubjectReview", "selfsubjectreviews", verbs=_CREATE),
        _Cluster("TokenReview", "tokenreviews", verbs=_CREATE),
    ),
    ("authorization.k8s.io", "v1"): (
        _Kind("LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=_CREATE),
        _Cluster("SelfSubjectAccessReview", "selfsubjectaccessreviews", verbs=_CREATE),
        _Cluster("SelfSubjectRulesReview", "selfsubjectrulesreviews", verbs=_CREATE),
        _Cluster("SubjectAccessReview", "subjectaccessreviews", verbs=_CREATE),
    ),
    ("autoscaling", "v2"): (_Kind("HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", "all", "status"),),
    ("batch", "v1"): (
        _Kind("CronJob", "cronjobs", "cj", "all", "status"),
        _Kind("Job", "jobs", "", "all", "status", aliases=(("status.successful", "status.succeeded"),)),
    ),
    ("certificates.k8s.io", "v1"): (
        _Cluster(
            "CertificateSigningRequest", "certificatesigningrequests", "csr", "", "approval status", "spec.signerName"
        ),
    ),
    ("networking.k8s.io", "v1"): (
        _Cluster("IngressClass", "ingressclasses"),
        _Kind("Ingress", "ingresses", "ing", "", "status"),
        _Kind("NetworkPolicy", "networkpolicies", "netpol"),
    ),
    ("policy", "v1"): (_Kind("PodDisruptionBudget", "poddisruptionbudgets", "pdb", "", "status"),),
    ("rbac.authorization.k8s.io", "v1"): (
        _Cluster("ClusterRoleBinding", "clusterrolebindings"),
        _Cluster("ClusterRole", "clusterroles"),
        _Kind("RoleBinding", "rolebindings"),
        _Kind("Role", "roles"),
    ),
    ("storage.k8s.io", "v1"): (_Cluster("StorageClass", "storageclasses", "sc"),),
    ("admissionregistration.k8s.io", "v1"): (
        _Cluster("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", "api-extensions"),
        _Cluster("ValidatingAdmissionPolicy", "validatingadmissionpolicies", "", "api-extensions", "status"),
        _Cluster("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", "", "api-extensions"),
        _Cluster("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "", "api-extensions"),
    ),
    ("apiextensions.k8s.io", "v1"): (
        _Cluster("CustomResourceDefinition", "customresourcedefinitions", "crd crds", "api-extensions", "status"),
    ),
    ("scheduling.k8s.io", "v1"): (_Cluster("PriorityClass", "priorityclasses", "pc"),),
    ("coordination.k8s.io", "v1"): (_Kind("Lease", "leases"),),
    ("node.k8s.io", "v1"): (_Cluster("RuntimeClass", "runtimeclasses"),),
    ("discovery.k8s.io", "v1"): (_Kind("EndpointSlice", "endpointslices"),),
    ("resource.k8s.io", "v1"): (
        _Cluster("DeviceClass", "deviceclasses"),
        _Kind("ResourceClaim", "resourceclaims", "", "", "status"),
        _Kind("ResourceClaimTemplate", "resourceclaimtemplates"),
        _Cluster("ResourceSlice", "resourceslices", fields="spec.nodeName spec.driver"),
    ),
}


@cache
def builtin_resources() -> tuple[ServedResource, ...]:
    """Every built-in resource, in the order of discovery; reads no schema yet."""
    return tuple(_resources())


def _resources() -> Iterator[ServedResource]:
    for (group, version), kinds in _CATALOG.items():
        for one in kinds:
            yield _resource(group, version, one)


def _resource(group: str, version: str, one: _Kind) -> ServedResource:
    return ServedResource(
        group=group,
        version=version,
        plural=one.plural,
        kind=one.kind,
        namespaced=not isinstance(one, _Cluster),
        schema=node_of(definition_name(group, version, one.kind)),
        singular=one.kind.lower(),
        list_kind=f"{one.kind}List",
        short_names=tuple(one.short.split()),
        categories=tuple(one.categories.split()),
        verbs=one.verbs,
        subresources=tuple(_subresource(name, one.kind) for name in one.subresources.split()),
        selectable_fields={**{path: path for path in one.fields.split()}, **dict(one.aliases)},
        stored_as=one.stored_as,
    )


def _subresource(name: str, kind: str) -> Subresource:
    """The subresource of that name; its kind is the resource's by default."""
    fact = _SUBRESOURCES[name]
    return Subresource(fact.name, fact.kind or kind, fact.verbs, fact.group, fact.version)
