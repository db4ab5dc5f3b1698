"""Changes: client-side and server-side apply, patches, edits, labels, replacement, and kubectl's `set` commands."""

# ruff: noqa: E501 - a command stands whole, as one would type it

from conformance.differences import PRINTED_PATCH
from conformance.script import OutputFormat, Script, Step

_CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: conf, labels: {tier: one}}
data: {a: "1", b: "2"}
"""
_CHANGED = _CONFIG.replace('b: "2"', 'c: "3"')
_SHOP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, labels: {app: shop}}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - {name: web, image: "nginx:1.27", ports: [{containerPort: 80}], env: [{name: A, value: "1"}]}
      - {name: side, image: busybox}
"""
_NO_SIDE = _SHOP.replace("      - {name: side, image: busybox}\n", "").replace("nginx:1.27", "nginx:1.28")

_CLIENT_SIDE = Script(
    "apply",
    (
        Step("apply -f - --dry-run=client", _CONFIG),
        Step("apply -f - --dry-run=server -o yaml", _CONFIG),
        Step("diff -f -", _CONFIG),
        Step("apply -f -", _CONFIG),
        Step("diff -f -", _CONFIG),
        Step("apply -f -", _CONFIG),
        Step("diff -f -", _CHANGED),
        Step("apply -f - -o yaml", _CHANGED),
        Step("apply view-last-applied configmap/conf"),
        Step("get configmap conf -o yaml --show-managed-fields"),
        Step("apply -f -", _SHOP),
        Step("apply -f -", _NO_SIDE),
        Step("get deployment shop -o yaml --show-managed-fields"),
        Step("create configmap unapplied --from-literal=a=1"),
        Step("apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: unapplied}, data: {b: '2'}}"),
        Step("get configmap unapplied -o yaml"),
        Step("apply -f - --prune -l tier=one --prune-allowlist=core/v1/ConfigMap", _CONFIG.replace("conf,", "kept,")),
        Step("get configmap -l tier=one"),
    ),
)

_APPLIED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: shared, labels: {app: shared}}
spec:
  replicas: 3
  selector: {matchLabels: {app: shared}}
  template:
    metadata: {labels: {app: shared}}
    spec: {containers: [{name: web, image: "nginx:1.27"}]}
"""
_SCALED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: shared}
spec: {replicas: 5}
"""

_SERVER_SIDE = Script(
    "server-side",
    (
        Step("apply --server-side -f - --field-manager=alice", _APPLIED),
        Step("get deployment shared -o yaml --show-managed-fields"),
        Step("apply --server-side -f - --field-manager=bob", _SCALED),
        Step("apply --server-side -f - --field-manager=bob --force-conflicts", _SCALED),
        Step("get deployment shared -o yaml --show-managed-fields"),
        Step("apply --server-side -f - --field-manager=alice", _APPLIED.replace("  replicas: 3\n", "")),
        Step(
            "apply --server-side -f - --field-manager=alice --dry-run=server -o yaml",
            _APPLIED.replace("nginx:1.27", "nginx:1.28").replace("  replicas: 3\n", ""),
        ),
        Step("apply --server-side -f - --field-manager=bob", _SCALED.replace("spec: {replicas: 5}", "")),
        Step("get deployment shared -o jsonpath='{.spec.replicas}'"),
        Step("apply -f -", _APPLIED.replace("shared", "moved")),
        Step("apply --server-side -f -", _APPLIED.replace("shared", "moved")),
        Step("get deployment moved -o yaml --show-managed-fields"),
        Step(
            "diff --server-side -f - --field-manager=alice",
            _APPLIED.replace("  replicas: 3\n", "").replace("1.27", "1.29"),
        ),
        Step("label deployment shared touched=yes"),
        Step("get deployment shared -o yaml --show-managed-fields"),
        Step("apply --server-side -f - --field-manager=alice", _APPLIED.replace("  replicas: 3\n", "  nothing: 1\n")),
        Step(
            "apply --server-side -f - --validate=false --field-manager=alice",
            _APPLIED.replace("  replicas: 3\n", "  nothing: 1\n"),
        ),
    ),
)

