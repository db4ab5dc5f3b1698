"""The kinds of Kubernetes itself, by API group: known kinds of which no view checks more than the metadata."""

from collections.abc import Mapping
from typing import Final

from kohort.api.kueue import group as kueue

KUBERNETES_KINDS: Final[Mapping[str, frozenset[str]]] = {
    "": frozenset(
        {
            "Binding",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        }
    ),
    "admissionregistration.k8s.io": frozenset(
        {
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        }
    ),
    "apiextensions.k8s.io": frozenset({"CustomResourceDefinition"}),
    "apiregistration.k8s.io": frozenset({"APIService"}),
    "apps": frozenset({"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}),
    "authentication.k8s.io": frozenset({"SelfSubjectReview", "TokenReview"}),
    "authorization.k8s.io": frozenset(
        {"LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"}
    ),
    "autoscaling": frozenset({"HorizontalPodAutoscaler"}),
    "batch": frozenset({"CronJob", "Job"}),
    "certificates.k8s.io": frozenset({"CertificateSigningRequest"}),
    "coordination.k8s.io": frozenset({"Lease"}),
    "discovery.k8s.io": frozenset({"EndpointSlice"}),
    "events.k8s.io": frozenset({"Event"}),
    "flowcontrol.apiserver.k8s.io": frozenset({"FlowSchema", "PriorityLevelConfiguration"}),
    "networking.k8s.io": frozenset({"IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR"}),
    "node.k8s.io": frozenset({"RuntimeClass"}),
    "policy": frozenset({"PodDisruptionBudget"}),
    "rbac.authorization.k8s.io": frozenset({"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}),
    "resource.k8s.io": frozenset({"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"}),
    "scheduling.k8s.io": frozenset({"PriorityClass"}),
    "storage.k8s.io": frozenset(
        {"CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"}
    ),
}


def is_known_kind(group: str, kind: str) -> bool:
    """Whether the kind is one of Kubernetes or of Kueue."""
    return group == kueue.GROUP or kind in KUBERNETES_KINDS.get(group, ())
