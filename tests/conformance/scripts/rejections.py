"""Invalid objects and invalid requests: status codes, reasons and messages."""

# ruff: noqa: E501 - a command stands whole, as one would type it

from conformance.differences import LONG_VALUES, PARSING, PRINTED_OBJECTS, TEMPLATE_FIELDS, WATCH_POSITION, Difference
from conformance.script import OutputFormat, Script, Step

_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
"""
_LONG = "x" * 300
_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def _spoiled(old: str, new: str, flags: str = "--dry-run=server", differs: tuple[Difference, ...] = ()) -> Step:
    bad = _JOB.replace("name: job}", "name: bad}").replace(old, new)
    return Step(f"create -f - {flags}", bad, differs=differs)


_OBJECTS = Script(
    "refusals",
    (
        Step("create -f -", _JOB),
        _spoiled("suspend: true", "suspended: true"),
        _spoiled("suspend: true", "suspended: true", "--validate=warn --dry-run=server"),
        _spoiled("suspend: true", "suspended: true", "--validate=ignore --dry-run=server"),
        _spoiled("suspend: true", "suspend: maybe"),
        _spoiled("suspend: true", "suspend: true\n  parallelism: -1"),
        _spoiled("suspend: true", "suspend: true\n  completionMode: Odd"),
        _spoiled("suspend: true", "suspend: true\n  completions: 2.5"),
        _spoiled("suspend: true", "suspend: true\n  suspend: false"),
        _spoiled("restartPolicy: Never, ", ""),
        _spoiled("restartPolicy: Never, ", "restartPolicy: Always, "),
        _spoiled("[{name: c, image: busybox}]", "[]"),
        _spoiled("name: c, image: busybox", "name: c"),
        _spoiled("name: c, ", ""),
        _spoiled("name: c, ", "name: C_c, "),
        _spoiled("image: busybox", "image: busybox, resources: {requests: {cpu: lots}}"),
        _spoiled("image: busybox", "image: busybox, resources: {requests: {cpu: 2}, limits: {cpu: 1}}"),
        _spoiled("image: busybox", "image: busybox, resources: {requests: {cpu: -1}}"),
        _spoiled("image: busybox", "image: busybox, resources: {requests: {gpu: 1}}"),
        _spoiled("image: busybox", "image: busybox, env: [{value: x}]"),
        _spoiled("image: busybox", "image: busybox, ports: [{containerPort: 70000}]"),
        _spoiled("image: busybox", "image: busybox, volumeMounts: [{name: none, mountPath: /x}]"),
        _spoiled("image: busybox", "image: busybox, imagePullPolicy: Often"),
        _spoiled("name: bad}", "name: Bad_Name}"),
        _spoiled("name: bad}", "namespace: elsewhere, name: bad}"),
        _spoiled("name: bad}", "name: bad, labels: {a: 'b c'}}"),
        Step("create -f -", _MAP % _LONG, differs=(LONG_VALUES,)),
        _spoiled("name: bad}", f"name: {'y' * 70}}}", differs=(TEMPLATE_FIELDS,)),
        _spoiled("template: {", "template: {metadata: {labels: {a: 'b c'}}, ", differs=(TEMPLATE_FIELDS,)),
        _spoiled("template: {", "template: {metadata: {annotations: {'b c': a}}, ", differs=(TEMPLATE_FIELDS,)),
        Step("create -f -", _MAP % f"a, labels: {{a: {_LONG}}}", differs=(LONG_VALUES,)),
        _spoiled("name: bad}", "name: bad, annotations: {'a b': c}}"),
        _spoiled("name: bad}", "name: bad, finalizers: [nonsense]}"),
        _spoiled("name: bad}", "name: bad, ownerReferences: [{kind: Job}]}"),
        _spoiled("name: bad}", "name: bad, resourceVersion: '5'}"),
        _spoiled("metadata: {name: bad}", "metadata: {}"),
        Step(
            """patch job job -p '{"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}'""",
            differs=(PRINTED_OBJECTS,),
        ),
        Step("""patch job job -p '{"spec": {"completions": 3}}'"""),
        Step("""patch job job -p '{"metadata": {"uid": "other"}}'"""),
        Step("""patch job job -p '{"metadata": {"name": "other"}}'"""),
        Step("""patch job job -p '{"metadata": {"resourceVersion": "1"}}'"""),
        Step("create -f -", _MAP % "a" + "data: {'bad key': x}"),
        Step("create -f -", _MAP % "a" + "data: {a: x}\nbinaryData: {a: eA==}"),
        Step("create -f -", _MAP % "a" + "data: {a: 1}"),
        Step("create -f -", _MAP % "fixed" + "immutable: true\ndata: {a: x}"),
        Step("""patch configmap fixed -p '{"data": {"a": "y"}}'"""),
        Step("create secret tls t --cert=/dev/null --key=/dev/null"),
        Step("create -f -", "{apiVersion: v1, kind: Secret, metadata: {name: s}, type: kubernetes.io/tls, data: {}}"),
        Step("create -f -", "{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: '!'}}"),
        Step("create -f -", "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 0}]}}"),
        Step("create -f -", "{apiVersion: v1, kind: Service, metadata: {name: 1s}, spec: {ports: [{port: 1}]}}"),
        Step("create -f -", "{apiVersion: v1, kind: Namespace, metadata: {name: Wire}}"),
        Step("create namespace default"),
        Step("delete namespace default"),
        Step(
            "create -f -",
            "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: system-x}, value: 1}",
        ),
        Step(
            "create -f -",
            "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: conformance-x}, value: 2000000000}",
        ),
        Step(
            "create -f -",
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r}, roleRef: {kind: Role, name: x}, subjects: [{kind: User}]}",
        ),
        Step(
            "create -f -",
            "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priorityClassName: absent, containers: [{name: c, image: i}]}}",
        ),
        Step(
            "create -f -",
            "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {serviceAccountName: absent, containers: [{name: c, image: i}]}}",
        ),
        Step(
            "create -f -",
            "{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, default: {cpu: 1}, max: {cpu: 2}}]}}",
        ),
        Step(
            'run big --image=i --overrides=\'{"spec": {"containers": [{"name": "big", "image": "i", "resources": {"limits": {"cpu": "3"}}}]}}\'',
            retry_seconds=0,
        ),
        Step(
            "create -f -",
            "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {leaseDurationSeconds: 0}}",
        ),
    ),
)

_BASE = "/api/v1/namespaces/conformance-requests/configmaps"


def _raw(query: str, reading: OutputFormat = OutputFormat.JSON, differs: tuple[Difference, ...] = ()) -> Step:
    return Step(f"get --raw '{_BASE}?labelSelector=mine&{query}'", reading=reading, differs=differs)


_REQUESTS = Script(
    "requests",
    (
        *(
            Step(
                "create -f -", f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, labels: {{mine: ''}}}}}}"
            )
            for name in "abc"
        ),
        _raw(""),
        _raw("limit=2"),
        _raw("limit=-1"),
        _raw("limit=two"),
        _raw("continue=nonsense", differs=(PARSING,)),
        _raw("resourceVersion=0"),
        _raw("resourceVersion=0&resourceVersionMatch=NotOlderThan"),
        _raw("resourceVersion=0&resourceVersionMatch=Exact"),
        _raw("resourceVersionMatch=Exact"),
        _raw("resourceVersion=1&resourceVersionMatch=Whatever"),
        _raw("resourceVersion=nonsense"),
        _raw("labelSelector=a%3D%3D%3Db"),
        _raw("fieldSelector=nonsense"),
        _raw("fieldSelector=spec.x%3Dy"),
        _raw("watch=true&timeoutSeconds=1&resourceVersion=0", OutputFormat.LINES),
        _raw("watch=true&timeoutSeconds=1", OutputFormat.LINES),
        _raw("watch=maybe&timeoutSeconds=1", OutputFormat.LINES),
        _raw("watch=true&resourceVersion=nonsense&timeoutSeconds=1", differs=(WATCH_POSITION,)),
        _raw("watch=true&resourceVersionMatch=Exact&timeoutSeconds=1"),
        _raw("watch=true&sendInitialEvents=true&timeoutSeconds=1"),
        _raw(
            "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1",
            OutputFormat.LINES,
        ),
        _raw("sendInitialEvents=true"),
        _raw("timeoutSeconds=x"),
        Step(f"get --raw {_BASE}/a", reading=OutputFormat.JSON),
        Step(f"get --raw {_BASE}/absent"),
        Step(f"get --raw {_BASE}/a/status"),
        Step("get --raw /api/v1/namespaces/conformance-requests/nothings"),
        Step("get --raw /api/v1/namespaces/conformance-requests/pods/absent/log"),
        Step("get --raw /apis/batch/v1/namespaces/conformance-requests/jobs", reading=OutputFormat.JSON),
        Step("get --raw /apis/batch/v1/jobs/absent"),
        Step("get --raw /api/v1/nodes/absent"),
        Step(f"create --raw {_BASE} -f -", "nonsense", differs=(PARSING,)),
        Step(f"create --raw {_BASE} -f -", "[]", differs=(PARSING,)),
        Step(
            f"create --raw {_BASE} -f -",
            '{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "z"}}',
            differs=(PARSING,),
        ),
        Step(f"create --raw {_BASE} -f -", '{"metadata": {"name": "z", "namespace": "other"}}'),
        Step(f"create --raw '{_BASE}?dryRun=Some' -f -", '{"metadata": {"name": "z"}}'),
        Step(f"create --raw '{_BASE}?fieldValidation=Odd' -f -", '{"metadata": {"name": "z"}}'),
        Step(f"create --raw {_BASE}/a -f -", '{"metadata": {"name": "z"}}'),
        Step(f"replace --raw {_BASE}/a -f -", '{"metadata": {"name": "b"}}'),
        Step(f"replace --raw {_BASE}/absent -f -", '{"metadata": {"name": "absent"}}'),
        Step(f"replace --raw {_BASE} -f -", '{"metadata": {"name": "a"}}'),
        Step(f"delete --raw '{_BASE}/a?propagationPolicy=Whatever'"),
        Step(f"delete --raw '{_BASE}?labelSelector=mine'", reading=OutputFormat.JSON),
        Step("replace --raw /api -f -", "{}"),
    ),
)

CHAPTERS = (_OBJECTS, _REQUESTS)
