"""Reads: output formats, selectors, pagination, watches, descriptions, waiting."""

# ruff: noqa: E501 - a command stands whole, as one would type it

from conformance.differences import NULLS, OLD_GROUPS, SELECTOR_WORDS, SERVICE_PORT
from conformance.script import OutputFormat, Script, Step

_OBJECTS = """
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {tier: web, size: big}}, data: {k: v}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {tier: db}}, data: {k: v, l: w}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {tier: web}, annotations: {rank: "1"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {tier: db}}, type: Opaque, stringData: {key: value}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {tier: web}}
spec:
  automountServiceAccountToken: false
  containers: [{name: main, image: busybox, resources: {requests: {cpu: 100m}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: placed, labels: {tier: db}}
spec:
  automountServiceAccountToken: false
  nodeName: elsewhere
  containers: [{name: main, image: busybox}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, labels: {tier: web}}
spec:
  parallelism: 2
  completions: 4
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}
"""

_FORMS = Script(
    "forms",
    (
        Step("create -f -", _OBJECTS),
        Step("get configmaps"),
        Step("get configmaps,secrets,jobs,pods"),
        Step("get pods -o wide"),
        Step("get jobs -o wide"),
        Step("get configmap a -o yaml"),
        Step("get configmap a -o json"),
        Step("get configmap/a secret/s -o name"),
        Step("get configmaps -o jsonpath='{range .items[*]}{.metadata.name}={.data.k}{\"\\n\"}{end}'"),
        Step("get configmaps -o custom-columns=NAME:.metadata.name,TIER:.metadata.labels.tier"),
        Step("get configmaps -o go-template='{{range .items}}{{.metadata.name}} {{end}}'"),
        Step("get configmaps --no-headers"),
        Step("get configmaps --show-labels"),
        Step("get configmaps -L tier,size"),
        Step("get configmaps -l tier=web"),
        Step("get configmaps -l 'tier in (web,db),size'"),
        Step("get configmaps -l 'tier notin (web),!size'"),
        Step("get configmaps -l 'tier=in=web'", differs=(SELECTOR_WORDS,)),
        Step("get configmaps --field-selector metadata.name=a"),
        Step("get configmaps --field-selector metadata.name!=a -o name"),
        Step("get configmaps --field-selector data.k=v"),
        Step("get pods --field-selector spec.nodeName=elsewhere,status.phase=Pending"),
        Step("get pods --field-selector status.phase!=Pending"),
        Step("get secrets --field-selector type=Opaque"),
        Step("get configmaps --sort-by=.metadata.name"),
        Step("get configmaps --sort-by='{.metadata.labels.tier}' -o name"),
        Step("get configmaps --chunk-size=1 -o name"),
        Step("get all"),
        Step("get all -l tier=db"),
        Step("get configmaps -A --field-selector metadata.namespace=conformance-forms,metadata.name=a"),
        Step("get configmaps a absent"),
        Step("get configmaps absent --ignore-not-found"),
        Step("get nothings"),
        Step("get cm -n conformance-missing"),
        Step("get pods absent"),
        Step("get pod p -o jsonpath='{.status}'"),
        Step("get pod p --subresource=status -o name"),
        Step("get pod p --subresource=nothing"),
        Step("get namespaces default kube-system"),
        Step("get serviceaccounts -o yaml"),
        Step("get configmap kube-root-ca.crt -o yaml"),
        Step("get service kubernetes -n default -o yaml", differs=(SERVICE_PORT,)),
        Step("get priorityclasses system-node-critical system-cluster-critical"),
        Step("get clusterroles cluster-admin admin edit view"),
        Step("describe configmap a"),
        Step("describe secret s"),
        Step("describe pod p"),
        Step("describe pods -l tier=db"),
        Step("describe job j"),
        Step("describe serviceaccount default"),
        Step("describe namespace conformance-forms"),
        Step("describe configmap absent"),
        Step("describe clusterrole view", reading=OutputFormat.SORTED, differs=(OLD_GROUPS,)),
    ),
)

_EVENT = """
apiVersion: v1
kind: Event
metadata: {name: recorded}
involvedObject: {apiVersion: v1, kind: ConfigMap, name: a, namespace: conformance-watching}
type: Warning
reason: Odd
message: Something is odd
source: {component: tester}
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
count: 1
"""

_NEWER_EVENT = """
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: newer}
regarding: {apiVersion: v1, kind: ConfigMap, name: a, namespace: conformance-watching}
type: Normal
reason: Fine
action: Look
note: Nothing is odd
eventTime: "2026-01-01T00:00:00.000000Z"
reportingController: example.com/tester
reportingInstance: tester-0
"""

_WATCHING = Script(
    "watching",
    (
        Step("create configmap a --from-literal=k=v"),
        Step("get configmap a -w --request-timeout=2s"),
        Step("get configmaps -w --field-selector metadata.name=a --request-timeout=2s -o name"),
        Step(
            "get --raw '/api/v1/namespaces/conformance-watching/configmaps?watch=true&timeoutSeconds=1&resourceVersion=0&fieldSelector=metadata.name%3Da'",
            reading=OutputFormat.LINES,
        ),
        Step("wait --for=jsonpath='{.data.k}'=v configmap/a --timeout=5s"),
        Step("wait --for=jsonpath='{.data.k}'=other configmap/a --timeout=1s"),
        Step("wait --for=create configmap/a --timeout=5s"),
        Step("wait --for=create configmap/absent --timeout=1s"),
        Step("wait --for=delete configmap/absent --timeout=5s"),
        Step("wait --for=delete configmap/a --timeout=1s"),
        Step("wait --for=condition=Ready configmap/absent --timeout=1s"),
        Step("create job done --image=busybox"),
        Step(
            """patch job done --subresource=status -p '{"status": {"startTime": "2026-01-01T00:00:00Z", "conditions": """
            """[{"type": "SuccessCriteriaMet", "status": "True"}], "succeeded": 1}}'"""
        ),
        Step("wait --for=condition=SuccessCriteriaMet job/done --timeout=5s"),
        Step("wait --for=condition=Failed job/done --timeout=1s"),
        Step("describe job done"),
        Step("create -f -", _EVENT),
        Step("events"),
        Step("events --for configmap/a --types=Warning"),
        Step("get events"),
        Step("get events -o wide"),
        Step("get event recorded -o yaml", differs=(NULLS,)),
        Step("get events.events.k8s.io recorded -o yaml", differs=(NULLS,)),
        Step("create -f -", _NEWER_EVENT),
        Step("get event newer -o yaml"),
        Step("get events.events.k8s.io newer -o yaml"),
        Step("get events --sort-by=.lastTimestamp"),
        Step("get events --field-selector involvedObject.name=a,type=Warning -o name"),
        Step("describe configmap a"),
        Step("logs absent"),
        Step("logs job/done"),
    ),
)

CHAPTERS = (_FORMS, _WATCHING)
