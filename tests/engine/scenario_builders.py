"""Builds and runs scenarios: one line per object, one line per step.

Defaults as in the golden scenarios: one flavor `f`, resource cpu in whole cores, BestEffortFIFO, no
preemption, priority 0, names in order of creation, all queues in cohort R, all in namespace `ns`.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from engine.scenario import DAWN, ScenarioRunner
from kit.builders.core import make_namespace
from kohort.api.config.parsing import ParsingContext, parse_configuration
from kohort.api.kueue.conversion import V1BETA2
from kohort.engine.decisions import Evict, KeepPending, Reserve
from kohort.engine.settings import EngineSettings

Json = Any
CPU = "cpu"


def quota(resource: str, nominal: Json, bl: Json = None, ll: Json = None) -> Json:
    limits = {"borrowingLimit": bl, "lendingLimit": ll}
    return {
        "name": resource,
        "nominalQuota": nominal,
        **{name: each for name, each in limits.items() if each is not None},
    }


def group(flavors: Mapping[str, list[Json]]) -> Json:
    resources = [each["name"] for each in next(iter(flavors.values()))]
    return {
        "coveredResources": resources,
        "flavors": [{"name": name, "resources": quotas} for name, quotas in flavors.items()],
    }


class ScenarioBuilder(ScenarioRunner):
    """A scenario runner with short methods."""

    def __init__(self, settings: EngineSettings | None = None) -> None:
        super().__init__(settings or EngineSettings())
        self.put(make_namespace("ns"))
        self.born = 0

    def flavor(self, name: str, **spec: Json) -> None:
        self.put(_manifest("ResourceFlavor", name, spec))

    def cohort(self, name: str, nominal: Json = None, parent: str | None = None, **limits: Json) -> None:
        spec: Json = {"parentName": parent} if parent else {}
        if nominal is not None:
            spec["resourceGroups"] = [group({"f": [quota(CPU, nominal, **limits)]})]
        self.put(_manifest("Cohort", name, spec))

    def queue(
        self,
        name: str,
        nominal: Json = 0,
        *,
        cohort: str | None = "R",
        bl: Json = None,
        ll: Json = None,
        groups: list[Json] | None = None,
        weight: Json = None,
        **spec: Json,
    ) -> None:
        """A ClusterQueue with a LocalQueue of the same name in namespace ns."""
        body = {
            "namespaceSelector": {},
            "resourceGroups": groups or [group({"f": [quota(CPU, nominal, bl, ll)]})],
            **spec,
        }
        if cohort is not None:
            body["cohortName"] = cohort
        if weight is not None:
            body["fairSharing"] = {"weight": weight}
        for each in body["resourceGroups"]:
            for flavor in each["flavors"]:
                if flavor["name"] not in self.engine.store.flavors:
                    self.flavor(flavor["name"])
        self.put(_manifest("ClusterQueue", name, body))
        self.put(_manifest("LocalQueue", name, {"clusterQueue": name}, namespace="ns"))

    def submit(self, name: str, size: Json = 1, queue: str = "q", **facts: Json) -> None:
        """A pending workload of so many cores; `count` pods of `size` each if a count is given."""
        self.put(self.workload(name, size, queue, **facts))

    def running(
        self, name: str, size: Json, queue: str = "q", flavor: str = "f", cluster_queue: str = "", **facts: Json
    ) -> None:
        """An admitted workload; later lines are newer, unless `at` states otherwise."""
        manifest = self.workload(name, size, queue, **facts)
        (pod_set,) = manifest["spec"]["podSets"]
        requests = pod_set["template"]["spec"]["containers"][0]["resources"]["requests"]
        count = pod_set["count"]
        usage = {resource: str(int(amount) * count) for resource, amount in requests.items()}
        assignment = {
            "name": "main",
            "count": count,
            "flavors": dict.fromkeys(requests, flavor),
            "resourceUsage": usage,
        }
        time = manifest["metadata"]["creationTimestamp"]
        manifest["status"] = {
            "admission": {"clusterQueue": cluster_queue or queue, "podSetAssignments": [assignment]},
            "conditions": [_true_condition("QuotaReserved", time), _true_condition("Admitted", time)],
        }
        self.put(manifest)

    def workload(
        self,
        name: str,
        size: Json,
        queue: str,
        *,
        priority: int = 0,
        count: int = 1,
        min_count: int | None = None,
        at: float | None = None,
        namespace: str = "ns",
        **pod: Json,
    ) -> Json:
        self.born += 1
        requests = {name: str(amount) for name, amount in size.items()} if isinstance(size, dict) else {CPU: str(size)}
        born = DAWN + timedelta(seconds=self.born if at is None else at)
        template = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **pod}}
        pod_set = {"name": "main", "count": count, "template": template}
        if min_count is not None:
            pod_set["minCount"] = min_count
        manifest = _manifest(
            "Workload", name, {"queueName": queue, "priority": priority, "podSets": [pod_set]}, namespace
        )
        manifest["metadata"] |= {"uid": f"{self.born:04d}-{name}", "creationTimestamp": born.isoformat()}
        return manifest

    # Answers, by name

    @property
    def reserved(self) -> list[str]:
        """Workloads that got quota in the last step, in order."""
        return [each.workload.name for each in self.decisions if isinstance(each, Reserve)]

    @property
    def evicted(self) -> dict[str, str]:
        """Workloads preempted in the last step, with the reasons."""
        return {each.workload.name: each.reason for each in self.decisions if isinstance(each, Evict)}

    @property
    def waiting(self) -> dict[str, KeepPending]:
        """Workloads evaluated in the last step that stay pending."""
        return {each.workload.name: each for each in self.decisions if isinstance(each, KeepPending)}

    def turn(self) -> "ScenarioBuilder":
        """Drop the last decisions and run to rest."""
        self.decisions = []
        self.schedule()
        return self

    def once(self) -> "ScenarioBuilder":
        """Drop the last decisions and run one cycle."""
        self.decisions = []
        self.cycle()
        return self


def configured(configuration: Json = None, **gates: bool) -> EngineSettings:
    """Settings by a Configuration and some gates."""
    text = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", **(configuration or {})}
    result = parse_configuration({**text, "featureGates": gates}, ParsingContext(namespace="kueue-system"))
    assert not result.errors
    assert result.config is not None
    return EngineSettings.of(result.config, result.gates)


FAIR_SHARING = {"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}}


def _manifest(kind: str, name: str, spec: Json, namespace: str = "") -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": V1BETA2, "kind": kind, "metadata": metadata, "spec": spec}


def _true_condition(condition: str, time: str) -> Json:
    return {"type": condition, "status": "True", "reason": condition, "message": "", "lastTransitionTime": time}
