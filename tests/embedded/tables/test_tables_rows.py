"""Rows of built-in and custom kinds, as `kubectl get` shows them."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.embedded.kinds import apply_defaults, builtin_resources
from kohort.embedded.resources import ServedResource, TableColumn
from kohort.embedded.tables import Include, table

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
CREATED = "2026-01-31T11:55:00Z"
Object = dict[str, Any]


def find(key: str) -> ServedResource:
    return next(one for one in builtin_resources() if one.qualified == key)


def named(name: str = "x", **parts: Any) -> Object:
    return {"metadata": {"name": name, "creationTimestamp": CREATED}, **parts}


def row(key: str, obj: Object) -> list[Any]:
    (only,) = table(find(key), [obj], NOW)["rows"]
    return list(only["cells"])


def shown(key: str, obj: Object) -> dict[str, Any]:
    answer = table(find(key), [obj], NOW)
    names = [column["name"] for column in answer["columnDefinitions"]]
    return dict(zip(names, answer["rows"][0]["cells"], strict=True))


# Ages


# Pods


def pod(phase: str = "Running", *states: Object, init: tuple[Object, ...] = (), **status: Any) -> Object:
    spec = {"containers": [{"name": f"c{i}"} for i in range(max(len(states), 1))], "nodeName": "n1"}
    if init:
        spec["initContainers"] = [{"name": f"i{i}"} for i in range(len(init))]
        status["initContainerStatuses"] = [{"name": f"i{i}", **one} for i, one in enumerate(init)]
    return named(spec=spec, status={"phase": phase, "containerStatuses": list(states), **status})


def running(ready: bool = True, **more: Any) -> Object:
    return {"ready": ready, "restartCount": 0, "state": {"running": {}}, **more}


def waiting(reason: str) -> Object:
    return {"ready": False, "state": {"waiting": {"reason": reason}}}


def ended(code: int, reason: str = "", **more: Any) -> Object:
    return {
        "ready": False,
        "state": {"terminated": {"exitCode": code, **({"reason": reason} if reason else {}), **more}},
    }


READY = [{"type": "Ready", "status": "True"}]
GATED = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]


@pytest.mark.parametrize(
    ("obj", "ready", "word"),
    [
        (pod("Pending"), "0/1", "Pending"),
        (pod("Pending", conditions=GATED), "0/1", "SchedulingGated"),
        (pod("Running", running(), running(ready=False)), "1/2", "Running"),
        (pod("Pending", waiting("ImagePullBackOff")), "0/1", "ImagePullBackOff"),
        (pod("Succeeded", ended(0, "Completed")), "0/1", "Completed"),
        (pod("Failed", ended(1, "Error")), "0/1", "Error"),
        (pod("Failed", ended(3)), "0/1", "ExitCode:3"),
        (pod("Failed", ended(137, signal=9)), "0/1", "Signal:9"),
        (pod("Failed", reason="Evicted"), "0/1", "Evicted"),
        (pod("Running", ended(0, "Completed"), running()), "1/2", "NotReady"),
        (pod("Running", ended(0, "Completed"), running(), conditions=READY), "1/2", "Running"),
        (pod("Pending", init=(ended(0), waiting("PodInitializing"))), "0/1", "Init:1/2"),
        (pod("Pending", init=(waiting("CrashLoopBackOff"),)), "0/1", "Init:CrashLoopBackOff"),
        (pod("Pending", init=(ended(2, "Error"),)), "0/1", "Init:Error"),
    ],
)  # fmt: skip
def test_a_pod_is_summed_up_in_one_word(obj: Object, ready: str, word: str) -> None:
    assert row("pods", obj)[1:3] == [ready, word]


def test_a_deleted_pod_is_terminating_unless_it_is_done() -> None:
    going, done = pod("Running", running()), pod("Succeeded", ended(0, "Completed"))
    for obj in (going, done):
        obj["metadata"]["deletionTimestamp"] = CREATED
    assert row("pods", going)[2] == "Terminating"
    assert row("pods", done)[2] == "Completed"


def test_restarts_report_when_the_last_was() -> None:
    last = {"terminated": {"finishedAt": "2026-01-31T11:59:00Z"}}
    assert row("pods", pod("Running", running(restartCount=3, lastState=last)))[3] == "3 (60s ago)"


def test_a_sidecar_counts_as_a_container() -> None:
    obj = pod("Running", running(), init=({**running(), "started": True},))
    obj["spec"]["initContainers"][0]["restartPolicy"] = "Always"
    assert row("pods", obj)[1:3] == ["2/2", "Running"]


def test_a_wide_pod_shows_where_it_runs() -> None:
    found = shown("pods", pod("Running", running(), podIPs=[{"ip": "10.0.0.1"}]))
    assert (found["IP"], found["Node"], found["Nominated Node"], found["Readiness Gates"]) == (
        "10.0.0.1", "n1", "<none>", "<none>",
    )  # fmt: skip


def test_a_finished_pods_row_is_marked() -> None:
    (only,) = table(find("pods"), [pod("Succeeded")], NOW)["rows"]
    assert only["conditions"][0]["type"] == "Completed"


# Others


def condition(kind: str) -> Object:
    return {"conditions": [{"type": kind, "status": "True"}]}


@pytest.mark.parametrize(
    ("spec", "status", "cells"),
    [
        ({"completions": 3}, {"succeeded": 1, "startTime": CREATED}, ["Running", "1/3", "5m"]),
        ({"parallelism": 4}, {}, ["Running", "0/1 of 4", ""]),
        ({"completions": 1}, condition("Suspended"), ["Suspended", "0/1", ""]),
        ({"completions": 1}, condition("Failed"), ["Failed", "0/1", ""]),
        (
            {"completions": 1},
            {**condition("Complete"), "succeeded": 1, "startTime": CREATED, "completionTime": "2026-01-31T11:56:30Z"},
            ["Complete", "1/1", "90s"],
        ),
    ],
)
def test_a_job_shows_how_far_it_is(spec: Object, status: Object, cells: list[str]) -> None:
    assert row("jobs.batch", named(spec=spec, status=status))[1:4] == cells


TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "b"}], "nodeSelector": {"x": "y"}}}
SELECTOR = {"matchLabels": {"app": "x"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["b", "a"]}]}
ROWS: list[tuple[str, Object, dict[str, Any]]] = [
    (
        "deployments.apps",
        {
            "spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
            "status": {"readyReplicas": 2, "updatedReplicas": 3},
        },
        {
            "Ready": "2/3",
            "Up-to-date": 3,
            "Available": 0,
            "Containers": "a",
            "Images": "b",
            "Selector": "app=x,tier in (a,b)",
        },
    ),
    (
        "replicasets.apps",
        {"spec": {"replicas": 2}, "status": {"replicas": 2, "readyReplicas": 1}},
        {"Desired": 2, "Current": 2, "Ready": 1},
    ),
    ("statefulsets.apps", {"spec": {"replicas": 2}, "status": {"readyReplicas": 1}}, {"Ready": "1/2"}),
    (
        "cronjobs.batch",
        {"spec": {"schedule": "* * * * *", "suspend": False}},
        {"Schedule": "* * * * *", "Timezone": "<none>", "Suspend": "False", "Active": 0, "Last Schedule": "<none>"},
    ),
    (
        "nodes",
        {
            "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": ""}},
            "spec": {"unschedulable": True},
            "status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1"}},
        },
        {
            "Status": "Ready,SchedulingDisabled",
            "Roles": "worker",
            "Age": "<unknown>",
            "Version": "v1",
            "Internal-IP": "<none>",
        },
    ),
    (
        "services",
        {
            "spec": {
                "type": "NodePort",
                "clusterIP": "10.0.0.1",
                "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}],
                "selector": {"a": "b"},
            }
        },
        {
            "Type": "NodePort",
            "Cluster-IP": "10.0.0.1",
            "External-IP": "<none>",
            "Port(s)": "80:30080/TCP",
            "Selector": "a=b",
        },
    ),
    ("services", {"spec": {"type": "LoadBalancer"}}, {"External-IP": "<pending>", "Port(s)": "<none>"}),
    ("namespaces", {"status": {"phase": "Active"}}, {"Status": "Active", "Age": "5m"}),
    (
        "events",
        {
            "lastTimestamp": CREATED,
            "type": "Normal",
            "reason": "R",
            "message": " m\n",
            "involvedObject": {"kind": "Pod", "name": "p"},
            "source": {"component": "c"},
        },
        {"Last Seen": "5m", "Object": "pod/p", "Message": "m", "Count": 1, "Source": "c", "First Seen": "<unknown>"},
    ),
    (
        "events.events.k8s.io",
        {"deprecatedLastTimestamp": CREATED, "note": "m", "regarding": {"kind": "Job", "name": "j"}},
        {"Last Seen": "5m", "Object": "job/j", "Message": "m"},
    ),
    ("configmaps", {"data": {"a": "b"}, "binaryData": {"c": ""}}, {"Data": 2}),
    ("secrets", {"type": "Opaque", "data": {"a": ""}}, {"Type": "Opaque", "Data": 1}),
    ("leases.coordination.k8s.io", {"spec": {"holderIdentity": "me"}}, {"Holder": "me"}),
    ("priorityclasses.scheduling.k8s.io", {"value": 10}, {"Value": 10, "Global-Default": False}),
    (
        "resourcequotas",
        {"status": {"hard": {"limits.cpu": "2", "pods": "5"}, "used": {"pods": "1"}}},
        {"Request": "pods: 1/5", "Limit": "limits.cpu: 0/2"},
    ),
    (
        "rolebindings.rbac.authorization.k8s.io",
        {
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "n", "name": "s"}, {"kind": "User", "name": "u"}],
        },
        {"Role": "Role/r", "Users": "u", "ServiceAccounts": "n/s"},
    ),
    ("roles.rbac.authorization.k8s.io", {}, {"Created At": CREATED}),
    (
        "customresourcedefinitions.apiextensions.k8s.io",
        {
            "spec": {
                "group": "x.io",
                "scope": "Namespaced",
                "names": {"kind": "Thing", "shortNames": ["th", "ti"]},
                "versions": [
                    {"name": "v1", "served": True, "storage": True},
                    {"name": "v1beta1", "served": True},
                    {"name": "v1alpha1", "served": False},
                ],
            },
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        },
        {
            "Scope": "Namespaced",
            "Versions": "v1(storage),v1beta1",
            "Created At": CREATED,
            "Group": "x.io",
            "Kind": "Thing",
            "ShortNames": "th,ti",
            "Established": True,
        },
    ),
    ("mutatingwebhookconfigurations.admissionregistration.k8s.io", {"webhooks": [{}, {}]}, {"Webhooks": 2}),
    (
        "apiservices.apiregistration.k8s.io",
        {
            "spec": {"service": {"namespace": "n", "name": "s"}},
            "status": {"conditions": [{"type": "Available", "status": "False", "reason": "Down"}]},
        },
        {"Service": "n/s", "Available": "False (Down)"},
    ),
    (
        "poddisruptionbudgets.policy",
        {"spec": {"minAvailable": 1}},
        {"Min Available": "1", "Max Unavailable": "N/A", "Allowed Disruptions": 0},
    ),
    (
        "persistentvolumeclaims",
        {
            "spec": {"volumeName": "v"},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
        },
        {"Status": "Bound", "Volume": "v", "Capacity": "1Gi", "Access Modes": "RWO"},
    ),
]


@pytest.mark.parametrize(("key", "parts", "cells"), ROWS, ids=[one[0] for one in ROWS])
def test_a_row_has_the_columns_of_kubectl(key: str, parts: Object, cells: dict[str, Any]) -> None:
    found = shown(key, {**named(), **parts})
    assert {name: found[name] for name in cells} == cells


@pytest.mark.parametrize("resource", builtin_resources(), ids=lambda one: one.qualified)
def test_an_object_without_anything_in_it_has_a_row_too(resource: ServedResource) -> None:
    for obj in ({}, named(), apply_defaults(resource, named())):
        answer = table(resource, [obj], NOW)
        assert len(answer["rows"][0]["cells"]) == len(answer["columnDefinitions"])


# The answer


def test_the_response_is_a_table_with_the_metadata_of_the_list() -> None:
    answer = table(find("namespaces"), [named()], NOW, version="v1beta1", metadata={"resourceVersion": "7"})
    assert (answer["kind"], answer["apiVersion"]) == ("Table", "meta.k8s.io/v1beta1")
    assert answer["metadata"] == {"resourceVersion": "7"}
    assert answer["columnDefinitions"][0] == {
        "name": "Name", "type": "string", "format": "name", "description": "", "priority": 0,
    }  # fmt: skip


INCLUDES: tuple[Include, ...] = ("None", "Metadata", "Object")


def test_rows_have_as_much_of_the_object_as_requested() -> None:
    obj = named(spec={})
    found = {kind: table(find("namespaces"), [obj], NOW, kind)["rows"][0] for kind in INCLUDES}
    assert "object" not in found["None"]
    assert found["Object"]["object"] == obj
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
    assert found["Metadata"]["object"] == partial


# Custom kinds


def custom(*columns: TableColumn) -> ServedResource:
    return ServedResource("x.io", "v1", "things", "Thing", True, columns=columns, is_custom=True)


def cell(path: str, obj: Object, kind: str = "string") -> Any:
    (only,) = table(custom(TableColumn("C", kind, path=path)), [obj], NOW)["rows"]
    return only["cells"][1]


THING = named(
    "t",
    spec={"n": 3, "f": 1.5, "b": True, "s": "text", "list": ["a", "b"], "map": {"a.b": "dotted"}},
    status={"conditions": [{"type": "Ready", "status": "True", "n": 2}, {"type": "Other", "status": "False", "n": 9}]},
)


@pytest.mark.parametrize(
    ("path", "kind", "value"),
    [
        (".spec.n", "integer", 3),
        (".spec.f", "integer", 1),
        (".spec.f", "number", 1.5),
        (".spec.b", "boolean", True),
        (".spec.n", "string", "3"),
        (".spec.b", "string", "true"),
        (".spec.s", "integer", None),
        (".spec.missing.deep", "string", None),
        (".spec.list", "string", '["a","b"]'),
        (".spec.list[1]", "string", "b"),
        (".spec.list[-1]", "string", "b"),
        (".spec.list[0:1]", "string", "a"),
        (".spec.list[*]", "string", "a"),
        (".spec.map.a\\.b", "string", "dotted"),
        (".spec.map['a.b']", "string", "dotted"),
        ('{.spec.map["a.b"]}', "string", "dotted"),
        ('.status.conditions[?(@.type=="Ready")].status', "string", "True"),
        (".status.conditions[?(@.type=='Other')].status", "string", "False"),
        (".status.conditions[?(@.n>5)].type", "string", "Other"),
        (".status.conditions[?(@.type=='None')].status", "string", None),
        ("..n", "integer", 3),
        (".metadata.creationTimestamp", "date", "5m"),
        (".spec.s", "date", "<invalid>"),
        (".spec.[broken", "string", None),
    ],
)
def test_custom_columns_follow_their_path(path: str, kind: str, value: Any) -> None:
    assert cell(path, THING, kind) == value


def test_a_custom_kind_without_columns_shows_its_age() -> None:
    answer = table(custom(), [THING], NOW)
    assert [column["name"] for column in answer["columnDefinitions"]] == ["Name", "Age"]
    assert answer["rows"][0]["cells"] == ["t", "5m"]


@given(st.text(alphabet=".[]()?@'\"*:\\=<>ab1-${}", max_size=20))
def test_no_path_breaks_a_table(path: str) -> None:
    cell(path, THING)
