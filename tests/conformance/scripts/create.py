"""Creation by kubectl's generators (as protobuf) and from manifests."""

# ruff: noqa: E501 - a command stands whole, as one would type it

from conformance.differences import TOKEN_VOLUME
from conformance.masks import Mask
from conformance.script import OutputFormat, Script, Step

_REQUESTING = """
apiVersion: v1
kind: Pod
metadata: {{name: {}}}
spec: {{containers: [{{name: c, image: busybox, resources: {{requests: {{cpu: {}}}}}}}]}}
"""

_GENERATORS = Script(
    "generators",
    (
        Step("create namespace conformance-made"),
        Step("get namespace conformance-made -o yaml"),
        Step("create configmap settings --from-literal=colour=red --from-literal=size=3 -o yaml"),
        Step("create configmap settings --from-literal=colour=red"),
        Step("create secret generic password --from-literal=user=me --from-literal=pass=hush -o yaml"),
        Step("create secret docker-registry pull --docker-username=a --docker-password=b -o yaml"),
        Step("create serviceaccount robot -o yaml"),
        Step("create token robot"),
        Step("create token robot --duration=1h --audience=elsewhere -o json", reading=OutputFormat.JSON),
        Step("create token missing"),
        Step("create job sums --image=busybox -o yaml -- sh -c 'echo 1'"),
        Step("create cronjob nightly --image=busybox --schedule='0 3 * * *' -o yaml -- date"),
        Step("create job tonight --from=cronjob/nightly -o yaml"),
        Step("create cronjob never --image=busybox --schedule='whenever' -- date"),
        Step("create deployment shop --image=nginx:1.27 --replicas=2 --port=80 -o yaml"),
        Step("create role reader --verb=get,list --resource=pods,jobs.batch,pods/log -o yaml"),
        Step(
            "create rolebinding readers --role=reader --user=rita --group=readers --serviceaccount=default:robot -o yaml"
        ),
        Step("create clusterrole conformance-lister --verb=list --resource=nodes -o yaml"),
        Step("create clusterrole conformance-sum --aggregation-rule=wire=yes -o yaml"),
        Step("create clusterrolebinding conformance-listers --clusterrole=conformance-lister --group=listers -o yaml"),
        Step("create priorityclass conformance-high --value=1000 --description=first -o yaml"),
        Step("create service clusterip front --tcp=80:8080 -o yaml"),
        Step("create service nodeport open --tcp=443 -o yaml", masks=(Mask(r"nodePort: \d+", "nodePort: <port>"),)),
        Step("create service externalname away --external-name=example.com -o yaml"),
        Step("create ingress shop --rule='shop.example.com/cart*=front:80,tls=cert' -o yaml"),
        Step("create poddisruptionbudget keep --selector=app=shop --min-available=1 -o yaml"),
        Step("create deployment dry --image=nginx --dry-run=server -o yaml"),
        Step("create deployment dry --image=nginx --dry-run=client -o name"),
        Step("get deployment dry"),
        Step("run one --image=busybox --dry-run=client -o yaml -- sleep 1"),
        Step("run one --image=busybox --labels=a=b --env=X=1 -- sleep 1"),
        Step("get pod one -o yaml", differs=(TOKEN_VOLUME,)),
        Step("expose deployment shop --port=80 --target-port=8080 --name=shop-front -o yaml"),
        Step("autoscale deployment shop --min=1 --max=4 --cpu=80% -o yaml"),
        Step("get all -o name"),
        Step(
            "get pods,services,deployments.apps,jobs.batch,cronjobs.batch",
            masks=(Mask(r"443:\d+/TCP", "443:<port>/TCP"),),
        ),
    ),
)

_QUOTA = Script(
    "quota",
    (
        Step("create quota small --hard=cpu=2,pods=2,count/jobs.batch=1 -o yaml"),
        Step("wait --for=jsonpath='{.status.hard.pods}'=2 quota/small --timeout=10s"),
        Step("get quota small -o yaml"),
        Step("get quota"),
        Step("describe quota small"),
        Step("run one --image=busybox -- sleep 1"),
        Step("create -f -", _REQUESTING.format("one", 1)),
        Step("create -f -", _REQUESTING.format("two", 2)),
        Step("create job first --image=busybox"),
        Step("create job second --image=busybox"),
        Step("get quota"),
        Step("describe namespace conformance-quota"),
    ),
)

