"""Deletion: propagation policies, dependents, namespaces; cordoning and draining nodes."""

# ruff: noqa: E501 - a command stands whole, as one would type it

from conformance.differences import NOT_READY_TAINT
from conformance.script import OutputFormat, Script, Step

_MANY = "\n---\n".join(
    f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{group: {group}}}}}}}"
    for name, group in (("a", "one"), ("b", "one"), ("c", "two"), ("d", "two"), ("e", "three"))
)
_POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {automountServiceAccountToken: false, containers: [{name: c, image: busybox}]}
"""
_HELD = "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}"

_DELETION = Script(
    "deletion",
    (
        Step("create -f -", _MANY),
        Step("delete configmap a"),
        Step("delete configmap a"),
        Step("delete configmap a --ignore-not-found"),
        Step("delete configmap b c --dry-run=server"),
        Step("delete configmap -l group=two"),
        Step("delete configmap -l group=nothing"),
        Step("delete configmap/e --wait=false -o name"),
        Step("delete -f -", _MANY),
        Step("delete configmap --field-selector metadata.name=absent"),
        Step("delete nothing a"),
        Step("delete configmap"),
        Step("create -f -", _HELD),
        Step("delete configmap held --wait=false"),
        Step("delete configmap held --timeout=1s"),
        Step("get configmap held -o yaml"),
        Step("label configmap held late=yes"),
        Step("""patch configmap held --type=merge -p '{"metadata": {"finalizers": ["example.com/more"]}}'"""),
        Step("""patch configmap held --type=merge -p '{"metadata": {"finalizers": null}}'"""),
        Step("get configmap held"),
        Step("create -f -", _POD),
        Step("delete pod p"),
        Step("create -f -", _POD.replace("spec: {", "spec: {nodeName: elsewhere, ")),
        Step("delete pod p --wait=false"),
        Step("get pod p -o yaml"),
        Step("delete pod p --grace-period=0 --force"),
        Step("get pods"),
        Step("create -f -", _MANY),
        Step("delete configmap --all --wait=false", reading=OutputFormat.SORTED),
        Step("delete --raw /api/v1/namespaces/conformance-deletion/configmaps/absent"),
    ),
)

_NODE = """
apiVersion: v1
kind: Node
metadata: {name: conformance-node, labels: {disk: ssd, kubernetes.io/hostname: conformance-node, node-role.kubernetes.io/worker: ""}}
spec: {podCIDR: 10.244.0.0/24}
status:
  capacity: {cpu: "4", memory: 8Gi, pods: "110"}
  allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "True", reason: KubeletReady, message: ok, lastHeartbeatTime: "2026-01-01T00:00:00Z", lastTransitionTime: "2026-01-01T00:00:00Z"}]
  addresses: [{type: InternalIP, address: 192.0.2.1}, {type: Hostname, address: conformance-node}]
  nodeInfo: {kubeletVersion: v1.37.1, osImage: Linux, kernelVersion: "6", containerRuntimeVersion: none://1, architecture: amd64, operatingSystem: linux, bootID: b, machineID: m, systemUUID: s, kubeProxyVersion: ""}
"""
_PLACED = _POD.replace("spec: {", "spec: {nodeName: conformance-node, terminationGracePeriodSeconds: 0, ")
_BUDGET = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: keep}
spec: {minAvailable: 1, selector: {matchLabels: {app: kept}}}
"""

_NODES = Script(
    "nodes",
    (
        Step("create -f -", _NODE),
        Step("get node conformance-node"),
        Step("get node conformance-node -o wide"),
        Step("get node conformance-node -o yaml", differs=(NOT_READY_TAINT,)),
        Step("create -f -", _PLACED),
        Step(
            """patch pod p --subresource=status -p '{"status": {"phase": "Running", "podIP": "192.0.2.7"}}' -o yaml"""
        ),
        Step("get pod p -o wide"),
        Step("describe node conformance-node", differs=(NOT_READY_TAINT,)),
        Step("cordon conformance-node"),
        Step("cordon conformance-node"),
        Step("get node conformance-node"),
        Step("uncordon conformance-node"),
        Step("taint node conformance-node key=value:NoSchedule"),
        Step("taint node conformance-node key=value:NoSchedule"),
        Step("taint node conformance-node key=other:NoSchedule --overwrite"),
        Step("taint node conformance-node key-"),
        Step("taint node conformance-node key-"),
        Step("taint node conformance-node bad:Effect"),
        Step("taint node absent key=value:NoSchedule"),
        Step("drain conformance-node --dry-run=server"),
        Step("drain conformance-node"),
        Step("drain conformance-node --force"),
        Step("get pods"),
        Step("create -f -", _BUDGET),
        Step("create -f -", _PLACED.replace("name: p}", "name: kept, labels: {app: kept}}")),
        Step("drain conformance-node --force --timeout=2s"),
        Step("get pdb"),
        Step("logs kept"),
        Step("top node"),
        Step("delete node conformance-node"),
    ),
)

_OWNED = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: <<uid>>, blockOwnerDeletion: true}}]
"""
_UID = Step("get configmap owner -o jsonpath='{.metadata.uid}'", saves="uid")

_DEPENDENTS = Script(
    "dependents",
    (
        Step("create configmap owner"),
        _UID,
        Step("create -f -", _OWNED.format(name="background")),
        Step("delete configmap owner --cascade=background"),
        Step("wait --for=delete configmap/background --timeout=30s", reading=OutputFormat.NOTHING),
        Step("create configmap owner"),
        _UID,
        Step("create -f -", _OWNED.format(name="foreground")),
        Step("delete configmap owner --cascade=foreground --timeout=30s"),
        Step("get configmap foreground"),
        Step("create configmap owner"),
        _UID,
        Step("create -f -", _OWNED.format(name="orphan")),
        Step("delete configmap owner --cascade=orphan --timeout=30s"),
        Step("get configmap orphan -o yaml"),
        Step("create -f -", _OWNED.format(name="late")),
        Step("wait --for=delete configmap/late --timeout=30s", reading=OutputFormat.NOTHING),
        Step("create job parent --image=busybox"),
        Step("delete job parent --cascade=orphan --timeout=30s"),
        Step("get job parent"),
    ),
)

_HOLDING = """
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: conformance-gone, finalizers: [example.com/hold]}
"""

_NAMESPACES = Script(
    "namespaces",
    (
        Step("create namespace conformance-gone"),
        Step("create configmap plain -n conformance-gone"),
        Step("create -f - -n conformance-gone", _HOLDING),
        Step("delete namespace conformance-gone --wait=false"),
        Step("get namespace conformance-gone"),
        Step("wait --for=delete configmap/plain -n conformance-gone --timeout=30s", reading=OutputFormat.NOTHING),
        Step("create configmap late -n conformance-gone"),
        Step("wait --for=condition=NamespaceFinalizersRemaining namespace/conformance-gone --timeout=30s"),
        Step("get namespace conformance-gone -o jsonpath='{.status}'", reading=OutputFormat.JSON),
        Step("""patch configmap held -n conformance-gone --type=merge -p '{"metadata": {"finalizers": null}}'"""),
        Step("wait --for=delete namespace/conformance-gone --timeout=40s", reading=OutputFormat.NOTHING),
        Step("get namespace conformance-gone"),
        Step("create namespace conformance-gone"),
        Step("wait --for=create serviceaccount/default -n conformance-gone --timeout=30s"),
        Step("get configmaps -n conformance-gone -o name"),
        Step("delete namespace conformance-gone --timeout=40s"),
        Step("delete serviceaccount default"),
        Step("wait --for=create serviceaccount/default --timeout=30s"),
    ),
)

CHAPTERS = (_DELETION, _NODES, _DEPENDENTS, _NAMESPACES)
