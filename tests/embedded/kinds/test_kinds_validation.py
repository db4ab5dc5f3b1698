"""What is rejected, with the messages of a real 1.37 server (each text was compared with its response)."""

# ruff: noqa: E501 - a message stays on one line, as it is printed

import base64
import copy
from typing import Any

import pytest

from embedded.kinds.builtin_objects import JOBS, PODS, Object, container, deployment, find, job, pod, template
from kohort.embedded.kinds import apply_defaults, builtin_resources, prepare_create, validate
from kohort.embedded.kinds.definitions import DEFINITIONS
from kohort.embedded.kinds.validation.objects import RULED
from kohort.embedded.resources import ServedResource

RBAC = "rbac.authorization.k8s.io"
HOOKS = "mutatingwebhookconfigurations.admissionregistration.k8s.io"


def problems(resource: ServedResource, obj: Object) -> list[str]:
    created = prepare_create(resource, apply_defaults(resource, {"kind": resource.kind, **obj}))
    return [str(problem) for problem in validate(resource, created)]


def of_pod(*containers: Object, **spec: Any) -> list[str]:
    return problems(PODS, pod(*containers, **spec))


def of_container(**more: Any) -> list[str]:
    return of_pod(container(**more))


def named(**parts: Any) -> Object:
    return {"metadata": {"name": "x", "namespace": "team", "uid": "u-1"}, **parts}


def test_every_rule_belongs_to_a_schema_that_exists() -> None:
    assert RULED.schemas <= set(DEFINITIONS)


