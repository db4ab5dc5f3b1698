"""Kubernetes' defaults for absent fields."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.kinds.builtin_objects import JOBS, PODS, Object, container, deployment, find, job, pod, template
from kohort.embedded.kinds import apply_defaults, builtin_resources
from kohort.embedded.kinds.defaults import DEFAULTED
from kohort.embedded.kinds.definitions import DEFINITIONS


def defaulted(key: str, obj: Object) -> Any:
    return apply_defaults(find(key), obj)


def first_container(**more: Any) -> Any:
    return apply_defaults(PODS, pod(container(**more)))["spec"]["containers"][0]


def test_every_default_belongs_to_a_schema_that_exists() -> None:
    assert DEFAULTED.schemas <= set(DEFINITIONS)


def test_a_pod_gets_its_policies() -> None:
    spec = apply_defaults(PODS, pod())["spec"]
    assert {name: value for name, value in spec.items() if name != "containers"} == {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("host:5000/busybox", "Always"),
        ("busybox:1.36", "IfNotPresent"),
        ("host:5000/busybox:1", "IfNotPresent"),
        ("busybox@sha256:abc", "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert first_container(image=image)["imagePullPolicy"] == policy


def test_a_container_gets_its_termination_message_and_ports_their_protocol() -> None:
    one = first_container(ports=[{"containerPort": 80}])
    assert one["terminationMessagePath"] == "/dev/termination-log"
    assert one["terminationMessagePolicy"] == "File"
    assert one["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert one["resources"] == {}


def test_a_probe_gets_its_rhythm() -> None:
    probe = first_container(livenessProbe={"httpGet": {"port": 80}, "periodSeconds": 0})["livenessProbe"]
    assert probe == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def test_a_pods_requests_follow_its_limits_but_a_templates_do_not() -> None:
    limits = {"cpu": "2", "memory": "1Gi"}
    assert first_container(resources={"limits": limits, "requests": {"cpu": "1"}})["resources"]["requests"] == {
        "cpu": "1",
        "memory": "1Gi",
    }
    inner = defaulted("jobs.batch", job(pods=template(container(resources={"limits": limits}))))["spec"]["template"]
    assert inner["spec"]["containers"][0]["resources"] == {"limits": limits}
    assert "enableServiceLinks" not in inner["spec"]


def test_both_names_of_the_service_account_agree() -> None:
    assert apply_defaults(PODS, pod(serviceAccount="a"))["spec"]["serviceAccountName"] == "a"
    assert apply_defaults(PODS, pod(serviceAccountName="b"))["spec"]["serviceAccount"] == "b"


def test_a_volume_without_a_source_is_an_empty_directory_and_sources_get_their_mode() -> None:
    volumes = [{"name": "a"}, {"name": "b", "secret": {"secretName": "s"}}]
    assert apply_defaults(PODS, pod(volumes=volumes))["spec"]["volumes"] == [
        {"name": "a", "emptyDir": {}},
        {"name": "b", "secret": {"secretName": "s", "defaultMode": 420}},
    ]


def test_a_job_runs_one_pod_by_default() -> None:
    spec = apply_defaults(JOBS, job())["spec"]
    assert {name: value for name, value in spec.items() if name != "template"} == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    assert "completions" not in apply_defaults(JOBS, job(parallelism=3))["spec"]


def test_the_job_in_a_cron_job_stays_as_written() -> None:
    cron = {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template()}}}}
    spec = defaulted("cronjobs.batch", cron)["spec"]
    assert (spec["concurrencyPolicy"], spec["successfulJobsHistoryLimit"], spec["suspend"]) == ("Allow", 3, False)
    assert list(spec["jobTemplate"]["spec"]) == ["template"]
    assert spec["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] == "Always"


def test_a_deployment_rolls_by_quarters() -> None:
    spec = defaulted("deployments.apps", deployment(strategy={"rollingUpdate": {"maxSurge": 1}}))["spec"]
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1}}
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)


def test_no_replicas_stay_none() -> None:
    assert defaulted("deployments.apps", deployment(replicas=0))["spec"]["replicas"] == 0


def test_a_service_leads_to_the_same_port() -> None:
    spec = defaulted("services", {"spec": {"ports": [{"port": 80}]}})["spec"]
    assert spec["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert (spec["type"], spec["sessionAffinity"], spec["internalTrafficPolicy"]) == ("ClusterIP", "None", "Cluster")


def test_clear_texts_of_a_secret_are_encoded() -> None:
    secret = defaulted("secrets", {"data": {"a": "b2xk", "c": "Yw=="}, "stringData": {"a": "new"}})
    assert secret == {"data": {"a": "bmV3", "c": "Yw=="}, "type": "Opaque"}


def test_webhooks_fail_closed() -> None:
    rules = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]
    hook = {"name": "a.b.c", "clientConfig": {"service": {"name": "s", "namespace": "n"}}, "rules": rules}
    (found,) = defaulted("mutatingwebhookconfigurations.admissionregistration.k8s.io", {"webhooks": [hook]})["webhooks"]
    assert (found["failurePolicy"], found["matchPolicy"], found["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert (found["reinvocationPolicy"], found["rules"][0]["scope"]) == ("Never", "*")
    assert found["namespaceSelector"] == found["objectSelector"] == {}
    assert found["clientConfig"]["service"]["port"] == 443


def test_a_namespace_carries_its_name() -> None:
    found = defaulted("namespaces", {"metadata": {"name": "team"}})
    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


def test_limits_of_containers_fill_each_other() -> None:
    item = {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}
    (found,) = defaulted("limitranges", {"spec": {"limits": [item]}})["spec"]["limits"]
    assert found["default"] == {"cpu": "2"}
    assert found["defaultRequest"] == {"cpu": "2", "memory": "1Mi"}


def test_an_empty_status_counts_from_zero() -> None:
    assert defaulted("replicasets.apps", {})["status"] == {"replicas": 0}
    assert defaulted("poddisruptionbudgets.policy", {})["status"]["disruptionsAllowed"] == 0


OBJECTS = st.sampled_from(
    [pod(), pod(container(resources={"limits": {"cpu": "1"}}), hostNetwork=True), job(), deployment()]
)


@given(st.sampled_from(builtin_resources()), OBJECTS)
def test_defaulting_twice_changes_nothing_more_and_the_original_never(resource: Any, obj: Object) -> None:
    own = {"metadata": obj["metadata"], **({"spec": obj["spec"]} if resource.kind == obj["kind"] else {})}
    before = copy.deepcopy(own)
    once = apply_defaults(resource, own)
    assert apply_defaults(resource, once) == once
    assert own == before


@pytest.mark.parametrize(
    ("given_", "filled"),
    [
        ({"podCIDR": "a"}, {"podCIDR": "a", "podCIDRs": ["a"]}),
        ({"podCIDRs": ["a", "b"]}, {"podCIDR": "a", "podCIDRs": ["a", "b"]}),
        ({"podCIDR": "c", "podCIDRs": ["a", "b"]}, {"podCIDR": "c", "podCIDRs": ["c"]}),
        ({}, {}),
    ],
)
def test_the_pod_cidr_of_a_node_is_in_both_fields(given_: Object, filled: Object) -> None:
    assert defaulted("nodes", {"metadata": {"name": "n"}, "spec": given_}).get("spec") == filled


def test_the_address_of_a_pod_is_in_both_fields() -> None:
    status = apply_defaults(PODS, {**pod(), "status": {"podIP": "192.0.2.1"}})["status"]
    assert (status["podIP"], status["podIPs"]) == ("192.0.2.1", [{"ip": "192.0.2.1"}])
