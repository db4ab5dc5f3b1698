"""Authorization: access reviews, impersonation, and a user with a service account token."""

# ruff: noqa: E501 - a command stands whole, as one would type it

from conformance.differences import IMPERSONATION, RULES, Difference
from conformance.script import OutputFormat, Script, Step, User

_TEAM_ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: team}
rules:
- {apiGroups: [""], resources: [configmaps, pods], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [batch], resources: [jobs], verbs: ["*"]}
- {apiGroups: [kueue.x-k8s.io], resources: [localqueues], verbs: [get, list]}
"""
_AS_TEAM = "--token=<<token>>"


def _team(
    command: str,
    stdin: str = "",
    reading: OutputFormat = OutputFormat.TEXT,
    retry_seconds: float = 0,
    differs: tuple[Difference, ...] = (),
) -> Step:
    return Step(f"{command} {_AS_TEAM}", stdin, reading, User.ANONYMOUS, retry_seconds=retry_seconds, differs=differs)


_TOKENS = Script(
    "tokens",
    (
        Step("create serviceaccount member"),
        Step("create -f -", _TEAM_ROLE),
        Step("create rolebinding team --role=team --serviceaccount=conformance-tokens:member"),
        Step("create namespace conformance-other-team"),
        Step("create configmap theirs -n conformance-other-team --from-literal=a=b"),
        Step("create token member", saves="token"),
        _team("auth whoami -o jsonpath='{.status.userInfo.username} {.status.userInfo.groups}'"),
        _team("auth can-i create jobs", retry_seconds=10),
        _team("create configmap mine --from-literal=a=b"),
        _team("get configmap mine -o yaml"),
        _team("create job work --image=busybox"),
        _team("get jobs"),
        _team("label job work a=b"),
        _team("delete job work"),
        _team("get secrets"),
        _team("create secret generic s --from-literal=a=b"),
        _team("get configmaps -n conformance-other-team"),
        _team("get configmap theirs -n conformance-other-team"),
        _team("create configmap intruder -n conformance-other-team"),
        _team("delete configmap theirs -n conformance-other-team"),
        _team("get configmaps -A"),
        _team("get nodes"),
        _team("get namespaces"),
        _team("create namespace mine"),
        _team("get --raw /apis/kueue.x-k8s.io/v1beta2/clusterqueues"),
        _team(
            "create --raw /apis/kueue.x-k8s.io/v1beta2/clusterqueues -f -",
            '{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "mine"}}',
        ),
        _team("delete --raw /apis/kueue.x-k8s.io/v1beta2/clusterqueues/any"),
        _team("create role more --verb=get --resource=secrets"),
        _team("get configmaps --as=system:admin", differs=(IMPERSONATION,)),
        _team("auth can-i --list", reading=OutputFormat.SORTED, differs=(RULES,)),
        _team("get --raw /version -o name"),
        _team("get --raw /healthz"),
        _team("get --raw /metrics"),
        Step("get pods --token=nonsense", user=User.ANONYMOUS),
        Step("get --raw /api/v1/namespaces", user=User.ANONYMOUS),
        Step("get --raw /healthz", user=User.ANONYMOUS),
        Step("delete serviceaccount member"),
    ),
)

_REVIEWS = Script(
    "reviews",
    (
        Step("auth whoami -o jsonpath='{.status.userInfo.groups}'"),
        Step("auth can-i create pods"),
        Step("auth can-i '*' '*' --all-namespaces"),
        Step("auth can-i get pods --as=rita"),
        Step("auth can-i get pods --as=rita -q"),
        Step("auth can-i get /healthz --as=rita --as-group=system:authenticated"),
        Step("auth can-i get nothing"),
        Step("create role reader --verb=get,list --resource=pods"),
        Step("create rolebinding rita --role=reader --user=rita"),
        Step("auth can-i get pods --as=rita", retry_seconds=10),
        Step("auth can-i get pods --subresource=log --as=rita"),
        Step("auth can-i get pods/one --as=rita"),
        Step("auth can-i delete pods --as=rita"),
        Step("auth can-i --list --as=rita"),
        Step(
            "auth whoami --as=rita --as-group=readers --as-uid=7 --as-user-extra=scope=all -o json",
            reading=OutputFormat.JSON,
        ),
        Step("get pods --as=rita"),
        Step("get secrets --as=rita"),
        Step("create configmap c --as=rita"),
        Step("get pods --as=system:serviceaccount:conformance-reviews:default"),
        Step("create clusterrolebinding conformance-viewers --clusterrole=view --group=viewers"),
        Step("auth can-i list configmaps --as=vic --as-group=viewers", retry_seconds=10),
        Step("get configmaps --as=vic --as-group=viewers"),
        Step("delete configmap kube-root-ca.crt --as=vic --as-group=viewers"),
        Step(
            "auth reconcile -f -",
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}, rules: [{apiGroups: [''], resources: [pods, services], verbs: [get]}]}",
        ),
        Step("get role reader -o yaml"),
        Step("describe role reader"),
        Step("describe rolebinding rita"),
        Step("get roles,rolebindings"),
        Step("get rolebindings -o wide"),
    ),
)

_TRUST = Script(
    "trust",
    (
        Step("get configmap extension-apiserver-authentication -n kube-system -o yaml"),
        Step("get role extension-apiserver-authentication-reader -n kube-system -o yaml"),
        Step("get rolebinding system::extension-apiserver-authentication-reader -n kube-system -o yaml"),
        Step("delete configmap extension-apiserver-authentication -n kube-system"),
        Step("get configmap extension-apiserver-authentication -n kube-system", retry_seconds=20),
    ),
)

CHAPTERS = (_TOKENS, _REVIEWS, _TRUST)