_PATCHES = Script(
    "patches",
    (
        Step("create -f -", _SHOP),
        Step("""patch deployment shop -p '{"spec": {"replicas": 4}}'"""),
        Step("""patch deployment shop -p '{"spec": {"replicas": 4}}'"""),
        Step(
            """patch deployment shop -o yaml -p '{"spec": {"template": {"spec": {"containers": [{"name": "web", """
            """"env": [{"name": "B", "value": "2"}]}, {"name": "side", "$patch": "delete"}]}}}}'"""
        ),
        Step(
            """patch deployment shop --type=merge -p '{"metadata": {"labels": {"app": null, "new": "yes"}}}' -o yaml"""
        ),
        Step(
            """patch deployment shop --type=json -p '[{"op": "replace", "path": "/spec/replicas", "value": 1}, """
            """{"op": "test", "path": "/spec/paused", "value": true}]'"""
        ),
        Step(
            """patch deployment shop --type=json -p '[{"op": "replace", "path": "/spec/replicas", "value": 1}]' -o name"""
        ),
        Step("""patch deployment shop --type=json -p '[{"op": "remove", "path": "/spec/nothing"}]'"""),
        Step("""patch deployment shop --type=json -p '{"op": "remove"}'"""),
        Step("""patch deployment shop --type=merge -p '{"spec": {"replicas": "many"}}'""", differs=(PRINTED_PATCH,)),
        Step("""patch deployment shop --type=merge -p '{"spec": {"replicas": -1}}'"""),
        Step(
            """patch deployment shop --type=merge -p '{"metadata": {"labels": {"new": null}, "finalizers": [], """
            """"annotations": {"gone": null}, "ownerReferences": []}}' -o yaml --show-managed-fields"""
        ),
        Step("""patch deployment shop -p '{"spec": {"unknown": 1}}'"""),
        Step("""patch deployment shop -p '{"spec": {"selector": {"matchLabels": {"app": "other"}}}}'"""),
        Step(
            """patch deployment shop --subresource=status -p '{"status": {"replicas": 1, "observedGeneration": 1}}'"""
        ),
        Step("""patch deployment shop --subresource=scale --type=merge -p '{"spec": {"replicas": 7}}'"""),
        Step("""patch deployment absent -p '{"spec": {"replicas": 4}}'"""),
        Step("""patch deployment shop --dry-run=server -p '{"spec": {"paused": true}}' -o yaml"""),
        Step("get deployment shop -o yaml --show-managed-fields"),
        Step("label deployment shop tier=web"),
        Step("label deployment shop tier=back"),
        Step("label deployment shop tier=back --overwrite"),
        Step("label deployment shop tier- absent-"),
        Step("label deployment shop 'bad key=1'"),
        Step("label deployment shop value=' spaces '"),
        Step("label deployment shop --list"),
        Step("label --all deployment all=yes"),
        Step("annotate deployment shop note='some words'"),
        Step("annotate deployment shop note=other"),
        Step("annotate deployment shop note=other --overwrite"),
        Step("annotate deployment shop note-"),
        Step("edit deployment shop", editor="sed -i s/nginx:1.27/nginx:1.99/"),
        Step("edit deployment shop", editor="true"),
        Step("get deployment shop -o jsonpath='{..image}'"),
        Step("edit deployment shop --subresource=status -o name", editor="sed -i 's/replicas: 1/replicas: 2/'"),
        Step("replace -f -", _SHOP),
        Step("replace -f - --force --grace-period=0", _SHOP),
        Step("replace -f -", _SHOP.replace("name: shop,", "name: absent,")),
        Step("replace -f -", _SHOP.replace("name: shop,", 'name: shop, resourceVersion: "1",')),
    ),
)

_COMMANDS = Script(
    "commands",
    (
        Step("create -f -", _SHOP),
        Step("scale deployment shop --replicas=5"),
        Step("scale deployment shop --replicas=6 --current-replicas=2"),
        Step("scale deployment shop --replicas=-1"),
        Step("scale deployment absent --replicas=1"),
        Step(
            "get --raw /apis/apps/v1/namespaces/conformance-commands/deployments/shop/scale", reading=OutputFormat.JSON
        ),
        Step("set image deployment/shop web=nginx:1.28 side=busybox:2"),
        Step("set image deployment/shop nothing=nginx"),
        Step("set env deployment/shop COLOUR=red A-"),
        Step("set env deployment/shop --list"),
        Step("set resources deployment shop -c web --limits=cpu=200m,memory=64Mi --requests=cpu=100m"),
        Step("set resources deployment shop --limits=cpu=lots"),
        Step("set serviceaccount deployment shop default"),
        Step("set selector service absent a=b"),
        Step("rollout pause deployment/shop"),
        Step("rollout pause deployment/shop"),
        Step("rollout resume deployment/shop"),
        Step("rollout restart deployment/shop"),
        Step("rollout history deployment/shop"),
        Step("rollout status deployment/shop --timeout=1s"),
        Step("rollout undo deployment/shop"),
        Step("get deployment shop -o yaml"),
        Step("get deployment shop -o wide"),
        Step("describe deployment shop"),
        Step("create job work --image=busybox"),
        Step("""patch job work -p '{"spec": {"suspend": true}}'"""),
        Step("scale job work --replicas=2"),
    ),
)

CHAPTERS = (_CLIENT_SIDE, _SERVER_SIDE, _PATCHES, _COMMANDS)
