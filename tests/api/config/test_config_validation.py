"""One refusal and one acceptance for each validation of docs/spec, section 10.1, metrics and devices apart."""

from typing import Any

import pytest

from api.config.configurations import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    REQUIRED,
    TYPE,
    UNSUPPORTED,
    Case,
    accepted,
    assert_refused,
    case,
    v1beta2,
    verdicts,
)
from kohort.api.codec import Json
from kohort.api.config.parsing import parse_configuration

INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
PROVIDER: Json = {"name": "gke", "execConfig": {"command": "auth", "apiVersion": "v1", "interactiveMode": "Never"}}


def selector(key: str = "team", operator: str = "In", values: tuple[str, ...] = ("a",)) -> Json:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def readiness(**settings: Any) -> Json:
    return {"waitForPodsReady": settings}


def requeuing(**settings: Any) -> Json:
    return readiness(requeuingStrategy=settings)


def dispatch(**settings: Any) -> Json:
    return {"multiKueue": settings}


def provider(**execution: Any) -> Json:
    settings = {**PROVIDER["execConfig"], **execution}
    given = {name: value for name, value in settings.items() if value is not None}
    return dispatch(clusterProfile={"accessProviders": [{"name": "gke", "execConfig": given}]})


def resources(**settings: Any) -> Json:
    return {"resources": settings}


