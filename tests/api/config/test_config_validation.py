"""One refusal and one acceptance for each validation of the table in docs/spec, section 10.1."""

from dataclasses import dataclass
from typing import Any

import pytest

from api.config.configurations import accepted, v1beta2, verdicts
from kohort.api.codec import Json
from kohort.api.config import parse_configuration
from kohort.api.config.devices import cel_problem

INVALID = "Invalid value"
REQUIRED = "Required value"
UNSUPPORTED = "Unsupported value"
DUPLICATE = "Duplicate value"
FORBIDDEN = "Forbidden"
TOO_LONG = "Too long"
TOO_MANY = "Too many"
TYPE = "Invalid type"

INCREMENTAL = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
PROVIDER: Json = {"name": "gke", "execConfig": {"command": "auth", "apiVersion": "v1", "interactiveMode": "Never"}}
CAPACITY_ON = {"KueueDRAIntegrationConsumableCapacity": True}


@dataclass(frozen=True)
class Case:
    name: str
    bad: Json
    errors: tuple[tuple[str, str], ...]
    good: Json


def case(name: str, *, bad: Json, gives: tuple[str, str] | list[tuple[str, str]], good: Json) -> Case:
    return Case(name, bad, tuple(gives) if isinstance(gives, list) else (gives,), good)


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


def labels(*entries: Json) -> Json:
    return {"metrics": {"customLabels": list(entries)}, "featureGates": {"CustomMetricLabels": True}}


def label(name: str = "team", **settings: Any) -> Json:
    return {"name": name, **settings}


def many_labels(count: int, kind: str) -> Json:
    extra = {"trackedValues": ["a"]} if kind == "Workload" else {}
    return [label(f"{kind}{index}", sourceKind=kind, **extra) for index in range(count)]


def texts(count: int) -> list[str]:
    return [f"v{index}" for index in range(count)]


def resources(**settings: Any) -> Json:
    return {"resources": settings}


def mappings(*entries: Json, **gates: bool) -> Json:
    return {"resources": {"deviceClassMappings": list(entries)}, "featureGates": gates}


def mapping(name: str = "gpu", *classes: str, **settings: Any) -> Json:
    return {"name": name, "deviceClassNames": list(classes or ("gpu.example.com",)), **settings}


def source(name: str = "memory", **settings: Any) -> Json:
    return {"name": name, "driver": "gpu.example.com", "deviceSelector": {"cel": {"expression": "true"}}, **settings}


def counter(name: str = "memory", **settings: Any) -> Json:
    return {"counter": source(name, **settings)}


def capacity(name: str = "memory", **settings: Any) -> Json:
    return {"capacity": source(name, **settings)}


def counters(*sources: Json) -> Json:
    return mappings(mapping(sources=list(sources)))


def capacities(*sources: Json) -> Json:
    return mappings(mapping(sources=list(sources)), **CAPACITY_ON)


