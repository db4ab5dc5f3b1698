"""What random scenarios contain and result in, so that a comparison does not rely on events that never happen.

`python -m oracle.compare --coverage` prints, per kind of thing, in how many scenarios it occurs. Needs no Go.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from engine.scenario import ScenarioRunner
from engine.scenario_builders import configured
from kohort.engine.decisions import Evict, KeepPending, Reserve
from oracle.scenario_extras import manifests
from oracle.topology_coverage import topology_contents

Json = Any


class Coverage:
    """Counts scenarios, not occurrences."""

    def __init__(self) -> None:
        self.total = 0
        self.counts: Counter[str] = Counter()

    def note(self, scenario: Json) -> None:
        """Add one scenario; it is played by our engine."""
        self.total += 1
        self.counts.update(set(topology_contents(scenario)) if "theme" in scenario else _contents(scenario))

    def table(self) -> str:
        """One line per kind of thing, by name."""
        lines = [f"{name:<58} {count:>6} {count / self.total:>6.1%}" for name, count in sorted(self.counts.items())]
        return "\n".join([f"{'in scenarios':<58} {self.total:>6}", *lines])


def _contents(scenario: Json) -> set[str]:
    return {*_asked(scenario), *_happened(scenario)}


def _asked(scenario: Json) -> Iterator[str]:
    """What the scenario is made of."""
    yield f"extra: {scenario['extra'] or 'none'}"
    yield "sharing: by fair share" if "fairSharing" in scenario["configuration"] else "sharing: classical"
    yield from (f"gate: {name}={state}" for name, state in scenario["gates"].items())
    yield from (f"step: {verb}" for step in scenario["steps"] for verb in step)
    yield f"tree: {_depth(scenario)} levels of cohorts"
    for queue in manifests(scenario, "ClusterQueue"):
        yield from _of_queue(queue["spec"])
    for workload in manifests(scenario, "Workload"):
        yield from _of_workload(workload["spec"])
    if any(each["spec"].get("stopPolicy") == "Hold" for each in manifests(scenario, "LocalQueue")):
        yield "LocalQueue: stopped"


def _depth(scenario: Json) -> int:
    parents = {each["metadata"]["name"]: each["spec"].get("parentName") for each in manifests(scenario, "Cohort")}
    named = {each["spec"].get("cohortName") for each in manifests(scenario, "ClusterQueue")} - {None}
    return max((_height(name, parents) for name in named), default=0)


def _height(name: str | None, parents: dict[str, str | None]) -> int:
    seen: list[str] = []
    while name is not None and name not in seen:
        seen.append(name)
        name = parents.get(name)
    return len(seen)


def _of_queue(spec: Json) -> Iterator[str]:
    yield f"queue: {spec['queueingStrategy']}"
    yield from (f"preemption: {name}={_policy(policy)}" for name, policy in spec.get("preemption", {}).items())
    yield from (f"fungibility: {name}={policy}" for name, policy in spec.get("flavorFungibility", {}).items())
    groups = spec["resourceGroups"]
    if len(groups) > 1:
        yield "queue: several resource groups"
    if any(len(group["flavors"]) > 1 for group in groups):
        yield "queue: several flavors"
    quotas = [quota for group in groups for flavor in group["flavors"] for quota in flavor["resources"]]
    yield from (f"quota: {limit}" for limit in ("borrowingLimit", "lendingLimit") for quota in quotas if limit in quota)
    if spec.get("stopPolicy") == "Hold":
        yield "queue: stopped"
    if "fairSharing" in spec:
        yield f"queue: weight {spec['fairSharing']['weight']}"


def _policy(policy: Json) -> str:
    return policy if isinstance(policy, str) else str(policy["policy"])


def _of_workload(spec: Json) -> Iterator[str]:
    yield f"workload: priority {spec.get('priority', 0)}"
    for pod_set in spec["podSets"]:
        pod = pod_set["template"]["spec"]
        yield from (f"workload: {name}" for name in ("tolerations", "nodeSelector", "affinity") if name in pod)
        if "minCount" in pod_set:
            yield "workload: accepts fewer pods"
    if len(spec["podSets"]) > 1:
        yield "workload: several pod sets"


def _happened(scenario: Json) -> Iterator[str]:
    """What our engine decided."""
    runner = ScenarioRunner(configured(scenario["configuration"], **scenario["gates"]))
    for manifest in scenario["objects"]:
        runner.put(manifest)
    for step in scenario["steps"]:
        for decision in runner.perform(step):
            match decision:
                case Reserve():
                    yield from _of_reservation(runner, decision)
                case Evict():
                    yield "happened: preemption"
                    yield f"happened: preemption {decision.reason}"
                case KeepPending():
                    yield f"happened: waits, {decision.reason}"


def _of_reservation(runner: ScenarioRunner, decision: Reserve) -> Iterator[str]:
    yield "happened: admission"
    if decision.borrow:
        yield "happened: borrowing"
    asked = {each.name: each.count for each in runner.workloads[decision.workload].spec.pod_sets}
    assigned = decision.admission.pod_set_assignments
    if any((each.count or 0) < (asked[each.name] or 0) for each in assigned):
        yield "happened: partial admission"
    if len({flavor for each in assigned for flavor in each.flavors.values()}) > 1:
        yield "happened: several flavors at once"
