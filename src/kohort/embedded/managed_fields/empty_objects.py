"""The initial state of objects of built-in kinds.

kube-apiserver holds these kinds as structs: parts and zero values that are always present are owned by no manager.
Custom resources start empty.
"""

from collections.abc import Mapping
from typing import Any

_POD_SPEC = {"containers": None}
_TEMPLATE = {"metadata": {}, "spec": _POD_SPEC}
_CLAIM_SPEC = {"devices": {"requests": None}}
_NAMES = {"plural": "", "kind": ""}
_PLAIN: Mapping[str, Any] = {"spec": {}, "status": {}}
_SPEC_ONLY: Mapping[str, Any] = {"spec": {}}
_SELECTED = {"selector": None, "template": _TEMPLATE}
_NODE_INFO = (
    "machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion kubeProxyVersion "
    "operatingSystem architecture"
)
_ROLE_BINDING = {"roleRef": {"apiGroup": "", "kind": "", "name": ""}}

_BLANKS: dict[str, Mapping[str, Any]] = {
    "v1/Event": {
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    },
    "v1/LimitRange": {"spec": {"limits": None}},
    "v1/Namespace": _PLAIN,
    "v1/Node": {
        "spec": {},
        "status": {
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
            "nodeInfo": dict.fromkeys(_NODE_INFO.split(), ""),
        },
    },
    "v1/PersistentVolume": _PLAIN,
    "v1/PersistentVolumeClaim": {"spec": {"resources": {}}, "status": {}},
    "v1/Pod": {"spec": _POD_SPEC, "status": {}},
    "v1/PodTemplate": {"template": _TEMPLATE},
    "v1/ReplicationController": {"spec": {}, "status": {"replicas": 0}},
    "v1/ResourceQuota": _PLAIN,
    "v1/Service": {"spec": {}, "status": {"loadBalancer": {}}},
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": _PLAIN,
    "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": _SPEC_ONLY,
    "apiextensions.k8s.io/v1/CustomResourceDefinition": {
        "spec": {"group": "", "names": _NAMES, "scope": "", "versions": None},
        "status": {"conditions": None, "acceptedNames": _NAMES, "storedVersions": None},
    },
    "apiregistration.k8s.io/v1/APIService": {"spec": {"groupPriorityMinimum": 0, "versionPriority": 0}, "status": {}},
    "apps/v1/ControllerRevision": {"data": None, "revision": 0},
    "apps/v1/DaemonSet": {
        "spec": {**_SELECTED, "updateStrategy": {}},
        "status": {"currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0},
    },
    "apps/v1/Deployment": {"spec": {**_SELECTED, "strategy": {}}, "status": {}},
    "apps/v1/ReplicaSet": {"spec": _SELECTED, "status": {"replicas": 0}},
    "apps/v1/StatefulSet": {
        "spec": {**_SELECTED, "serviceName": "", "updateStrategy": {}},
        "status": {"replicas": 0, "availableReplicas": 0},
    },
    "autoscaling/v2/HorizontalPodAutoscaler": {
        "spec": {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0},
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    },
    "batch/v1/CronJob": {
        "spec": {"schedule": "", "jobTemplate": {"metadata": {}, "spec": {"template": _TEMPLATE}}},
        "status": {},
    },
    "batch/v1/Job": {"spec": {"template": _TEMPLATE}, "status": {}},
    "certificates.k8s.io/v1/CertificateSigningRequest": {"spec": {"request": None, "signerName": ""}, "status": {}},
    "coordination.k8s.io/v1/Lease": _SPEC_ONLY,
    "discovery.k8s.io/v1/EndpointSlice": {"addressType": "", "endpoints": None, "ports": None},
    "events.k8s.io/v1/Event": {
        "eventTime": None,
        "regarding": {},
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    },
    "networking.k8s.io/v1/Ingress": {"spec": {}, "status": {"loadBalancer": {}}},
    "networking.k8s.io/v1/IngressClass": _SPEC_ONLY,
    "networking.k8s.io/v1/NetworkPolicy": {"spec": {"podSelector": {}}},
    "node.k8s.io/v1/RuntimeClass": {"handler": ""},
    "policy/v1/PodDisruptionBudget": {
        "spec": {},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
    },
    "rbac.authorization.k8s.io/v1/ClusterRole": {"rules": None},
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding": _ROLE_BINDING,
    "rbac.authorization.k8s.io/v1/Role": {"rules": None},
    "rbac.authorization.k8s.io/v1/RoleBinding": _ROLE_BINDING,
    "resource.k8s.io/v1/DeviceClass": _SPEC_ONLY,
    "resource.k8s.io/v1/ResourceClaim": {"spec": _CLAIM_SPEC, "status": {}},
    "resource.k8s.io/v1/ResourceClaimTemplate": {"spec": {"metadata": {}, "spec": _CLAIM_SPEC}},
    "resource.k8s.io/v1/ResourceSlice": {
        "spec": {"driver": "", "pool": {"name": "", "generation": 0, "resourceSliceCount": 0}}
    },
    "scheduling.k8s.io/v1/PriorityClass": {"value": 0},
    "storage.k8s.io/v1/StorageClass": {"provisioner": ""},
}


def initial_state(obj: Mapping[str, Any]) -> dict[str, Any]:
    """The initial state of an object of this kind."""
    head: dict[str, Any] = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": {}}
    return {**head, **_BLANKS.get(f"{obj.get('apiVersion')}/{obj.get('kind')}", {})}