MAPPING = "resources.deviceClassMappings[0]"
SOURCE = f"{MAPPING}.sources[0]"

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
        "the LocalQueue selector is a valid selector",
        bad={"metrics": {"localQueueMetrics": {"localQueueSelector": {"matchLabels": {"a b": "c"}}}}},
        gives=("metrics.localQueueMetrics.localQueueSelector.matchLabels", INVALID),
        good={"metrics": {"localQueueMetrics": {"localQueueSelector": {"matchLabels": {"a": "c"}}}}},
    ),
    case(
        "at most 20 custom labels",
        bad=labels(
            *(
                many_labels(6, "Cohort")
                + many_labels(6, "LocalQueue")
                + many_labels(6, "ClusterQueue")
                + many_labels(2, "Workload")
                + [label("last", sourceKind="Elsewhere")]
            )
        ),
        gives=[
            ("metrics.customLabels", TOO_MANY),
            ("metrics.customLabels[20].sourceKind", UNSUPPORTED),
        ],
        good=labels(
            *(
                many_labels(6, "Cohort")
                + many_labels(6, "LocalQueue")
                + many_labels(6, "ClusterQueue")
                + many_labels(2, "Workload")
            )
        ),
    ),
    case(
        "at most 6 custom labels per kind",
        bad=labels(*many_labels(7, "LocalQueue")),
        gives=("metrics.customLabels", INVALID),
        good=labels(*many_labels(6, "LocalQueue")),
    ),
    case(
        "at most 2 custom labels of Workloads",
        bad=labels(*many_labels(3, "Workload")),
        gives=("metrics.customLabels", INVALID),
        good=labels(*many_labels(2, "Workload")),
    ),
    case(
        "a custom label's name is a metric label's",
        bad=labels(label("1st")),
        gives=("metrics.customLabels[0].name", INVALID),
        good=labels(label("first_1")),
    ),
    case(
        "a custom label has a name",
        bad=labels({}),
        gives=("metrics.customLabels[0].name", REQUIRED),
        good=labels(label()),
    ),
    case(
        "custom labels have different names",
        bad=labels(label(), label(sourceKind="Cohort")),
        gives=("metrics.customLabels[1]", DUPLICATE),
        good=labels(label(), label("cost")),
    ),
    case(
        "a custom label has one source",
        bad=labels(label(sourceLabelKey="a", sourceAnnotationKey="b")),
        gives=("metrics.customLabels[0]", INVALID),
        good=labels(label(sourceLabelKey="a"), label("cost", sourceAnnotationKey="b")),
    ),
    case(
        "a custom label's source key is a label key",
        bad=labels(label(sourceLabelKey="a b")),
        gives=("metrics.customLabels[0].sourceLabelKey", INVALID),
        good=labels(label(sourceLabelKey="example.com/a")),
    ),
    case(
        "a custom label's source annotation is a key too",
        bad=labels(label(sourceAnnotationKey="-")),
        gives=("metrics.customLabels[0].sourceAnnotationKey", INVALID),
        good=labels(label(sourceAnnotationKey="example.com/a")),
    ),
    case(
        "a custom label without a source has a name that is a label key",
        bad=labels(label("a" * 64)),
        gives=("metrics.customLabels[0].name", INVALID),
        good=labels(label("a" * 64, sourceLabelKey="a")),
    ),
    case(
        "a custom label's kind is known",
        bad=labels(label(sourceKind="Pod")),
        gives=("metrics.customLabels[0].sourceKind", UNSUPPORTED),
        good=labels(label(sourceKind="Cohort")),
    ),
    case(
        "tracked values are unique",
        bad=labels(label(trackedValues=["a", "a"])),
        gives=("metrics.customLabels[0].trackedValues[1]", DUPLICATE),
        good=labels(label(trackedValues=["a", "b"])),
    ),
    case(
        "Workload labels name the values they track",
        bad=labels(label(sourceKind="Workload")),
        gives=("metrics.customLabels[0].trackedValues", REQUIRED),
        good=labels(label(sourceKind="Workload", trackedValues=texts(12))),
    ),
    case(
        "at most 12 tracked values of Workloads",
        bad=labels(label(sourceKind="Workload", trackedValues=texts(13))),
        gives=("metrics.customLabels[0].trackedValues", INVALID),
        good=labels(label(sourceKind="Workload", trackedValues=texts(1))),
    ),
    case(
        "at most 16 tracked values of other kinds",
        bad=labels(label(trackedValues=texts(17))),
        gives=("metrics.customLabels[0].trackedValues", INVALID),
        good=labels(label(trackedValues=texts(16))),
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
        "fair sharing says how it preempts",
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
        "at most 16 device class mappings",
        bad=mappings(*(mapping(f"gpu{index}", f"class{index}") for index in range(17))),
        gives=("resources.deviceClassMappings", TOO_MANY),
        good=mappings(*(mapping(f"gpu{index}", f"class{index}") for index in range(16))),
    ),
    case(
        "a mapping's name is a label key",
        bad=mappings(mapping("a b")),
        gives=(f"{MAPPING}.name", INVALID),
        good=mappings(mapping("example.com/gpu")),
    ),
    case(
        "a mapping's name has at most 253 characters",
        bad=mappings(mapping(f"{'.'.join(['a' * 62] * 4)}/gpu")),
        gives=(f"{MAPPING}.name", TOO_LONG),
        good=mappings(mapping(f"{'.'.join(['a' * 61] * 4)}/gpu")),
    ),
    case(
        "mappings have different names",
        bad=mappings(mapping("gpu", "a"), mapping("gpu", "b")),
        gives=("resources.deviceClassMappings[1]", DUPLICATE),
        good=mappings(mapping("gpu", "a"), mapping("tpu", "b")),
    ),
    case(
        "a mapping has device classes",
        bad=mappings({"name": "gpu"}),
        gives=(f"{MAPPING}.deviceClassNames", REQUIRED),
        good=mappings(mapping("gpu", *texts(8))),
    ),
    case(
        "a mapping's device classes are not an empty list",
        bad=mappings({"name": "gpu", "deviceClassNames": []}),
        gives=(f"{MAPPING}.deviceClassNames", INVALID),
        good=mappings(mapping("gpu", "a")),
    ),
    case(
        "a mapping has at most 8 device classes",
        bad=mappings(mapping("gpu", *texts(9))),
        gives=(f"{MAPPING}.deviceClassNames", TOO_MANY),
        good=mappings(mapping("gpu", *texts(8))),
    ),
    case(
        "device classes are label keys",
        bad=mappings(mapping("gpu", "a", "b c")),
        gives=(f"{MAPPING}.deviceClassNames[1]", INVALID),
        good=mappings(mapping("gpu", "a", "b.c")),
    ),
    case(
        "device classes of a mapping are unique",
        bad=mappings(mapping("gpu", "a", "a")),
        gives=(f"{MAPPING}.deviceClassNames[1]", DUPLICATE),
        good=mappings(mapping("gpu", "a", "b")),
    ),
    case(
        "a device class counts as one resource",
        bad=mappings(mapping("gpu", "a"), mapping("tpu", "b", "a")),
        gives=("resources.deviceClassMappings[1].deviceClassNames[1]", INVALID),
        good=mappings(mapping("gpu", "a"), mapping("tpu", "b")),
    ),
    case(
        "a device class counts as two resources only by two counters",
        bad=mappings(mapping(sources=[counter("memory")]), mapping("half", sources=[counter("memory")])),
        gives=("resources.deviceClassMappings[1].deviceClassNames[0]", INVALID),
        good=mappings(mapping(sources=[counter("memory")]), mapping("half", sources=[counter("compute")])),
    ),
    case(
        "a source is a counter or a capacity",
        bad=counters({}),
        gives=(SOURCE, REQUIRED),
        good=counters(counter()),
    ),
    case(
        "a source is not both",
        bad=capacities({**counter(), **capacity()}),
        gives=[(SOURCE, INVALID), (f"{MAPPING}.sources", INVALID)],
        good=capacities(capacity()),
    ),
    case(
        "counters and capacities are not mixed",
        bad=capacities(counter(), capacity()),
        gives=(f"{MAPPING}.sources", INVALID),
        good=capacities(capacity("memory"), capacity("compute")),
    ),
    case(
        "counters need their gate",
        bad=mappings(mapping(sources=[counter()]), KueueDRAIntegrationPartitionableDevices=False),
        gives=(f"{SOURCE}.counter", FORBIDDEN),
        good=counters(counter()),
    ),
    case(
        "capacities need their gate",
        bad=counters(capacity()),
        gives=(f"{SOURCE}.capacity", FORBIDDEN),
        good=capacities(capacity()),
    ),
    case(
        "a counter's name is a DNS label",
        bad=counters(counter("Memory")),
        gives=(f"{SOURCE}.counter.name", INVALID),
        good=counters(counter("memory-1")),
    ),
    case(
        "a capacity's name is a qualified name",
        bad=capacities(capacity("a-b")),
        gives=(f"{SOURCE}.capacity.name", INVALID),
        good=capacities(capacity("example.com/vram_gib")),
    ),
    case(
        "a driver is a DNS subdomain",
        bad=counters(counter(driver="GPU")),
        gives=(f"{SOURCE}.counter.driver", INVALID),
        good=counters(counter(driver="gpu.example.com")),
    ),
    case(
        "a driver has at most 63 characters",
        bad=capacities(capacity(driver="a" * 64)),
        gives=(f"{SOURCE}.capacity.driver", TOO_LONG),
        good=capacities(capacity(driver="a" * 63)),
    ),
    case(
        "a source selects its devices",
        bad=counters(counter(deviceSelector={})),
        gives=(f"{SOURCE}.counter.deviceSelector.cel", REQUIRED),
        good=counters(counter()),
    ),
    case(
        "a device selector can be CEL",
        bad=counters(counter(deviceSelector={"cel": {"expression": "device.driver == 'x"}})),
        gives=(f"{SOURCE}.counter.deviceSelector.cel.expression", INVALID),
        good=counters(counter(deviceSelector={"cel": {"expression": "device.attributes['x'].y == 'a(b'"}})),
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
    assert sorted(verdicts(parse_configuration(v1beta2(**each.bad)))) == sorted(each.errors)


@pytest.mark.parametrize("each", CASES, ids=lambda each: each.name)
def test_a_configuration_that_keeps_the_rule_is_accepted(each: Case) -> None:
    """API-137"""
    accepted(v1beta2(**each.good))


def test_every_problem_is_told_at_once() -> None:
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


@pytest.mark.parametrize(
    "expression",
    [
        "true",
        'device.driver == "gpu.example.com"',
        "device.attributes['gpu.example.com'].model.matches('^(A|H)100$')",
        r'device.name == "a\"(" && [1, 2].exists(x, x == 1)',
        "'''it's''' == r'\\' // a ' in a comment",
    ],
)
def test_a_well_formed_cel_expression_has_no_problem(expression: str) -> None:
    assert cel_problem(expression) == ""


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("  ", "empty"),
        ("// nothing", "empty"),
        ("device.driver == 'x", "quotes"),
        ("(true", "( is not closed"),
        ("true)", ") closes nothing"),
        ("[1, (2])", "] closes nothing"),
    ],
)
def test_a_malformed_cel_expression_is_told_apart(expression: str, problem: str) -> None:
    assert problem in cel_problem(expression)
