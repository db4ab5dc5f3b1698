"""Extras that scenarios of the property tests lack and Kueue supports: checks, limit ranges, past usage and others.

A finished scenario gets at most one of them, so that a difference has one cause. The change of a workload depends only
on its name, so that a manifest that is written again is the same again.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

from engine.scenario_strategies import FLAVORS, NAMESPACES, manifest

Json = Any
ScenarioExtra = Callable[[Json, random.Random], None]

CHECK = "check"
ODD_FLAVORS: tuple[Json, ...] = (*FLAVORS.values(), {"nodeLabels": {"type": "spot"}}, {"nodeTaints": []})
LIMITS: tuple[Json, ...] = (
    {"type": "Container", "defaultRequest": {"cpu": "1"}},
    {"type": "Container", "default": {"cpu": "3"}, "defaultRequest": {"cpu": "2"}},
    {"type": "Container", "max": {"cpu": "2"}},
    {"type": "Container", "min": {"cpu": "2"}},
    {"type": "Pod", "max": {"cpu": "2"}},
)
TRANSFORMATIONS: tuple[Json, ...] = (
    {"excludeResourcePrefixes": ["amd.com/"]},
    {"transformations": [{"input": "amd.com/gpu", "strategy": "Replace", "outputs": {"cpu": "1"}}]},
    {"transformations": [{"input": "cpu", "strategy": "Retain", "outputs": {"amd.com/gpu": "500m"}}]},
    {"quotaCheckStrategy": "IgnoreUndeclared"},
)


def manifests(scenario: Json, kind: str) -> Iterator[Json]:
    """Every version of the objects of a kind, in the order of time."""
    written = [*scenario["objects"], *(step["put"] for step in scenario["steps"] if "put" in step)]
    return (each for each in written if each["kind"] == kind)


def insert(scenario: Json, chance: random.Random, step: Json, *, after: int = 0) -> None:
    """Insert a step at a random position except the last."""
    steps = scenario["steps"]
    steps.insert(chance.randint(min(after, len(steps) - 1), len(steps) - 1), step)


def with_other_flavors(scenario: Json, chance: random.Random) -> None:
    """Flavors change, or come later than the queues that name them."""
    for name in FLAVORS:
        if chance.random() < 0.3:
            scenario["objects"] = [each for each in scenario["objects"] if _name(each) != ("ResourceFlavor", name)]
        for _ in range(chance.choice([0, 0, 1, 2])):
            insert(scenario, chance, {"put": manifest("ResourceFlavor", name, chance.choice(ODD_FLAVORS))})


def with_other_namespaces(scenario: Json, chance: random.Random) -> None:
    """Namespaces get other labels."""
    for name in NAMESPACES:
        for _ in range(chance.choice([0, 1, 2])):
            labels = chance.choice([{}, {"trusted": "yes"}])
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
            insert(scenario, chance, {"put": namespace})


def with_deleted_local_queues(scenario: Json, chance: random.Random) -> None:
    """LocalQueues are deleted and created again, some for another ClusterQueue."""
    existing = [each for each in scenario["objects"] if each["kind"] == "LocalQueue"]
    queues = sorted({each["metadata"]["name"] for each in manifests(scenario, "ClusterQueue")})
    for old in chance.sample(existing, min(len(existing), chance.choice([1, 2, 3]))):
        place = {member: old["metadata"][member] for member in ("namespace", "name")}
        at = chance.randint(0, len(scenario["steps"]) - 1)
        scenario["steps"].insert(at, {"delete": {"kind": "LocalQueue", **place}})
        goal = chance.choice([old["spec"]["clusterQueue"], *queues])
        new = manifest("LocalQueue", place["name"], {"clusterQueue": goal}, place["namespace"])
        _drop_between(scenario, at + 1, place)
        insert(scenario, chance, {"put": new}, after=at + 1)


def _drop_between(scenario: Json, start: int, place: Json) -> None:
    """Remove updates of a LocalQueue while it is deleted."""
    before, after = scenario["steps"][:start], scenario["steps"][start:]
    rest = [step for step in after if not _is_about(step.get("put", {}), place)]
    scenario["steps"] = [*before, *rest]


def _is_about(thing: Json, place: Json) -> bool:
    return bool(thing.get("kind") == "LocalQueue" and thing["metadata"] == {**thing["metadata"], **place})


def with_checks(scenario: Json, chance: random.Random) -> None:
    """Some queues have an AdmissionCheck, which may be missing or inactive."""
    checked = {name for name in ("q0", "q1", "q2") if chance.random() < 0.6}
    for queue in manifests(scenario, "ClusterQueue"):
        if queue["metadata"]["name"] in checked:
            queue["spec"]["admissionChecksStrategy"] = {"admissionChecks": [{"name": CHECK}]}
    if chance.random() < 0.7:
        scenario["objects"].insert(0, _check("True"))
    for _ in range(chance.choice([1, 2, 3])):
        insert(scenario, chance, {"put": _check(chance.choice(["True", "True", "False"]))})


def _check(active: str) -> Json:
    made = manifest("AdmissionCheck", CHECK, {"controllerName": "example.com/checker"})
    time = "2026-01-01T00:00:00Z"
    condition = {"type": "Active", "status": active, "reason": "Active", "message": "", "lastTransitionTime": time}
    return {**made, "status": {"conditions": [condition]}}


def with_limit_ranges(scenario: Json, chance: random.Random) -> None:
    """Namespaces have defaults and limits, and some pods have limits instead of requests."""
    for workload in manifests(scenario, "Workload"):
        if "status" not in workload:
            _vary_requests(workload)
    for namespace in NAMESPACES:
        if chance.random() < 0.8:
            scenario["objects"].insert(2, _limit_range(namespace, chance))
        if chance.random() < 0.5:
            insert(scenario, chance, {"put": _limit_range(namespace, chance)})
            _disable_preemption(scenario)


def _disable_preemption(scenario: Json) -> None:
    """When Kueue adds workloads again, it loses which of them wait for victims."""
    for queue in manifests(scenario, "ClusterQueue"):
        queue["spec"].pop("preemption", None)


def _vary_requests(workload: Json) -> None:
    variant = _number(workload) % 4
    for pod_set in workload["spec"]["podSets"]:
        resources = pod_set["template"]["spec"]["containers"][0]["resources"]
        requests = resources.get("requests", {})
        if "cpu" not in requests or variant == 0 or "0" in requests.values():
            continue
        amount = resources["requests"].pop("cpu")
        if variant == 1:
            resources["limits"] = {"cpu": amount}
        elif variant == 2:
            resources["limits"], resources["requests"]["cpu"] = {"cpu": "2"}, amount


def _limit_range(namespace: str, chance: random.Random) -> Json:
    spec = {"limits": [chance.choice(LIMITS)]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": namespace}, "spec": spec}


def with_reclaimable_pods(scenario: Json, chance: random.Random) -> None:
    """Some pods finish early, of running and of pending jobs (SCH-133)."""
    for _ in range(chance.choice([1, 2, 4])):
        steps = scenario["steps"]
        at = chance.randint(0, len(steps) - 1)
        known = [each for each in scenario["objects"] if each["kind"] == "Workload"]
        known += [step["put"] for step in steps[:at] if step.get("put", {}).get("kind") == "Workload"]
        gone = {step["delete"]["name"] for step in steps[:at] if "delete" in step}
        known = [each for each in known if each["metadata"]["name"] not in gone]
        if known:
            workload = chance.choice(known)
            pods = {each["name"]: chance.randint(0, each["count"]) for each in workload["spec"]["podSets"]}
            steps.insert(at, {"reclaim": {"workload": _key(workload), "pods": pods}})


def with_past_usage(scenario: Json, chance: random.Random) -> None:
    """Queues order LocalQueues by past usage (§8), without reclaiming, whose order is a deviation (SCH-620)."""
    half_life = chance.choice(["0s", "10s", "10m"])
    weights = chance.choice([{}, {"cpu": 2.0}, {"cpu": 0.0}])
    scenario["configuration"]["admissionFairSharing"] = {
        "usageHalfLifeTime": half_life,
        "usageSamplingInterval": "5s",
        "resourceWeights": weights,
    }
    for queue in manifests(scenario, "ClusterQueue"):
        queue["spec"]["admissionScope"] = {"admissionMode": "UsageBasedAdmissionFairSharing"}
        queue["spec"].get("preemption", {}).pop("reclaimWithinCohort", None)
        queue["spec"].get("preemption", {}).pop("borrowWithinCohort", None)
    for local_queue in manifests(scenario, "LocalQueue"):
        if local_queue["metadata"]["namespace"] == "guest":
            local_queue["spec"]["fairSharing"] = {"weight": "2"}
    moved = {_key(each) for each in manifests(scenario, "Workload") if _number(each) % 2}
    scenario["objects"] = [_as_guest(_in_other_namespace(each, moved)) for each in scenario["objects"]]
    scenario["steps"] = [
        {verb: _as_guest(_in_other_namespace(what, moved)) for verb, what in step.items()} for step in scenario["steps"]
    ]


def _as_guest(what: Json) -> Json:
    """LocalQueues of guests get distinct names: Kueue treats those of one name as one (SCH-620)."""
    place = what.get("metadata", what) if isinstance(what, dict) else {}
    if place.get("namespace") != "guest" or what.get("kind") not in ("LocalQueue", "Workload"):
        return what
    if what["kind"] == "Workload":
        spec = what.get("spec")
        return {**what, "spec": {**spec, "queueName": f"guest-{spec['queueName']}"}} if spec else what
    renamed = {**place, "name": f"guest-{place['name']}"}
    return {**what, "metadata": renamed} if "metadata" in what else renamed


def _in_other_namespace(what: Json, moved: set[str]) -> Json:
    """Move workloads to the namespace of guests, so that both LocalQueues of a queue have some."""
    if isinstance(what, str):
        return what.replace("team/", "guest/") if what in moved else what
    if isinstance(what, dict) and what.get("kind") == "Workload":
        place = what.get("metadata", what)
        if f"{place['namespace']}/{place['name']}" in moved:
            place = {**place, "namespace": "guest"}
            return {**what, "metadata": place} if "metadata" in what else place
    return what


def with_transformations(scenario: Json, chance: random.Random) -> None:
    """Resources are excluded, derived from others, or need no quota (SCH-130, SCH-131, SCH-503)."""
    scenario["configuration"]["resources"] = chance.choice(TRANSFORMATIONS)


EXTRAS: dict[str, ScenarioExtra] = {
    "other flavors": with_other_flavors,
    "other namespaces": with_other_namespaces,
    "deleted LocalQueues": with_deleted_local_queues,
    "AdmissionChecks": with_checks,
    "LimitRanges": with_limit_ranges,
    "reclaimable pods": with_reclaimable_pods,
    "past usage": with_past_usage,
    "transformations": with_transformations,
}


def add_extra(scenario: Json, chance: random.Random) -> str:
    """Add an extra to half of the scenarios; returns its name, empty if none was added."""
    if chance.random() < 0.5:
        return ""
    name = chance.choice(list(EXTRAS))
    EXTRAS[name](scenario, chance)
    return name


def _name(thing: Json) -> tuple[str, str]:
    return thing["kind"], thing["metadata"]["name"]


def _key(workload: Json) -> str:
    return f"{workload['metadata']['namespace']}/{workload['metadata']['name']}"


def _number(workload: Json) -> int:
    return int(workload["metadata"]["uid"][:4])
