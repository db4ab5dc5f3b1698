"""Random scenarios for the comparison: those of the property tests, less those without a result of the real Kueue."""

import json
import random
from collections.abc import Sequence
from typing import Any, TypeVar

from engine.scenario_strategies import STRATEGIES, ScenarioGenerator, write_scenario
from oracle.contention import Borrowers, ContendingQueues
from oracle.scenario_extras import add_extra

Json = Any

MOST_STEPS = 25
PLAIN_RESOURCE = "amd.com/gpu"
"""Replaces memory. SCH-106 leaves open in which order the resources of a request are evaluated; the real one uses
a hash of their names; by it, this name comes before cpu as it does in the alphabet, where memory would not."""

AUTHORS = (
    ScenarioGenerator,
    ScenarioGenerator,
    ScenarioGenerator,
    ContendingQueues,
    ContendingQueues,
    ContendingQueues,
    Borrowers,
    Borrowers,
    Borrowers,
    Borrowers,
)
"""How often each of them writes."""
FAIRLY = (True, True, True, False, False)
"""How often borrowers take by fair share, and how often by priority."""
T = TypeVar("T")
PRIORITY_CLASS: Json = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "some"}


def scenario(seed: str) -> Json:
    """The scenario that belongs to a seed."""
    chance = random.Random(seed)  # noqa: S311
    author = chance.choice(AUTHORS)()

    def pick(options: Sequence[T], /) -> T:
        return chance.choice(list(options))

    made = write_scenario(pick, [author], chance.randint(1, MOST_STEPS))
    if isinstance(author, ContendingQueues):
        made["steps"] = author.story(pick, made["steps"])
    if isinstance(author, Borrowers):
        made["configuration"] = {"fairSharing": {"preemptionStrategies": pick(STRATEGIES)}} if pick(FAIRLY) else {}
    made = json.loads(json.dumps(made).replace('"memory"', f'"{PLAIN_RESOURCE}"'))
    made = {**made, "steps": _cycle_by_cycle(_answerable(made), chance)}
    extra = add_extra(made, chance)
    _avoid_quirks(made)
    return {"extra": extra, **made}


def _cycle_by_cycle(steps: list[Json], chance: random.Random) -> list[Json]:
    """Runs as a number of cycles, all but the last: a scan over flavors that alternates has no defined end."""
    expanded: list[Json] = []
    for step in steps[:-1]:
        expanded += [{"cycle": 1}] * chance.randint(1, 6) if "schedule" in step else [step]
    return [*expanded, *steps[-1:]]


def _avoid_quirks(scenario: Json) -> None:
    """Leave out what the real one does by accident or by a race; README.md names each of them."""
    scenario["gates"].pop("FlavorFungibilityPreserveScanProgress", None)
    manifests = [*scenario["objects"], *(step["put"] for step in scenario["steps"] if "put" in step)]
    queues = [each["spec"] for each in manifests if each["kind"] == "ClusterQueue"]
    for manifest in (each for each in manifests if each["kind"] == "Workload"):
        manifest["spec"]["priorityClassRef"] = PRIORITY_CLASS
    strategies: dict[str, str] = {}
    for manifest in (each for each in manifests if each["kind"] == "ClusterQueue"):
        spec = manifest["spec"]
        spec["queueingStrategy"] = strategies.setdefault(manifest["metadata"]["name"], spec["queueingStrategy"])
    for spec in queues:
        if any(len(group["coveredResources"]) > 1 for group in spec["resourceGroups"]):
            spec["flavorFungibility"].pop("preference", None)
    if any("pods" in group["coveredResources"] for spec in queues for group in spec["resourceGroups"]):
        for spec in queues:
            spec.pop("preemption", None)


def _answerable(scenario: Json) -> list[Json]:
    """Steps that the real Kueue survives: where parents of cohorts run in a circle, it may never come back."""
    parents: dict[str, str] = {}
    for manifest in scenario["objects"]:
        _note_parent(parents, manifest)
    kept = []
    for step in scenario["steps"]:
        before = dict(parents)
        _note_parent(parents, step.get("put", {}))
        gone = step.get("delete", {})
        is_lost = gone.get("kind") == "Cohort" and parents.pop(gone["name"], None) is None
        if "conflict" in step or is_lost or _runs_in_a_circle(parents):
            parents = before
            continue
        kept.append(step)
    return kept


def has_circles(scenario: Json) -> bool:
    """Whether parents of cohorts run in a circle at any time."""
    return len(_answerable(scenario)) < len(scenario["steps"])


def _note_parent(parents: dict[str, str], manifest: Json) -> None:
    if manifest.get("kind") == "Cohort":
        parents[manifest["metadata"]["name"]] = manifest["spec"].get("parentName", "")


def _runs_in_a_circle(parents: dict[str, str]) -> bool:
    for name in parents:
        seen, above = {name}, parents.get(name, "")
        while above:
            if above in seen:
                return True
            seen.add(above)
            above = parents.get(above, "")
    return False
