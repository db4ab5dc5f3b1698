"""Custom resources: Kohort's, installed as users do, and one with all schema features."""

# ruff: noqa: E501 - a command stands whole, as one would type it

from conformance.differences import PRINTED_RULE, PRINTED_VERSIONS
from conformance.manifests import as_list
from conformance.script import OutputFormat, Script, Step
from kohort.api.crds import WebhookService, definitions

_UNCONVERTED = as_list(
    {**each, "spec": {**each["spec"], "conversion": {"strategy": "None"}}} for each in definitions(WebhookService())
)
"""Without a conversion webhook: none is served here, and only one version is used."""

_FLAVOR = "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: wire}}"
_CLUSTER_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: wire}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: wire, resources: [{name: cpu, nominalQuota: 4}]}]
"""
_LOCAL_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team}
spec: {clusterQueue: wire}
"""
_WORKLOAD = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: work}
spec:
  queueName: team
  unknown: dropped
  podSets:
  - count: 2
    template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
"""
_OWNED = _WORKLOAD.replace("name: work", "name: owned").replace("  unknown: dropped\n", "")


def _condition(kind: str, message: str = "m") -> str:
    """A Workload of which a client applies one condition."""
    output = (
        f'type: {kind}, status: "True", reason: Test, message: {message}, lastTransitionTime: "2026-01-01T00:00:00Z"'
    )
    head = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: owned}\n"
    return f"{head}status: {{conditions: [{{{output}}}]}}\n"


_KOHORT = Script(
    "kohort",
    (
        Step("apply --server-side -f -", _UNCONVERTED),
        Step("wait --for=condition=Established crd --all --timeout=30s -o name", reading=OutputFormat.SORTED),
        Step("api-resources --api-group=kueue.x-k8s.io --sort-by=name", retry_seconds=20),
        Step("explain clusterqueue", retry_seconds=20),
        Step("explain workload.spec.podSets", retry_seconds=20),
        Step("explain localqueue.status --recursive"),
        Step("create -f -", _FLAVOR),
        Step("create -f -", _CLUSTER_QUEUE),
        Step("create -f - -o yaml", _LOCAL_QUEUE),
        Step("create -f -", _WORKLOAD),
        Step("create -f - --validate=warn", _WORKLOAD),
        Step("create -f - --validate=ignore", _WORKLOAD.replace("name: work", "name: quiet")),
        Step("get workload work -o yaml --show-managed-fields"),
        Step("get clusterqueues,localqueues,workloads,resourceflavors"),
        Step("get clusterqueue wire -o wide"),
        Step("get cq wire -o yaml"),
        Step("describe localqueue team"),
        Step("describe clusterqueue wire"),
        Step("create -f -", _CLUSTER_QUEUE.replace("nominalQuota: 4", "nominalQuota: lots")),
        Step("create -f -", _CLUSTER_QUEUE.replace("name: wire}", "name: bad}").replace("[cpu]", "cpu")),
        Step("create -f -", _CLUSTER_QUEUE.replace("name: wire}", "name: bad}").replace("nominalQuota: 4", "x: 4")),
        Step("create -f -", _CLUSTER_QUEUE.replace("name: wire}", "name: Bad_Name}")),
        Step(
            "create -f -",
            _LOCAL_QUEUE.replace("name: team", "name: other").replace("clusterQueue: wire", "stopPolicy: Never"),
        ),
        Step("""patch localqueue team --type=merge -p '{"spec": {"clusterQueue": "another"}}'"""),
        Step("""patch localqueue team -p '{"spec": {"clusterQueue": "another"}}'"""),
        Step("""patch localqueue team --type=merge -p '{"spec": {"stopPolicy": "Sometimes"}}'"""),
        Step("""patch localqueue team --type=merge -p '{"spec": {"stopPolicy": "Hold"}}' -o yaml"""),
        Step("""patch workload work --type=merge -p '{"spec": {"priority": 5}}' -o yaml"""),
        Step(
            """patch workload work --type=merge --subresource=status -p '{"status": {"conditions": [{"type": "Evicted", "status": "True", "reason": "Test", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}'"""
        ),
        Step(
            """patch workload work --type=merge --subresource=status -p '{"status": {"conditions": [{"type": "Evicted"}]}}'"""
        ),
        Step("wait --for=condition=Evicted workload/work --timeout=5s"),
        Step("get workload work -o jsonpath='{.status.conditions[0].reason} {.metadata.generation}'"),
        Step("label workload work a=b"),
        Step("annotate workload work a=b"),
        Step("edit localqueue team -o name", editor="sed -i s/Hold/None/"),
        Step("apply -f -", _LOCAL_QUEUE),
        Step("apply -f - --server-side", _LOCAL_QUEUE),
        Step("diff -f -", _LOCAL_QUEUE.replace("spec: {", "spec: {stopPolicy: HoldAndDrain, ")),
        Step("apply --server-side -f - --field-manager=alice", _OWNED),
        Step("apply --server-side -f - --field-manager=bob", _OWNED.replace("busybox", "alpine")),
        Step("apply --server-side -f - --field-manager=bob --force-conflicts", _OWNED.replace("busybox", "alpine")),
        Step("apply --server-side --subresource=status -f - --field-manager=alice", _condition("Evicted")),
        Step("apply --server-side --subresource=status -f - --field-manager=bob", _condition("Requeued")),
        Step("apply --server-side --subresource=status -f - --field-manager=bob", _condition("Evicted", "mine")),
        Step("""get workload owned -o jsonpath='{.metadata.managedFields[?(@.manager=="alice")].fieldsV1}'"""),
        Step("""get workload owned -o jsonpath='{.metadata.managedFields[?(@.manager=="bob")].fieldsV1}'"""),
        Step("get workloads --field-selector spec.queueName=team"),
        Step("get workloads -l a=b -o name"),
        Step("delete workload --all"),
        Step("delete localqueue team"),
        Step("delete clusterqueue wire --wait=false -o name"),
        Step("delete resourceflavor wire --wait=false -o name"),
    ),
)

_WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.wire.example.com}
spec:
  group: wire.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    selectableFields: [{jsonPath: .spec.colour}]
    additionalPrinterColumns:
    - {name: Colour, type: string, jsonPath: .spec.colour, description: What it looks like}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Secret, type: string, jsonPath: .spec.secret, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        description: A widget.
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [colour]
            x-kubernetes-validations:
            - {rule: "self.replicas <= self.most", message: replicas must not exceed most}
            - {rule: "self.colour == oldSelf.colour", message: colour is immutable}
            properties:
              colour: {type: string, enum: [red, green, blue], description: One of three.}
              replicas: {type: integer, default: 1, minimum: 0}
              most: {type: integer, default: 10}
              secret: {type: string, maxLength: 5, pattern: "^[a-z]*$"}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer, format: int32}}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              port: {x-kubernetes-int-or-string: true}
          status: {type: object, properties: {replicas: {type: integer}, selector: {type: string}}}
"""
_WIDGET = """
apiVersion: wire.example.com/v1
kind: Widget
metadata: {name: w}
spec: {colour: red, secret: abc, parts: [{name: a, size: 1}], free: {any: [1, 2]}, port: 80}
"""