FINE: list[tuple[str, Object]] = [
    ("pods", pod()),
    (
        "pods",
        pod(
            container(resources={"limits": {"cpu": "1", "nvidia.com/gpu": "2"}}, env=[{"name": "A.b-C", "value": "x"}])
        ),
    ),
    ("jobs.batch", job()),
    ("jobs.batch", job(completionMode="Indexed", completions=2, backoffLimitPerIndex=1)),
    ("deployments.apps", deployment()),
    ("cronjobs.batch", named(spec={"schedule": "*/5 0-6 1,15 JAN mon-fri", "jobTemplate": {"spec": job()["spec"]}})),
    ("cronjobs.batch", named(spec={"schedule": "@hourly", "jobTemplate": {"spec": job()["spec"]}})),
    ("services", named(spec={"ports": [{"port": 80}]})),
    ("services", named(spec={"clusterIP": "None"})),
    (
        f"clusterroles.{RBAC}",
        {"metadata": {"name": "system:x"}, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/"]}]},
    ),
    ("priorityclasses.scheduling.k8s.io", named(value=1_000_000_000)),
    ("configmaps", named(data={"a.b_C-1": "x"})),
]


@pytest.mark.parametrize(("key", "obj"), FINE)
def test_what_makes_sense_is_taken(key: str, obj: Object) -> None:
    assert problems(find(key), obj) == []


def test_a_name_is_needed_and_has_a_shape() -> None:
    assert problems(PODS, {**pod(), "metadata": {}}) == [
        "metadata.name: Required value: name or generateName is required"
    ]
    (errors,) = problems(PODS, pod(name="Bad_Name"))
    assert errors.startswith('metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of')
    assert errors.endswith(
        r"(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )
    assert problems(find("namespaces"), {"metadata": {"name": "a.b"}}) == [
        'metadata.name: Invalid value: "a.b": must not contain dots'
    ]


def test_labels_and_annotations_are_judged_on_objects_and_templates_alike() -> None:
    obj = job(pods=template(labels={"a b": "c"}, restartPolicy="Never"))
    obj["metadata"] |= {"labels": {"x": "y z"}, "annotations": {"/": "n"}}
    paths = [errors.partition(":")[0] for errors in problems(JOBS, obj)]
    assert {"metadata.labels", "metadata.annotations", "spec.template.metadata.labels"} <= set(paths)


POD = "spec.containers[0]"


@pytest.mark.parametrize(
    ("found", "errors"),
    [
        (of_pod(container(name="")), [f"{POD}.name: Required value"]),
        (of_pod(container(image="")), [f"{POD}.image: Required value"]),
        (of_pod(container(), container()), ['spec.containers[1].name: Duplicate value: "main"']),
        (problems(PODS, named(spec={})), ["spec.containers: Required value"]),
        (
            of_pod(restartPolicy="x"),
            ['spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"'],
        ),
        (
            of_container(imagePullPolicy="x"),
            [f'{POD}.imagePullPolicy: Unsupported value: "x": supported values: "Always", "IfNotPresent", "Never"'],
        ),
        (
            of_container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
            [f'{POD}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
        ),
        (
            of_container(resources={"requests": {"nvidia.com/gpu": "1"}}),
            [f"{POD}.resources.limits: Required value: Limit must be set for non overcommitable resources"],
        ),
        (
            of_container(resources={"requests": {"memory": "-1"}}),
            [f'{POD}.resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        (
            of_container(resources={"requests": {"foo": "1"}}),
            [
                f'{POD}.resources.requests[foo]: Invalid value: "foo": must be a standard resource type or fully qualified',
                f'{POD}.resources.requests[foo]: Invalid value: "foo": must be a standard resource for containers',
            ],
        ),
        (of_container(env=[{"value": "x"}]), [f"{POD}.env[0].name: Required value"]),
        (of_container(ports=[{"containerPort": 0}]), [f"{POD}.ports[0].containerPort: Required value"]),
        (
            of_container(ports=[{"containerPort": 70000}]),
            [f"{POD}.ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"],
        ),
        (
            of_container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            [f'{POD}.volumeMounts[0].name: Not found: "v"'],
        ),
        (of_container(livenessProbe={}), [f"{POD}.livenessProbe: Required value: must specify a handler type"]),
        (of_pod(volumes=[{"name": "v"}, {"name": "v"}]), ['spec.volumes[1].name: Duplicate value: "v"']),
        (of_pod(schedulingGates=[{"name": "a"}, {"name": "a"}]), ['spec.schedulingGates[1]: Duplicate value: "a"']),
        (
            of_pod(schedulingGates=[{"name": "a"}], nodeName="n1"),
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
        (
            of_pod(tolerations=[{"key": "a", "tolerationSeconds": 1}]),
            [
                "spec.tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set"
            ],
        ),
        (
            of_pod(activeDeadlineSeconds=0),
            ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
        ),
    ],
)
def test_a_pod_that_can_not_run_is_refused(found: list[str], errors: list[str]) -> None:
    assert found == errors


@pytest.mark.parametrize(
    ("obj", "errors"),
    [
        (
            job(pods=template()),
            ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
        ),
        (job(parallelism=-1), ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"]),
        (
            job(completionMode="Indexed", parallelism=1),
            ["spec.completions: Required value: when completion mode is Indexed"],
        ),
        (
            job(backoffLimitPerIndex=1),
            ["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
        ),
        (
            job(manualSelector=True),
            [
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
            ],
        ),
        (
            job(selector={"matchLabels": {"job-name": "j"}}),
            [
                'spec.selector: Invalid value: {"matchLabels":{"job-name":"j","batch.kubernetes.io/controller-uid":"u-1"}}: `selector` not auto-generated'
            ],
        ),
    ],
)
def test_an_invalid_job_is_rejected(obj: Object, errors: list[str]) -> None:
    assert problems(JOBS, obj) == errors


@pytest.mark.parametrize(
    ("schedule", "errors"),
    [
        ("* * *", "expected exactly 5 fields, found 3: [* * *]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"),
        ("@never", "unrecognized descriptor: @never"),
        ("TZ=UTC * * * * *", "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"),
    ],
)
def test_a_schedule_that_can_not_be_read_is_refused(schedule: str, errors: str) -> None:
    cron = named(spec={"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}})
    assert problems(find("cronjobs.batch"), cron) == [f'spec.schedule: Invalid value: "{schedule}": {errors}']


MISMATCH = "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`"


@pytest.mark.parametrize(
    ("key", "obj", "errors"),
    [
        ("deployments.apps", deployment(selector={"matchLabels": {"a": "b"}}), [MISMATCH.format('{"app":"x"}')]),
        (
            "deployments.apps",
            deployment(replicas=-1),
            ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        ("services", named(spec={}), ["spec.ports: Required value"]),
        (
            "services",
            named(spec={"ports": [{"port": 1}, {"port": 2}]}),
            ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        ),
        (
            f"roles.{RBAC}",
            named(rules=[{"apiGroups": [""], "resources": ["pods"]}]),
            ["rules[0].verbs: Required value"],
        ),
        (
            f"rolebindings.{RBAC}",
            named(roleRef={"kind": "x", "name": "r"}),
            ['roleRef.kind: Unsupported value: "x": supported values: "Role", "ClusterRole"'],
        ),
        (
            f"clusterrolebindings.{RBAC}",
            named(roleRef={"kind": "ClusterRole", "name": "r"}, subjects=[{"kind": "ServiceAccount", "name": "s"}]),
            ["subjects[0].namespace: Required value"],
        ),
        (
            "priorityclasses.scheduling.k8s.io",
            named(value=2_000_000_000),
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
        ),
        (
            "configmaps",
            {"metadata": {"name": "x"}, "data": {"a b": ""}},
            [
                "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
            ],
        ),
        (
            "limitranges",
            named(spec={"limits": [{"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]}),
            ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
        ),
        (
            "leases.coordination.k8s.io",
            named(spec={"leaseDurationSeconds": 0}),
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
        ),
        (
            HOOKS,
            named(webhooks=[{"name": "a.b.c", "clientConfig": {"url": "http://x"}, "admissionReviewVersions": ["v1"]}]),
            [
                "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
                "webhooks[0].clientConfig.url: Invalid value: \"http://x\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
            ],
        ),
    ],
)
def test_other_kinds_have_their_rules(key: str, obj: Object, errors: list[str]) -> None:
    assert problems(find(key), obj) == errors


# Updates


def changed(resource: ServedResource, obj: Object, change: Any, status: Object | None = None) -> list[str]:
    """The errors when a stored object is changed so."""
    old = prepare_create(resource, apply_defaults(resource, obj))
    if status is not None:
        old["status"] = status
    new = copy.deepcopy(old)
    change(new)
    return [str(problem) for problem in validate(resource, new, old)]


def spec(**parts: Any) -> Any:
    return lambda obj: obj["spec"].update(parts)


def inner(**parts: Any) -> Any:
    return lambda obj: obj["spec"]["template"]["spec"].update(parts)


def first(**parts: Any) -> Any:
    return lambda obj: obj["spec"]["template"]["spec"]["containers"][0].update(parts)


GATED: Object = {"schedulingGates": [{"name": "x"}], "nodeSelector": {"a": "b"}}


@pytest.mark.parametrize(
    ("obj", "change", "errors"),
    [
        (pod(), lambda obj: obj["spec"]["containers"][0].update(image="new"), ""),
        (
            pod(),
            lambda obj: obj["spec"]["containers"][0].update(command=["x"]),
            "spec: Forbidden: pod updates may not change",
        ),
        (
            pod(),
            lambda obj: obj["spec"]["containers"].append(container(name="b")),
            "spec.containers: Forbidden: pod updates may not add or remove containers",
        ),
        (pod(activeDeadlineSeconds=9), spec(activeDeadlineSeconds=5), ""),
        (
            pod(activeDeadlineSeconds=9),
            spec(activeDeadlineSeconds=50),
            "spec.activeDeadlineSeconds: Invalid value: 50: must be less than or equal",
        ),
        (pod(), spec(tolerations=[{"key": "a", "operator": "Exists"}]), ""),
        (
            pod(tolerations=[{"key": "a", "operator": "Exists"}]),
            spec(tolerations=[]),
            "spec.tolerations: Forbidden: existing toleration can not be",
        ),
        (
            pod(),
            spec(schedulingGates=[{"name": "x"}]),
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed",
        ),
        (pod(**GATED), lambda obj: obj["spec"].pop("schedulingGates"), ""),
        (pod(**GATED), spec(nodeSelector={"a": "b", "c": "d"}), ""),
        (pod(**GATED), spec(nodeSelector={"c": "d"}), 'spec.nodeSelector: Invalid value: {"c":"d"}: only additions'),
        (pod(), spec(nodeName="n1"), "spec: Forbidden: pod updates may not change fields other than"),
        (pod(**GATED), spec(nodeName="n1"), "spec: Forbidden: pod updates may not change fields other than"),
    ],
)
def test_little_of_a_pod_may_change(obj: Object, change: Any, errors: str) -> None:
    found = changed(PODS, obj, change)
    assert bool(found) == bool(errors)
    assert all(text.startswith(errors) for text in found)


STARTED: Object = {"startTime": "2026-01-01T00:00:00Z", "active": 1}
STOPPED: Object = {"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Suspended", "status": "True"}]}
STEERING = inner(nodeSelector={"a": "b"}, tolerations=[{"key": "a", "operator": "Exists"}])


@pytest.mark.parametrize(
    ("obj", "status", "change", "place"),
    [
        (job(), {}, spec(parallelism=5), ""),
        (job(), {}, spec(suspend=True), ""),
        (job(), {}, spec(completions=5), "spec.completions"),
        (job(completionMode="Indexed", completions=2), {}, spec(completions=3, parallelism=3), ""),
        (job(completionMode="Indexed", completions=2), {}, spec(completions=3), "spec.completions"),
        (job(), {}, STEERING, "spec.template"),
        (job(suspend=True), {}, STEERING, ""),
        (job(suspend=True), STARTED, STEERING, "spec.template"),
        (job(suspend=True), STOPPED, STEERING, ""),
        (job(suspend=True), {}, first(resources={"requests": {"cpu": "1"}}), ""),
        (job(suspend=True), {}, first(image="new"), "spec.template"),
        (job(), {}, spec(completionMode="Indexed"), "spec.completionMode"),
    ],
)
def test_a_job_may_be_steered_only_while_it_waits(obj: Object, status: Object, change: Any, place: str) -> None:
    assert {text.partition(":")[0] for text in changed(JOBS, obj, change, status)} == ({place} if place else set())


@pytest.mark.parametrize(
    ("key", "obj", "change", "errors"),
    [
        (
            "deployments.apps",
            deployment(),
            spec(selector={"matchLabels": {"app": "x", "a": "b"}}),
            "field is immutable",
        ),
        (
            "priorityclasses.scheduling.k8s.io",
            named(value=1),
            lambda obj: obj.update(value=2),
            "value: Forbidden: may not be changed in an update.",
        ),
        (
            "configmaps",
            named(data={"a": "b"}, immutable=True),
            lambda obj: obj.update(data={}),
            "data: Forbidden: field is immutable when `immutable` is set",
        ),
        (
            "configmaps",
            named(data={"a": "b"}, immutable=True),
            lambda obj: obj.pop("immutable"),
            "immutable: Forbidden: field is immutable when `immutable` is set",
        ),
        ("secrets", named(), lambda obj: obj.update(type="x/y"), 'type: Invalid value: "x/y": field is immutable'),
        (
            f"rolebindings.{RBAC}",
            named(roleRef={"kind": "Role", "name": "r"}),
            lambda obj: obj["roleRef"].update(name="q"),
            "field is immutable",
        ),
    ],
)
def test_what_others_rely_on_stays(key: str, obj: Object, change: Any, errors: str) -> None:
    assert any(errors in text for text in changed(find(key), obj, change))


def test_what_has_not_changed_is_not_judged_again() -> None:
    old = prepare_create(PODS, apply_defaults(PODS, pod(container(image=""))))
    assert validate(PODS, {**old, "status": {"phase": "Running"}}, old) == []
    relabelled = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    assert validate(PODS, relabelled, old) == []


@pytest.mark.parametrize("resource", builtin_resources(), ids=lambda one: one.qualified)
def test_an_object_with_nothing_but_a_name_is_judged_without_a_stumble(resource: ServedResource) -> None:
    empty: Object = {"metadata": {}}
    for obj in (named(), empty):
        problems(resource, obj)


@pytest.mark.parametrize(
    ("key", "obj", "errors"),
    [
        (
            "configmaps",
            {"metadata": {"name": "x", "finalizers": ["nonsense"]}},
            'metadata.finalizers[0]: Invalid value: "nonsense": name is neither a standard finalizer name nor is it fully qualified',
        ),
        (
            "configmaps",
            named(data={"a": "x"}, binaryData={"a": "eA=="}),
            'data[a]: Invalid value: "a": duplicate of key present in binaryData',
        ),
        ("secrets", named(type="kubernetes.io/tls", data={"tls.key": ""}), "data[tls.crt]: Required value"),
        (
            "services",
            named(spec={"ports": [{"port": 1, "targetPort": 70000}]}),
            "spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        (
            "configmaps",
            {"metadata": {"name": "x", "ownerReferences": [{"kind": "Job", "apiVersion": "batch/v1", "name": "j"}]}},
            "metadata.ownerReferences[0].uid: Required value: must not be empty",
        ),
    ],
)
def test_the_parts_of_an_object_must_be_consistent(key: str, obj: Object, errors: str) -> None:
    assert problems(find(key), obj) == [errors]


def test_a_mebibyte_is_the_most_that_a_config_map_or_secret_holds() -> None:
    mebibyte = 1 << 20
    errors = "Too long: may not be more than 1048576 bytes"
    encoded = base64.b64encode(b"x" * mebibyte).decode()
    assert problems(find("configmaps"), named(data={"a": "x" * mebibyte})) == []
    assert problems(find("configmaps"), named(data={"a": "x"}, binaryData={"b": encoded})) == [f"[]: {errors}"]
    assert problems(find("secrets"), named(data={"a": encoded})) == []
    assert problems(find("secrets"), named(data={"a": encoded, "b": "eA=="})) == [f"data: {errors}"]