CASES = [
    case(
        "the namespace selector is a valid selector",
        bad={"managedJobsNamespaceSelector": selector(operator="Has")},
        gives=("managedJobsNamespaceSelector.matchExpressions[0].operator", INVALID),
        good={"managedJobsNamespaceSelector": selector()},
    ),
    case(
        "the namespace selector matches neither kube-system nor the manager's own namespace",
        bad={"namespace": "queues", "managedJobsNamespaceSelector": {}},
        gives=[("managedJobsNamespaceSelector", INVALID)] * 2,
        good={"managedJobsNamespaceSelector": selector("kubernetes.io/metadata.name")},
    ),
    case(
        "the namespace selector leaves the manager's own namespace out",
        bad={"managedJobsNamespaceSelector": selector("kubernetes.io/metadata.name", "NotIn", ("kube-system",))},
        gives=("managedJobsNamespaceSelector", INVALID),
        good={
            "namespace": "queues",
            "managedJobsNamespaceSelector": selector("kubernetes.io/metadata.name", "NotIn", ("kube-system", "queues")),
        },
    ),
    case(
        "the least TLS version is known",
        bad={"tls": {"minVersion": "TLS 1.2"}},
        gives=("tls.minVersion", UNSUPPORTED),
        good={"tls": {"minVersion": "VersionTLS12", "curvePreferences": [29, 23]}},
    ),
    case(
        "TLS 1.3 goes without cipher suites",
        bad={"tls": {"minVersion": "VersionTLS13", "cipherSuites": ["TLS_AES_128_GCM_SHA256"]}},
        gives=("tls.cipherSuites", INVALID),
        good={"tls": {"minVersion": "VersionTLS12", "cipherSuites": ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]}},
    ),
    case(
        "the webhook service is a DNS-1035 label",
        bad={"internalCertManagement": {"webhookServiceName": "1st"}},
        gives=("internalCertManagement.webhookServiceName", INVALID),
        good={"internalCertManagement": {"webhookServiceName": "hooks"}},
    ),
    case(
        "the webhook secret is a DNS subdomain",
        bad={"internalCertManagement": {"webhookSecretName": "No"}},
        gives=("internalCertManagement.webhookSecretName", INVALID),
        good={"internalCertManagement": {"webhookSecretName": "hooks.cert"}},
    ),
    case(
        "names of certificates do not matter where none are made",
        bad={"internalCertManagement": {"enable": True, "webhookServiceName": "1st"}},
        gives=("internalCertManagement.webhookServiceName", INVALID),
        good={"internalCertManagement": {"enable": False, "webhookServiceName": "1st"}},
    ),
    case(
        "the readiness timeout is not negative",
        bad=readiness(timeout="-1s", recoveryTimeout="1s"),
        gives=("waitForPodsReady.timeout", INVALID),
        good=readiness(timeout="0s"),
    ),
    case(
        "the recovery timeout is not negative",
        bad=readiness(recoveryTimeout="-1ns"),
        gives=("waitForPodsReady.recoveryTimeout", INVALID),
        good=readiness(recoveryTimeout="0"),
    ),
    case(
        "the requeuing timestamp is known",
        bad=requeuing(timestamp="Admission"),
        gives=("waitForPodsReady.requeuingStrategy.timestamp", UNSUPPORTED),
        good=requeuing(timestamp="Creation"),
    ),
    case(
        "the number of returns is not negative",
        bad=requeuing(backoffLimitCount=-1),
        gives=("waitForPodsReady.requeuingStrategy.backoffLimitCount", INVALID),
        good=requeuing(backoffLimitCount=0),
    ),
    case(
        "the first pause is not negative",
        bad=requeuing(backoffBaseSeconds=-1),
        gives=("waitForPodsReady.requeuingStrategy.backoffBaseSeconds", INVALID),
        good=requeuing(backoffBaseSeconds=0),
    ),
    case(
        "the longest pause is not negative",
        bad=requeuing(backoffMaxSeconds=-1),
        gives=("waitForPodsReady.requeuingStrategy.backoffMaxSeconds", INVALID),
        good=requeuing(backoffMaxSeconds=0),
    ),
    case(
        "frameworks are known and named once",
        bad={"integrations": {"frameworks": ["batch/job", "cron", "batch/job"]}},
        gives=[("integrations.frameworks[1]", UNSUPPORTED), ("integrations.frameworks[2]", DUPLICATE)],
        good={"integrations": {"frameworks": ["batch/job", "pod", "ray.io/rayjob"]}},
    ),
    case(
        "external frameworks have the form Kind.version.group",
        bad={"integrations": {"externalFrameworks": ["Foo", "Foo.v1", ".v1.example.com"]}},
        gives=[(f"integrations.externalFrameworks[{index}]", INVALID) for index in range(3)],
        good={"integrations": {"externalFrameworks": ["Foo.v1.example.com"]}},
    ),
    case(
        "external frameworks clash neither with managed ones nor with each other",
        bad={"integrations": {"externalFrameworks": ["Job.v1.batch", "Foo.v1.example.com", "Foo.v1.example.com"]}},
        gives=[("integrations.externalFrameworks[0]", DUPLICATE), ("integrations.externalFrameworks[2]", DUPLICATE)],
        good={"integrations": {"frameworks": ["pod"], "externalFrameworks": ["Job.v1.batch"]}},
    ),
    case(
        "the garbage collection interval is not negative",
        bad=dispatch(gcInterval="-1m"),
        gives=("multiKueue.gcInterval", INVALID),
        good=dispatch(gcInterval="0s"),
    ),
    case(
        "the origin is a label value",
        bad=dispatch(origin="a b"),
        gives=("multiKueue.origin", INVALID),
        good=dispatch(origin="manager-1"),
    ),
    case(
        "the patience with lost workers is not negative",
        bad=dispatch(workerLostTimeout="-1m"),
        gives=("multiKueue.workerLostTimeout", INVALID),
        good=dispatch(workerLostTimeout="0s"),
    ),
    case(
        "a step is at least one cluster",
        bad=dispatch(dispatcherName=INCREMENTAL, incrementalDispatcherConfig={"stepSize": 0}),
        gives=("multiKueue.incrementalDispatcherConfig.stepSize", INVALID),
        good=dispatch(dispatcherName=INCREMENTAL, incrementalDispatcherConfig={"stepSize": 1}),
    ),
    case(
        "the incremental dispatcher's settings go only with it",
        bad=dispatch(incrementalDispatcherConfig={}),
        gives=("multiKueue.incrementalDispatcherConfig", INVALID),
        good=dispatch(dispatcherName="example.com/my-dispatcher"),
    ),
    case(
        "dispatched kinds have the form Kind.version.group",
        bad=dispatch(externalFrameworks=[{"name": "Foo"}]),
        gives=("multiKueue.externalFrameworks[0].name", INVALID),
        good=dispatch(externalFrameworks=[{"name": "Foo.v1.example.com"}]),
    ),
    case(
        "dispatched kinds are unique",
        bad=dispatch(externalFrameworks=[{"name": "Foo.v1.example.com"}] * 2),
        gives=("multiKueue.externalFrameworks[1].name", DUPLICATE),
        good=dispatch(externalFrameworks=[{"name": "Foo.v1.example.com"}, {"name": "Foo.v2.example.com"}]),
    ),
    case(
        "dispatched kinds are not built in",
        bad=dispatch(externalFrameworks=[{"name": "Job.v1.batch"}]),
        gives=("multiKueue.externalFrameworks[0].name", INVALID),
        good=dispatch(externalFrameworks=[{"name": "JobSet.v1alpha2.jobset.x-k8s.io"}]),
    ),
    case(
        "access providers go by one name",
        bad=dispatch(clusterProfile={"accessProviders": [PROVIDER], "credentialsProviders": [PROVIDER]}),
        gives=("multiKueue.clusterProfile.credentialsProviders", FORBIDDEN),
        good=dispatch(clusterProfile={"credentialsProviders": [PROVIDER]}),
    ),
    case(
        "an access provider has a name and a program",
        bad=dispatch(clusterProfile={"accessProviders": [{}]}),
        gives=[
            ("multiKueue.clusterProfile.accessProviders[0].name", REQUIRED),
            ("multiKueue.clusterProfile.accessProviders[0].execConfig", REQUIRED),
        ],
        good=dispatch(clusterProfile={"accessProviders": [PROVIDER]}),
    ),
    case(
        "an access provider's program has a command, a version and a mode",
        bad=provider(command=None, apiVersion=None, interactiveMode=None),
        gives=[
            (f"multiKueue.clusterProfile.accessProviders[0].execConfig.{member}", REQUIRED)
            for member in ("command", "apiVersion", "interactiveMode")
        ],
        good=provider(args=["token"]),
    ),
    case(
        "an access provider's command is not empty",
        bad=provider(command=""),
        gives=("multiKueue.clusterProfile.accessProviders[0].execConfig.command", INVALID),
        good=provider(command="auth"),
    ),
    case(
        "an access provider's environment names its variables",
        bad=provider(env=[{"value": "1"}]),
        gives=("multiKueue.clusterProfile.accessProviders[0].execConfig.env[0].name", REQUIRED),
        good=provider(env=[{"name": "A", "value": "1"}]),
    ),
    case(
        "an access provider's mode is known",
        bad=provider(interactiveMode="Sometimes"),
        gives=("multiKueue.clusterProfile.accessProviders[0].execConfig.interactiveMode", UNSUPPORTED),
        good=provider(interactiveMode="IfAvailable"),
    ),
    case(
        "fair sharing defines its preemption strategies",
        bad={"fairSharing": {"preemptionStrategies": []}},
        gives=("fairSharing.preemptionStrategies", REQUIRED),
        good={"fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]}},
    ),
    case(
        "preemption strategies come in one of three lists",
        bad={"fairSharing": {"preemptionStrategies": ["LessThanInitialShare"] * 2}},
        gives=("fairSharing.preemptionStrategies", UNSUPPORTED),
        good={"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}},
    ),
    case(
        "the half life of usage is not negative",
        bad={"admissionFairSharing": {"usageHalfLifeTime": "-1h"}},
        gives=("admissionFairSharing.usageHalfLifeTime", INVALID),
        good={"admissionFairSharing": {"usageHalfLifeTime": "168h"}},
    ),
    case(
        "usage is sampled at positive intervals",
        bad={"admissionFairSharing": {"usageSamplingInterval": "-5m"}},
        gives=("admissionFairSharing.usageSamplingInterval", INVALID),
        good={"admissionFairSharing": {"usageSamplingInterval": "1m"}},
    ),
    case(
        "resource weights are not negative",
        bad={"admissionFairSharing": {"resourceWeights": {"cpu": -0.5}}},
        gives=("admissionFairSharing.resourceWeights.cpu", INVALID),
        good={"admissionFairSharing": {"resourceWeights": {"cpu": 0, "nvidia.com/gpu": 2.5}}},
    ),
    case(
        "the quota check strategy is known",
        bad=resources(quotaCheckStrategy="Guess"),
        gives=("resources.quotaCheckStrategy", UNSUPPORTED),
        good=resources(quotaCheckStrategy="BlockUndeclared", excludeResourcePrefixes=["example.com/"]),
    ),
    case(
        "ignoring what is undeclared leaves nothing to exclude",
        bad=resources(quotaCheckStrategy="IgnoreUndeclared", excludeResourcePrefixes=["example.com/"]),
        gives=("resources.quotaCheckStrategy", INVALID),
        good=resources(quotaCheckStrategy="IgnoreUndeclared"),
    ),
    case(
        "a resource is transformed once",
        bad=resources(transformations=[{"input": "a"}, {"input": "a", "strategy": "Replace"}]),
        gives=("resources.transformations[1]", DUPLICATE),
        good=resources(transformations=[{"input": "a"}, {"input": "b", "strategy": "Replace"}]),
    ),
    case(
        "a transformation has an input",
        bad=resources(transformations=[{"outputs": {"b": 1}}]),
        gives=("resources.transformations[0].input", REQUIRED),
        good=resources(
            transformations=[{"input": "a", "outputs": {"b": 1, "c": "5Gi", "d": 0.5}, "multiplyBy": "cpu"}]
        ),
    ),
    case(
        "a transformation's strategy is known",
        bad=resources(transformations=[{"input": "a", "strategy": "Keep"}]),
        gives=("resources.transformations[0].strategy", UNSUPPORTED),
        good=resources(transformations=[{"input": "a", "strategy": "Retain"}]),
    ),
    case(
        "a transformation's outputs are quantities",
        bad=resources(transformations=[{"input": "a", "outputs": {"b": "much"}}]),
        gives=("resources.transformations[0].outputs.b", INVALID),
        good=resources(transformations=[{"input": "a", "outputs": {"b": "1500m"}}]),
    ),
    case(
        "feature gates are known",
        bad={"featureGates": {"Teleportation": True}},
        gives=("featureGates", INVALID),
        good={"featureGates": {"PriorityBoost": True, "AllAlpha": False}},
    ),
    case(
        "finished workloads are not kept for a negative time",
        bad={"objectRetentionPolicies": {"workloads": {"afterFinished": "-1s"}}},
        gives=("objectRetentionPolicies.workloads.afterFinished", INVALID),
        good={"objectRetentionPolicies": {"workloads": {"afterFinished": "0s"}}},
    ),
    case(
        "deactivated workloads are not kept for a negative time",
        bad={"objectRetentionPolicies": {"workloads": {"afterDeactivatedByKueue": "-1s"}}},
        gives=("objectRetentionPolicies.workloads.afterDeactivatedByKueue", INVALID),
        good={"objectRetentionPolicies": {"workloads": {"afterDeactivatedByKueue": "24h"}}},
    ),
    case(
        "the visibility server binds to an IP address",
        bad={"visibilityServer": {"bindAddress": "localhost"}},
        gives=("visibilityServer.bindAddress", INVALID),
        good={"visibilityServer": {"bindAddress": "::1"}},
    ),
    case(
        "the visibility server has a port above zero",
        bad={"visibilityServer": {"bindPort": 0}},
        gives=("visibilityServer.bindPort", INVALID),
        good={"visibilityServer": {"bindPort": 1}},
    ),
    case(
        "the visibility server's port exists",
        bad={"visibilityServer": {"bindPort": 65536}},
        gives=("visibilityServer.bindPort", INVALID),
        good={"visibilityServer": {"bindPort": 65535}},
    ),
    case(
        "a duration is a duration",
        bad=readiness(timeout="soon"),
        gives=("waitForPodsReady.timeout", TYPE),
        good=readiness(timeout="1.5h"),
    ),
    case(
        "a number fits its type",
        bad=requeuing(backoffMaxSeconds=2**31),
        gives=("waitForPodsReady.requeuingStrategy.backoffMaxSeconds", INVALID),
        good=requeuing(backoffMaxSeconds=2**31 - 1),
    ),
    case(
        "fields have their types",
        bad={"webhook": {"port": "9443"}, "health": []},
        gives=[("webhook.port", TYPE), ("health", TYPE)],
        good={"webhook": {"port": 443}, "health": {}},
    ),
    case(
        "whole numbers are written as such",
        bad={"clientConnection": {"burst": 5.0}},
        gives=("clientConnection.burst", TYPE),
        good={"clientConnection": {"qps": -1, "burst": 5}},
    ),
]


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_a_configuration_that_breaks_the_rule_is_refused(each: Case) -> None:
    """API-137"""
    assert_refused(each)


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_a_configuration_that_keeps_the_rule_is_accepted(each: Case) -> None:
    """API-137"""
    accepted(v1beta2(**each.good))


def test_every_problem_is_reported_at_once() -> None:
    """API-137"""
    value = v1beta2(bogus=1, webhook={"host": "a", "bogus": 2}, multiKueue={"origin": "a b", "gcInterval": "-1s"})

    assert sorted(verdicts(parse_configuration(value))) == [
        ("bogus", FORBIDDEN),
        ("multiKueue.gcInterval", INVALID),
        ("multiKueue.origin", INVALID),
        ("webhook.bogus", FORBIDDEN),
    ]


@pytest.mark.parametrize(
    ("value", "verdict"),
    [
        ([], ("<nil>", TYPE)),
        ({"kind": "Configuration"}, ("apiVersion", REQUIRED)),
        ({"apiVersion": "config.kueue.x-k8s.io/v1", "kind": "Configuration"}, ("apiVersion", UNSUPPORTED)),
        ({"apiVersion": "config.kueue.x-k8s.io/v1beta2"}, ("kind", REQUIRED)),
        ({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue"}, ("kind", UNSUPPORTED)),
        (v1beta2(namespace="\ud800"), ("<nil>", TYPE)),
    ],
)
def test_what_is_no_configuration_is_refused(value: Json, verdict: tuple[str, str]) -> None:
    """API-137"""
    result = parse_configuration(value)

    assert result.config is None
    assert verdicts(result) == [verdict]
