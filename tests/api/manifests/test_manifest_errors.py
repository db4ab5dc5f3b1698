"""What an API server would reject: all errors at once, each with object, field, line and remedy."""

from typing import Any

import pytest

from api.manifest_sets import cpus, errors, flavor, job, kueue, local_queue, pod_spec, queue, report, report_of_text
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.manifests.findings import FindingSeverity

BROKEN_QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: team-a
spec:
  namespaceselector: {}
  preemption:
    borrowWithinCohort:
      policy: LowerPriority
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - name: f1
      resources:
      - name: cpu
        nominalquota: 3
        nominalQuota: 4
"""


def text_of(found: Any) -> list[str]:
    return [str(each) for each in found.findings]


# Kueue's kinds


def test_unknown_fields_and_broken_rules_come_together_in_the_order_of_lines() -> None:
    """API-3, API-22."""
    assert text_of(report_of_text(BROKEN_QUEUE)) == [
        "set.yaml:6: error: ClusterQueue team-a: spec.namespaceselector: Forbidden: unknown field; "
        "did you mean namespaceSelector?",
        "set.yaml:7: error: ClusterQueue team-a: spec.preemption: Invalid value: "
        "borrowWithinCohort needs reclaimWithinCohort other than Never (API-22)",
        "set.yaml:16: error: ClusterQueue team-a: spec.resourceGroups[0].flavors[0].resources[0].nominalquota: "
        "Forbidden: unknown field; did you mean nominalQuota?",
    ]


def test_a_field_that_resembles_nothing_is_to_be_checked() -> None:
    assert errors(flavor(zzz=1)) == ["spec.zzz: Forbidden: unknown field; check its spelling and indentation"]


def test_a_wrong_order_of_resources_is_reported_with_the_expected_one() -> None:
    """API-16."""
    group = {
        "coveredResources": ["cpu", "memory"],
        "flavors": [
            {"name": "f1", "resources": [{"name": n, "nominalQuota": 1} for n in ("memory", "cpu")]},
        ],
    }
    first, second = errors(flavor(), queue(resourceGroups=[group]))
    assert 'resources[0].name: Invalid value: "memory": must be "cpu"' in first
    assert 'resources[1].name: Invalid value: "cpu": must be "memory"' in second


def test_wrong_types_are_reported_with_other_schema_errors_and_end_there() -> None:
    bad = queue(queueingStrategy="Random", stopPolicy=3)
    bad["metadata"]["labels"] = {"version": 1}
    assert errors(flavor(), bad) == [
        "metadata.labels.version: Invalid type: 1: must be a text",
        "spec.stopPolicy: Invalid type: 3: must be a text",
        'spec.queueingStrategy: Unsupported value: "Random": supported values: "StrictFIFO", "BestEffortFIFO"',
    ]


@pytest.mark.parametrize("amount", ["1e999999999", "9" * 300, 10**300, "1.2.3", "", True, [1]])
def test_an_amount_that_is_none_is_one_error(amount: Any) -> None:
    (error,) = errors(flavor(), queue(resourceGroups=[cpus(amount)]))
    assert len(error) < 400


def test_a_fraction_is_an_amount() -> None:
    assert errors(flavor(), queue(resourceGroups=[cpus(0.5)])) == []


def test_an_unknown_version_is_reported_with_the_known_ones() -> None:
    """API-1."""
    (error,) = errors(kueue("Cohort", "a", version="kueue.x-k8s.io/v1alpha1"))
    assert error == (
        'apiVersion: Unsupported value: "kueue.x-k8s.io/v1alpha1": '
        'supported values: "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"'
    )


def test_an_unknown_kind_is_reported_with_the_known_ones() -> None:
    """API-1."""
    (error,) = errors(kueue("Queue", "a"))
    assert error.startswith('kind: Unsupported value: "Queue": supported values: "AdmissionCheck", "ClusterQueue"')


def test_a_name_that_breaks_a_pattern_is_reported_in_words() -> None:
    (error,) = errors(local_queue(cluster_queue="Team A"))
    assert error.startswith('spec.clusterQueue: Invalid value: "Team A": must be a name of lower case letters')


def test_feature_gates_decide_which_rules_hold() -> None:
    """API-26."""
    concurrent = queue(
        queueingStrategy="StrictFIFO", concurrentAdmissionPolicy={"migration": {"mode": "RetainFirstAdmission"}}
    )
    assert errors(flavor(), concurrent) == []
    gates = FeatureGates(DEFAULT_GATES.on | {Gate.ConcurrentAdmission})
    assert len(errors(flavor(), concurrent, gates=gates)) == 1


# Anything at all


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a"], ["Invalid type: must be an object with apiVersion, kind and metadata"]),
        ("text", ["Invalid type: must be an object with apiVersion, kind and metadata"]),
        ({"kind": "Job", "apiVersion": 1}, ["apiVersion: Invalid type: 1: must be a text"]),
        ({"apiVersion": "v1"}, ["kind: Required value: every object names its apiVersion and kind"]),
    ],
)
def test_non_objects_are_reported(value: Any, expected: list[str]) -> None:
    assert [error.removeprefix(": ") for error in errors(value)] == expected


def foreign(api_version: str, kind: str, **metadata: Any) -> Any:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


@pytest.mark.parametrize(
    "value",
    [
        foreign("placement.kubernetes-fleet.io/v1beta1", "ClusterResourcePlacement", name="all"),
        foreign("rbac.authorization.k8s.io/v1", "ClusterRole", name="system:batch"),
        foreign("example.com/v1", "Train", generateName="train-"),
        foreign("batch.volcano.sh/v1alpha1", "Job", name="a"),
        foreign("v1", "Service", name="web"),
    ],
    ids=lambda value: str(value["kind"]),
)
def test_a_kind_that_is_unknown_passes_by_its_metadata(value: Any) -> None:
    assert errors({**value, "spec": {"anything": [1, None]}}) == []


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({}, "metadata.name: Required value"),
        ({"name": "A_B"}, "metadata.name: Invalid value"),
        ({"name": 3}, "metadata.name: Invalid type"),
        ({"name": "a", "namespace": "A"}, "metadata.namespace: Invalid value"),
        ({"name": "a", "labels": {"app": 1}}, "metadata.labels.app: Invalid type"),
        ({"name": "a", "labels": {"a b": "c"}}, "metadata.labels: Invalid value"),
        ({"name": "a", "annotations": ["b"]}, "metadata.annotations: Invalid type"),
    ],
)
def test_the_metadata_of_a_kind_that_is_unknown_is_checked(metadata: Any, field: str) -> None:
    (error,) = errors(foreign("jobset.x-k8s.io/v1alpha2", "JobSet", **metadata))
    assert error.startswith(field)


@pytest.mark.parametrize("version", ["v1", "batch/v2alpha1"])
def test_a_job_under_a_version_that_has_none_gets_the_right_one(version: str) -> None:
    (error,) = errors({**job(), "apiVersion": version})
    assert error == f'apiVersion: Unsupported value: "{version}": supported values: "batch/v1"'


def test_a_configuration_is_checked_by_its_own_rules() -> None:
    """API-137."""
    found = report_of_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwebhooks: {port: 9443}\n")
    assert text_of(found) == [
        "set.yaml:3: error: Configuration: webhooks: Forbidden: unknown field; check its name and position (API-137)"
    ]


# Kubernetes' kinds


def with_resources(**resources: Any) -> Any:
    changed = job("lq")
    changed["spec"]["template"]["spec"]["containers"][0]["resources"] = resources
    return changed


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"requests": {"cpu": "two"}}, 'requests.cpu: Invalid value: "two": must be a quantity such as 500m'),
        ({"requests": {"cpu": "1e999999999"}}, 'requests.cpu: Invalid type: "1e999999999": '),
        ({"requests": {"cpu": -1}}, "requests.cpu: Invalid value: -1: must be 0 or more"),
        ({"requests": {"gpu": 1}}, 'requests.gpu: Invalid value: "gpu": no such resource; write cpu, memory'),
        ({"limits": {"a/b/c": 1}}, "limits.a/b/c: Invalid value"),
        ({"limits": {"nvidia.com/gpu": 0.5}}, "limits.nvidia.com/gpu: Invalid value: 0.5: must be a whole number"),
        ({"requests": {"nvidia.com/gpu": 1}}, "limits.nvidia.com/gpu: Required value: set it to the request, 1"),
        (
            {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}},
            "requests.nvidia.com/gpu: Invalid value: 1: must equal the limit, 2",
        ),
        (
            {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}},
            'requests.memory: Invalid value: "2Gi": must not exceed the limit, 1Gi',
        ),
        ({"requests": [1]}, "requests: Invalid type: [1]: must be an object"),
    ],
)
def test_the_resources_of_a_container(resources: Any, expected: str) -> None:
    """SCH-124."""
    (error,) = errors(with_resources(**resources))
    assert error.startswith(f"spec.template.spec.containers[0].resources.{expected}")


@pytest.mark.parametrize("resources", [{"requests": {"cpu": 0.5}}, {"limits": {"nvidia.com/gpu": "2", "cpu": "1e3"}}])
def test_resources_in_common_notations_pass(resources: Any) -> None:
    assert errors(with_resources(**resources)) == []


def changed(value: Any, **spec: Any) -> Any:
    return {**value, "spec": {**value["spec"], **spec}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"parallelism": "3"}, ['spec.parallelism: Invalid type: "3": must be a whole number']),
        ({"completions": -1}, ["spec.completions: Invalid value: -1: must be 0 or more"]),
        (
            {"template": {"spec": {"restartPolicy": "Never"}}},
            ["spec.template.spec.containers: Required value: must be given"],
        ),
        (
            {"template": {"spec": {"restartPolicy": "Never", "containers": []}}},
            ["spec.template.spec.containers: Required value: a pod needs at least one container"],
        ),
        (
            {"template": {"spec": pod_spec("Always")}},
            ['spec.template.spec.restartPolicy: Unsupported value: "Always": supported values: "OnFailure", "Never"'],
        ),
        (
            {"template": {"spec": pod_spec("")}},
            [
                "spec.template.spec.restartPolicy: Required value: use OnFailure or Never; "
                "the default, Always, prevents completion"
            ],
        ),
        (
            {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a"}, {"name": "a"}]}}},
            ['spec.template.spec.containers[1].name: Duplicate value: "a": each container of a pod has its own name'],
        ),
    ],
)
def test_a_job_as_every_api_server_refuses_it(spec: Any, expected: list[str]) -> None:
    assert errors(changed(job("lq"), **spec)) == expected


def test_a_variable_may_be_set_twice() -> None:
    """JOB-42."""
    value = job("lq")
    value["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}, {"name": "A"}]
    assert errors(value) == []


@pytest.mark.parametrize("nothing", [{"creationTimestamp": None}, {"labels": None}])
def test_null_counts_as_absent(nothing: Any) -> None:
    value = job("lq")
    value["metadata"] |= nothing
    value["status"] = None
    assert errors(value) == []


@pytest.mark.parametrize(
    ("labels", "annotations", "field"),
    [
        ({"kueue.x-k8s.io/queue-name": "Team_A"}, {}, "metadata.labels[kueue.x-k8s.io/queue-name]"),
        ({"kueue.x-k8s.io/max-exec-time-seconds": "0"}, {}, "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]"),
        ({"kueue.x-k8s.io/max-exec-time-seconds": "1h"}, {}, "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]"),
        ({}, {"kueue.x-k8s.io/admission-gated-by": "a"}, "metadata.annotations[kueue.x-k8s.io/admission-gated-by]"),
    ],
)
def test_what_the_job_webhooks_refuse_in_labels(labels: Any, annotations: Any, field: str) -> None:
    """JOB-71."""
    value = job()
    value["metadata"] |= {"labels": labels, "annotations": annotations}
    (error,) = errors(value)
    assert error.startswith(f"{field}: Invalid value")


def served(kind: str, labels: Any, **spec: Any) -> Any:
    template = {"metadata": {"labels": labels}, "spec": pod_spec("Always")}
    value = foreign("apps/v1", kind, name="web")
    return {**value, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}}


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_a_served_kind_finds_its_own_pods(kind: str) -> None:
    assert errors(served(kind, {"app": "web"})) == []
    assert errors(served(kind, {"app": "bew"}))[0].startswith("spec.template.metadata.labels: Invalid value")
    assert errors(served(kind, {}, selector=None))[0].startswith("spec.selector: Required value")
    bad = {"matchExpressions": [{"key": "a", "operator": "Like"}]}
    assert errors(served(kind, {}, selector=bad))[0].startswith("spec.selector.matchExpressions[0].operator: Invalid")


def test_priorities_end_where_those_of_kubernetes_begin() -> None:
    value = foreign("scheduling.k8s.io/v1", "PriorityClass", name="top")
    assert errors({**value, "value": 10**9}) == []
    assert errors({**value, "value": 10**9 + 1}) == ["value: Invalid value: 1000000001: must be at most 1000000000"]


def test_a_cron_job_reports_when() -> None:
    template = {"spec": {"template": {"spec": pod_spec()}}}
    value = foreign("batch/v1", "CronJob", name="nightly")
    assert errors({**value, "spec": {"jobTemplate": template}}) == [
        "spec.schedule: Required value: cron schedule, e.g. 0 3 * * *"
    ]


# The report


def test_a_finding_is_one_printable_line_for_any_manifest() -> None:
    (found,) = report(foreign("v1", "Odd\x1b[31m\nKind", name="a\nb")).findings
    assert str(found).isprintable()


def test_a_file_that_breaks_off_keeps_what_was_read_before() -> None:
    found = report_of_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\na: b: c\n")
    assert (found.objects, found.count(FindingSeverity.UNREADABLE)) == (1, 1)
    assert found.findings[0].line == 5