_OWN = Script(
    "widgets",
    (
        Step("create -f -", _WIDGETS),
        Step("wait --for=condition=Established crd/widgets.wire.example.com --timeout=20s"),
        Step("get crd widgets.wire.example.com"),
        Step("get crd widgets.wire.example.com -o yaml"),
        Step("get widgets", retry_seconds=20),
        Step("explain widget", retry_seconds=20),
        Step("explain widgets.spec --recursive"),
        Step("explain widgets.spec.colour"),
        Step("create -f - -o yaml", _WIDGET, retry_seconds=20),
        Step("get wd"),
        Step("get wd -o wide"),
        Step("get all"),
        Step("describe widget w"),
        Step("create -f -", _WIDGET.replace("name: w}", "name: x}").replace("colour: red", "colour: pink")),
        Step(
            "create -f -",
            _WIDGET.replace("name: w}", "name: x}").replace("colour: red, ", "replicas: 11, colour: red, "),
        ),
        Step("create -f -", _WIDGET.replace("name: w}", "name: x}").replace("secret: abc", "secret: ABCDEF")),
        Step("create -f -", _WIDGET.replace("name: w}", "name: x}").replace("size: 1", "size: one")),
        Step(
            "create -f -",
            _WIDGET.replace("name: w}", "name: x}").replace("[{name: a, size: 1}]", "[{name: a}, {name: a}]"),
        ),
        Step("create -f -", "{apiVersion: wire.example.com/v1, kind: Widget, metadata: {name: x}}"),
        Step("""patch widget w --type=merge -p '{"spec": {"colour": "blue"}}'"""),
        Step("scale widget w --replicas=3"),
        Step("scale widget w --replicas=30"),
        Step(
            "get --raw /apis/wire.example.com/v1/namespaces/conformance-widgets/widgets/w/scale",
            reading=OutputFormat.JSON,
        ),
        Step(
            """patch widget w --type=merge --subresource=status -p '{"status": {"replicas": 2}, "spec": {"most": 3}}' -o yaml"""
        ),
        Step("get widgets --field-selector spec.colour=red -o name"),
        Step("get widgets --field-selector spec.secret=abc -o name"),
        Step("apply --server-side -f - --field-manager=other", _WIDGET.replace("size: 1", "size: 2")),
        Step("apply --server-side -f - --field-manager=other --force-conflicts", _WIDGET.replace("size: 1", "size: 2")),
        Step("get widget w -o yaml --show-managed-fields"),
        Step(
            "create -f -",
            _WIDGETS.replace("storage: true", "storage: false")
            .replace("widgets", "gadgets")
            .replace("Widget", "Gadget"),
            differs=(PRINTED_VERSIONS,),
        ),
        Step(
            "create -f -",
            _WIDGETS.replace("self.replicas <= self.most", "self.nothing").replace("widgets", "gadgets"),
            differs=(PRINTED_RULE,),
        ),
        Step("delete crd widgets.wire.example.com"),
        Step("get widgets", retry_seconds=0),
    ),
)

