"""One object of every other served kind: as stored, in columns, and described."""

# ruff: noqa: E501 - a manifest stands whole

from conformance.differences import NULLS, OLD_ENDPOINTS, PRINTER_COLUMNS, STORAGE, Difference
from conformance.script import Script, Step

_POD = "{metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: busybox}]}}"
_SELECTED = f"selector: {{matchLabels: {{app: x}}}}, template: {_POD}"
_OBJECTS = {
    "statefulset": f"{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: x}}, spec: {{serviceName: x, {_SELECTED}}}}}",
    "daemonset": f"{{apiVersion: apps/v1, kind: DaemonSet, metadata: {{name: x}}, spec: {{{_SELECTED}}}}}",
    "replicaset": f"{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: x}}, spec: {{replicas: 2, {_SELECTED}}}}}",
    "replicationcontroller": f"{{apiVersion: v1, kind: ReplicationController, metadata: {{name: x}}, spec: {{template: {_POD}}}}}",
    "podtemplate": f"{{apiVersion: v1, kind: PodTemplate, metadata: {{name: x}}, template: {_POD}}}",
    "networkpolicy": "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: x}, spec: {podSelector: {}, ingress: [{ports: [{port: 80}]}]}}",
    "ingress": "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: x}, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}",
    "ingressclass": "{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: conformance-x}, spec: {controller: example.com/x}}",
    "persistentvolumeclaim": "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: x}, spec: {storageClassName: '', accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
    "persistentvolume": "{apiVersion: v1, kind: PersistentVolume, metadata: {name: conformance-x}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /tmp}}}",
    "storageclass": "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: conformance-x}, provisioner: example.com/x}",
    "lease": "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: x}, spec: {holderIdentity: me, leaseDurationSeconds: 15}}",
    "endpoints": "{apiVersion: v1, kind: Endpoints, metadata: {name: x}, subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]}",
    "endpointslice": "{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x}, addressType: IPv4, endpoints: [{addresses: [192.0.2.1]}], ports: [{port: 80}]}",
    "limitrange": "{apiVersion: v1, kind: LimitRange, metadata: {name: x}, spec: {limits: [{type: Container, max: {cpu: 2}}]}}",
    "horizontalpodautoscaler": "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: x}, spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: x, apiVersion: apps/v1}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}",
    "poddisruptionbudget": "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: x}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: x}}}}",
    "runtimeclass": "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: conformance-x}, handler: x}",
    "priorityclass": "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: conformance-kinds}, value: 7, preemptionPolicy: Never}",
    "deviceclass": "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: conformance-x}, spec: {selectors: [{cel: {expression: 'true'}}]}}",
    "resourceclaim": "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: x}, spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: conformance-x}}]}}}",
    "validatingwebhookconfiguration": "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: conformance-x}, webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore, clientConfig: {service: {name: s, namespace: n}}, namespaceSelector: {matchLabels: {none: here}}, rules: [{apiGroups: [''], apiVersions: [v1], resources: [bindings], operations: [CREATE]}]}]}",
    "validatingadmissionpolicy": "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: conformance-x}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}, validations: [{expression: \"object.metadata.name != 'forbidden'\", message: not this name, messageExpression: \"'not this name for ' + request.options.fieldManager + ', ' + request.options.dryRun[0]\"}]}}",
    "validatingadmissionpolicybinding": "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: conformance-x}, spec: {policyName: conformance-x, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: conformance-kinds}}}}}",
    "clusterrole": "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: conformance-x}, rules: [{nonResourceURLs: [/x], verbs: [get]}]}",
    "service": "{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {clusterIP: None, selector: {app: x}, ports: [{port: 80, targetPort: http}]}}",
    "secret": "{apiVersion: v1, kind: Secret, metadata: {name: x}, type: kubernetes.io/basic-auth, stringData: {username: u, password: p}}",
    "cronjob": "{apiVersion: batch/v1, kind: CronJob, metadata: {name: x}, spec: {schedule: '@hourly', timeZone: Etc/UTC, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}}}}",
}


_SHOWN: dict[str, tuple[Difference, ...]] = {"endpoints": (OLD_ENDPOINTS,)}
_WITHOUT_COLUMNS = (
    "daemonset",
    "replicationcontroller",
    "endpoints",
    "endpointslice",
    "networkpolicy",
    "ingress",
    "ingressclass",
    "horizontalpodautoscaler",
)
_PRINTED = {**_SHOWN, **dict.fromkeys(_WITHOUT_COLUMNS, (PRINTER_COLUMNS,))}
_DESCRIBED = {**_SHOWN, "persistentvolume": (STORAGE,), "persistentvolumeclaim": (STORAGE,)}
_STORED = {**_DESCRIBED, "horizontalpodautoscaler": (NULLS,)}


def _name(manifest: str) -> str:
    return next(name for name in ("conformance-kinds", "conformance-x", "x") if f"{{name: {name}}}" in manifest)


CHAPTERS = (
    Script(
        "kinds",
        (
            *(
                Step("create -f - -o yaml", manifest, differs=_STORED.get(kind, ()))
                for kind, manifest in _OBJECTS.items()
            ),
            *(
                Step(f"get {kind} {_name(manifest)} -o wide", differs=_PRINTED.get(kind, ()))
                for kind, manifest in _OBJECTS.items()
            ),
            *(
                Step(f"describe {kind} {_name(manifest)}", differs=_DESCRIBED.get(kind, ()))
                for kind, manifest in _OBJECTS.items()
            ),
            Step("create configmap forbidden --dry-run=server", retry_seconds=0),
            *(Step(f"scale {kind} x --replicas=3") for kind in ("statefulset", "replicaset", "replicationcontroller")),
            Step("rollout restart daemonset/x statefulset/x"),
            Step("get daemonset x -o yaml"),
            Step("get all -o name"),
        ),
    ),
)