_CLAIM = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: conformance-growing}
provisioner: example.com/none
allowVolumeExpansion: true
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {storageClassName: conformance-growing, accessModes: [ReadWriteOnce], resources: {requests: {storage: 4Gi}}}
"""
_MORE_PORTS = '[{"op":"add","path":"/spec/ports/-","value":{"name":"more","port":8080}}]'

_QUOTA_CHANGES = Script(
    "quota-changes",
    (
        Step("create quota some --hard=services.nodeports=2,requests.storage=10Gi"),
        Step("create quota none --hard=pods=0 --scopes=Terminating"),
        Step("wait --for=jsonpath='{.status.hard}' quota/some quota/none --timeout=10s"),
        Step("create service clusterip web --tcp=80 --tcp=443"),
        Step("""patch service web -p '{"spec":{"type":"NodePort"}}'"""),
        Step(f"patch service web --type=json -p '{_MORE_PORTS}'"),
        Step("label service web kind=full"),
        Step("create -f -", _CLAIM),
        Step("""patch pvc disk --subresource=status -p '{"status":{"phase":"Bound","capacity":{"storage":"4Gi"}}}'"""),
        Step("""patch pvc disk -p '{"spec":{"resources":{"requests":{"storage":"11Gi"}}}}'"""),
        Step("""patch pvc disk -p '{"spec":{"resources":{"requests":{"storage":"10Gi"}}}}'"""),
        Step("run endless --image=busybox"),
        Step("label pod endless kind=endless"),
        Step("""patch pod endless -p '{"spec":{"activeDeadlineSeconds":10}}'"""),
        Step("get quota some -o jsonpath='{.status.used}'", reading=OutputFormat.JSON),
        Step("delete storageclass conformance-growing"),
    ),
)

_TWO = """
apiVersion: v1
kind: ConfigMap
metadata: {name: first, labels: {set: two}}
data: {a: "1"}
---
# An empty document is no object.
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, labels: {set: two}}
binaryData: {b: AAEC}
"""
_LIST = """
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "listed"}, "stringData": {"x": "y"}},
  {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "listed"}, "spec": {"suspend": true, "template":
    {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}}}]}
"""
_NAMELESS = """
apiVersion: v1
kind: ConfigMap
metadata: {generateName: made-}
"""
_POD = """
apiVersion: v1
kind: Pod
metadata: {name: full, labels: {app: full}}
spec:
  terminationGracePeriodSeconds: 5
  automountServiceAccountToken: false
  nodeSelector: {disk: ssd}
  tolerations: [{key: gpu, operator: Exists, effect: NoSchedule}]
  volumes:
  - {name: tmp, emptyDir: {sizeLimit: 1Gi}}
  - {name: conf, configMap: {name: first}}
  initContainers: [{name: before, image: busybox, command: ["true"]}]
  containers:
  - name: main
    image: registry.example.com/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    ports: [{containerPort: 8080, name: http}]
    env: [{name: HERE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}]
    resources: {requests: {cpu: 0.5, memory: 128Mi}, limits: {cpu: "1", memory: 256Mi}}
    livenessProbe: {httpGet: {path: /healthz, port: http}}
    volumeMounts: [{name: tmp, mountPath: /tmp}, {name: conf, mountPath: /conf, readOnly: true}]
"""

_MANIFESTS = Script(
    "manifests",
    (
        Step("create -f -", _TWO),
        Step("create -f -", _TWO),
        Step("get configmaps -l set=two -o yaml"),
        Step("create -f - -o name", _LIST),
        Step("get secret/listed job/listed -o yaml"),
        Step("create -f -", _NAMELESS, masks=(Mask(r"made-\w{5}", "made-<random>"),)),
        Step("create -f - -o yaml", _POD),
        Step("create -f - --dry-run=server -o json", _POD.replace("name: full", "name: dry", 1), OutputFormat.JSON),
        Step("create -f - --save-config", "{apiVersion: v1, kind: ConfigMap, metadata: {name: saved}}"),
        Step("get configmap saved -o yaml --show-managed-fields"),
        Step(
            "create -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: conformance-missing}}"
        ),
        Step("create -f -", "{apiVersion: v1, kind: ConfigMapp, metadata: {name: lost}}"),
        Step("create -f -", "{kind: ConfigMap, metadata: {name: lost}}"),
        Step("create -f -", "not: [valid"),
        Step(
            "create --raw /api/v1/namespaces/conformance-manifests/configmaps -f -",
            '{"metadata": {"name": "raw"}}',
            reading=OutputFormat.JSON,
        ),
        Step("get configmap raw"),
    ),
)

CHAPTERS = (_GENERATORS, _QUOTA, _QUOTA_CHANGES, _MANIFESTS)