_SIZES = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sizes.wire.example.com}
spec:
  group: wire.example.com
  scope: Namespaced
  names: {plural: sizes, singular: size, kind: Size}
  versions:
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      wide: {type: integer}, colour: {type: string, default: red}}}}}}
  - name: v2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {
      wide: {type: integer}, high: {type: integer, default: 1}}}}}}
"""
_SIZE = "{apiVersion: wire.example.com/v1, kind: Size, metadata: {name: s}, spec: {wide: 1, colour: blue}}"
_OLD, _NEW = "sizes.v1.wire.example.com", "sizes.v2.wire.example.com"

_VERSIONS = Script(
    "versions",
    (
        Step("create -f -", _SIZES),
        Step("wait --for=condition=Established crd/sizes.wire.example.com --timeout=30s", retry_seconds=10),
        Step(f"get {_OLD}", retry_seconds=20),
        Step(f"get {_NEW}", retry_seconds=20),
        Step("create -f - --dry-run=server -o yaml", _SIZE),
        Step("create -f - -o yaml", _SIZE),
        Step(f"get {_OLD} s -o yaml"),
        Step(f"get {_NEW} s -o yaml"),
        Step(f"""patch {_NEW} s --type=merge -p '{{"spec": {{"high": 3}}}}' -o yaml"""),
        Step(f"""patch {_OLD} s --type=merge --dry-run=server -p '{{"spec": {{"colour": "red"}}}}' -o yaml"""),
        Step(f"get {_OLD} s -o yaml", saves="seen"),
        Step("replace -f - -o yaml", "<<seen>>"),
        Step(f"get {_NEW} s -o yaml"),
        Step("delete crd sizes.wire.example.com"),
    ),
)

CHAPTERS = (_KOHORT, _OWN, _VERSIONS)
