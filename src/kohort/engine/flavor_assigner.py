"""Flavor assignment (docs/spec/scheduling.md §5): which flavor each resource of each pod set gets, and how.

Reads the live tree and does not change it; preemption is simulated by releasing and restoring usage.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from kohort.engine.assignment import Assignment, FitMode, FlavorAssignment, FlavorAttempt, PodSetResult, ResourceVerdict
from kohort.engine.borrow_within_cohort import may_borrow_while_preempting
from kohort.engine.eligibility import FlavorEligibility
from kohort.engine.hierarchy import ClusterQueueNode
from kohort.engine.placement.flavor_filter import TopologyFilter
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.quota import FlavorResource, QuotaCell
from kohort.engine.records import ClusterQueueInfo, Flavor, FlavorGroup, FlavorScanState, PodSetResources, WorkloadInfo
from kohort.engine.requests.demand import PODS
from kohort.engine.requests.usage import PodSetUsage
from kohort.engine.usage_request import UsageRequest, released

FindTargets = Callable[[WorkloadInfo, ClusterQueueInfo, UsageRequest], list[PreemptionTarget]]
"""The preemption search in force: classical or by fair share."""
Only = Mapping[tuple[str, str], str]
"""The flavors that pod sets are bound to, by pod set and resource."""


@dataclass(frozen=True, slots=True)
class FlavorRules:
    """Configuration and feature gates of flavor assignment."""

    uses_fungibility: bool = True
    ignores_undeclared: bool = False
    preempts_by_share: bool = False


class FlavorSearch(msgspec.Struct):
    """One flavor assignment for one workload."""

    workload: WorkloadInfo
    queue: ClusterQueueInfo
    flavors: Mapping[str, Flavor]
    find_targets: FindTargets
    rules: FlavorRules
    eligibility: FlavorEligibility
    filter: TopologyFilter
    counts: Sequence[int] | None = None
    """Pods per pod set, if fewer than requested are tried (SCH-561)."""
    start: FlavorScanState | None = None
    only: Only | None = None
    """Flavors to which a recomputation is bound (SCH-331)."""
    replaced: Mapping[str, PodSetUsage] = {}
    """Usage per pod set of the slice that this workload replaces (SCH-1103)."""
    taken: dict[FlavorResource, int] = {}
    """Usage of earlier pod sets of this workload (SCH-506)."""
    simulated: dict[FlavorResource, tuple[int, list[PreemptionTarget]]] = {}
    """The victims found for an amount of one flavor-resource alone (SCH-522)."""

    def targets(self, request: UsageRequest) -> list[PreemptionTarget]:
        """The victims for all requests together.

        An identical search is not repeated; one that found none for the quota alone finds none for the pods either.
        """
        if len(request.quota) == 1:
            ((fr, amount),) = request.quota.items()
            known = self.simulated.get(fr)
            if known is not None and known[0] == amount and (request.search is None or not known[1]):
                return known[1]
        return self.find_targets(self.workload, self.queue, request)


def assign(search: FlavorSearch, cycle: int = 0) -> Assignment:
    """Find flavors for every pod set of the workload."""
    pod_sets = _counted(search)
    results: list[PodSetResult] = []
    for group in _groups(pod_sets):
        found = [PodSetResult(each.name, each.count, _requests(search, each)) for each in group]
        results += found
        if not _assign_group(search, group, found):
            break
    usage = {fr: max(0, amount) for fr, amount in search.taken.items()} if search.replaced else search.taken
    return Assignment(results, progress=_progress(search, results, cycle), usage=usage)


def _counted(search: FlavorSearch) -> list[PodSetResources]:
    """Pod sets of the size that is tried; one whose pods are all done stays empty (SCH-561)."""
    pod_sets = search.workload.pod_sets
    if search.counts is None:
        return list(pod_sets)
    counted = zip(pod_sets, search.counts, strict=True)
    return [msgspec.structs.replace(each, count=count) if each.count else each for each, count in counted]


def _groups(pod_sets: list[PodSetResources]) -> list[list[PodSetResources]]:
    """Pod sets that are assigned as one, in the order of their first members (SCH-501)."""
    if len(pod_sets) == 1:
        return [pod_sets]
    groups: dict[tuple[str, str], list[PodSetResources]] = {}
    for pod_set in pod_sets:
        key = ("group", pod_set.group) if pod_set.group else ("pod set", pod_set.name)
        groups.setdefault(key, []).append(pod_set)
    return list(groups.values())


def _requests(search: FlavorSearch, pod_set: PodSetResources) -> dict[str, int]:
    """The total requests of the pod set (SCH-135)."""
    requests = pod_set.total_of(pod_set.count)
    if PODS in search.queue.group_of:
        requests[PODS] = pod_set.count
    return requests


def _assign_group(search: FlavorSearch, group: list[PodSetResources], results: list[PodSetResult]) -> bool:
    """Choose a flavor for every resource that the group requests; False if one has none (SCH-504, SCH-505)."""
    is_single = len(results) == 1 and not search.replaced
    totals = results[0].requests if is_single else _totals(search, results)
    assigned: set[str] = set()
    for resource in sorted(totals):
        if resource in assigned:
            continue
        flavors = search.queue.group_of.get(resource)
        if flavors is None:
            if totals[resource] == 0 or search.rules.ignores_undeclared:
                continue
            _fail(results, [], uncovered=resource)
            return False
        if not _assign_resources(search, group, results, flavors, totals):
            return False
        assigned.update(flavors.resources)
    if len(results) > 1:
        _inherit_topology(search, results)
    return True


def _totals(search: FlavorSearch, results: list[PodSetResult]) -> dict[str, int]:
    """The requests of a group's pod sets together, in addition to the slice that is replaced."""
    totals: dict[str, int] = {}
    for result in results:
        for resource, amount in result.requests.items():
            more = _beyond_replaced(search, result.name, resource, amount)
            totals[resource] = totals.get(resource, 0) + more
    return totals


def _inherit_topology(search: FlavorSearch, results: list[PodSetResult]) -> None:
    """A member that requests no resource of the queue gets the flavor of its group (TAS-38)."""
    for result in [each for each in results if not each.choices]:
        for other in results:
            for resource, choice in other.choices.items():
                if search.flavors[choice.flavor].topology:
                    result.choices[resource] = choice


def _beyond_replaced(search: FlavorSearch, pod_set: str, resource: str, amount: int) -> int:
    """The requests in addition to the slice that is replaced; negative if the pod set shrinks (SCH-1103)."""
    replaced = search.replaced.get(pod_set)
    return amount if replaced is None else amount - replaced.amounts.get(resource, 0)


def _fail(results: list[PodSetResult], attempts: list[FlavorAttempt], uncovered: str = "") -> None:
    """Record that a resource has no flavor: only its group's reasons are reported (SCH-547)."""
    for result in results:
        result.failed = True
        result.choices.clear()
        result.attempts.append(attempts)
        result.short = [attempts]
        result.uncovered = uncovered


def _assign_resources(
    search: FlavorSearch,
    group: list[PodSetResources],
    results: list[PodSetResult],
    flavors: FlavorGroup,
    totals: Mapping[str, int],
) -> bool:
    """Choose one flavor for the resources of a group; for what does not fit, all attempts are reported (SCH-543)."""
    requests = {resource: totals[resource] for resource in flavors.resources if resource in totals}
    attempts, chosen = _scan(search, group, flavors, requests)
    if chosen is None:
        _fail(results, attempts)
        return False
    tried = _index_of_last(flavors, attempts)
    for result in results:
        result.attempts.append(attempts)
        if chosen.mode is not FitMode.FIT:
            result.short.append(attempts)
        for verdict in chosen.verdicts:
            if verdict.resource in result.requests:
                result.choices[verdict.resource] = FlavorAssignment(chosen.flavor, verdict.mode, verdict.borrow, tried)
    for resource, amount in requests.items():
        fr = FlavorResource(chosen.flavor, resource)
        search.taken[fr] = search.taken.get(fr, 0) + amount
    return True


def _index_of_last(flavors: FlavorGroup, attempts: list[FlavorAttempt]) -> int:
    last = flavors.flavors.index(attempts[-1].flavor)
    return -1 if last == len(flavors.flavors) - 1 else last


# Scanning flavors


def _scan(
    search: FlavorSearch, group: list[PodSetResources], flavors: FlavorGroup, requests: Mapping[str, int]
) -> tuple[list[FlavorAttempt], FlavorAttempt | None]:
    """Try flavors in order until one is good enough (SCH-540, SCH-541)."""
    attempts: list[FlavorAttempt] = []
    best: FlavorAttempt | None = None
    first = 0 if search.start is None else _first_index(search, search.start, group[0], flavors, requests)
    for name in flavors.flavors[first:]:
        attempt = _try(search, group, name, requests)
        attempts.append(attempt)
        if attempt.mode is not FitMode.NO_FIT and _stops(search, attempt):
            return attempts, attempt
        if _improves(search, attempt, best):
            best = attempt
    return attempts, best


def _improves(search: FlavorSearch, attempt: FlavorAttempt, best: FlavorAttempt | None) -> bool:
    """Whether a flavor is better than the best so far; without fungibility only its mode counts (SCH-542)."""
    if search.rules.uses_fungibility:
        return is_preferred(attempt, best, search.queue.policies.prefers_preemption)
    return attempt.mode > (FitMode.NO_FIT if best is None else best.mode)


def _first_index(
    search: FlavorSearch,
    start: FlavorScanState,
    first: PodSetResources,
    flavors: FlavorGroup,
    requests: Mapping[str, int],
) -> int:
    """Index at which the last scan stopped (SCH-550); the first flavor if the queue lost the remaining ones."""
    if not search.rules.uses_fungibility:
        return 0
    index = start.tried.get((first.name, min(requests)), -1) + 1
    return index if index < len(flavors.flavors) else 0


def _stops(search: FlavorSearch, attempt: FlavorAttempt) -> bool:
    if attempt.mode is FitMode.FIT and attempt.borrow == 0:
        return True
    if not search.rules.uses_fungibility:
        return attempt.mode is FitMode.FIT
    policies = search.queue.policies
    if attempt.mode is FitMode.NO_CANDIDATES:
        return False
    if attempt.mode.needs_preemption and policies.tries_next_when_preempting:
        return False
    return not (attempt.borrow > 0 and policies.tries_next_when_borrowing)


def is_preferred(attempt: FlavorAttempt, best: FlavorAttempt | None, prefers_preemption: bool) -> bool:  # noqa: FBT001
    """Whether a flavor is better than the best so far (SCH-530)."""
    if attempt.mode is FitMode.NO_FIT:
        return False
    if best is None:
        return True
    viable, best_viable = attempt.mode > FitMode.NO_CANDIDATES, best.mode > FitMode.NO_CANDIDATES
    if viable != best_viable:
        return viable
    if prefers_preemption:
        return (-attempt.borrow, attempt.mode) > (-best.borrow, best.mode)
    return (attempt.mode, -attempt.borrow) > (best.mode, -best.borrow)


def _try(search: FlavorSearch, group: list[PodSetResources], name: str, requests: Mapping[str, int]) -> FlavorAttempt:
    """Whether the pods may use the flavor (SCH-510 to SCH-513), and the mode of its worst resource (SCH-531)."""
    if search.only is not None and (passed_over := _passed_over(search.only, group, name, requests)):
        return FlavorAttempt(name, FitMode.NO_FIT, 0, obstacle=passed_over, counts=False)
    flavor = search.flavors.get(name)
    obstacle = f"flavor {name} not found" if flavor is None else _obstacle(search, flavor, group, requests)
    if not obstacle and (search.replaced or search.workload.allowed_flavors is not None):
        obstacle = _binding(search, group[0], name, requests)
    if obstacle:
        return FlavorAttempt(name, FitMode.NO_FIT, 0, obstacle=obstacle)
    verdicts = tuple([_judge(search, name, resource, amount) for resource, amount in sorted(requests.items())])
    worst = verdicts[0] if len(verdicts) == 1 else min(verdicts, key=lambda verdict: (verdict.mode, -verdict.borrow))
    return FlavorAttempt(name, worst.mode, worst.borrow, verdicts)


def _passed_over(only: Only, group: Sequence[PodSetResources], name: str, requests: Mapping[str, int]) -> str:
    """Why the group can't get the flavor again; not all of its pod sets request every resource (TAS-81)."""
    for resource in sorted(requests):
        if all(only.get((each.name, resource)) != name for each in group):
            return f"skipping flavor {name} as it is not found in the nomination mapping for resource {resource}"
    return ""


def _binding(search: FlavorSearch, first: PodSetResources, name: str, requests: Mapping[str, int]) -> str:
    """Why the workload is bound to other flavors: as a variant, or by the slice it replaces (SCH-1103, SCH-1111)."""
    allowed = search.workload.allowed_flavors
    if allowed is not None and name not in allowed:
        return f"skipping flavor {name} due to WorkloadAllowedResourceFlavorAnnotation annotation"
    replaced = search.replaced.get(first.name)
    if replaced is None:
        return ""
    for resource in sorted(requests):
        held = replaced.flavors.get(resource)
        if held is not None and held != name:
            return f"could not assign {name} flavor since the original workload is assigned: {held}"
    return ""


def _obstacle(search: FlavorSearch, flavor: Flavor, group: list[PodSetResources], requests: Mapping[str, int]) -> str:
    """Why pods of the group can't use the flavor (SCH-511 to SCH-513)."""
    if flavor.topology or search.workload.requests_topology:
        covered = search.queue.group_of[next(iter(requests))].resources
        if problem := search.filter.problem(flavor, covered, group, search.queue):
            return problem
    for pod_set in group:
        problem = search.eligibility.problem(flavor, pod_set.template)
        if problem:
            return problem
    return ""


# One resource in one flavor


def _judge(search: FlavorSearch, flavor: str, resource: str, request: int) -> ResourceVerdict:
    """The fit of one resource in one flavor (SCH-520, SCH-521, SCH-522, SCH-523)."""
    fr = FlavorResource(flavor, resource)
    cell = search.queue.node.cells[fr]
    assumed = search.taken.get(fr, 0)
    total = assumed + request
    available = max(0, cell.available())
    if total > cell.potential:
        return ResourceVerdict(resource, flavor, FitMode.NO_FIT, 0, request, assumed, available, cell.potential)
    borrow, reclaimable = borrowing_level(search.queue.node, fr, total)
    if total <= available:
        return ResourceVerdict(resource, flavor, FitMode.FIT, borrow, request, assumed, available, cell.potential)
    if not (cell.nominal >= total or reclaimable or _may_preempt_while_borrowing(search)):
        return ResourceVerdict(resource, flavor, FitMode.NO_FIT, borrow, request, assumed, available, cell.potential)
    mode, borrow = _simulate(search, fr, total, borrow)
    return ResourceVerdict(resource, flavor, mode, borrow, request, assumed, available, cell.potential, simulated=True)


def _may_preempt_while_borrowing(search: FlavorSearch) -> bool:
    preempts_by_share = search.rules.preempts_by_share and search.queue.policies.reclaim != "Never"
    return preempts_by_share or may_borrow_while_preempting(search.queue)


def _simulate(search: FlavorSearch, fr: FlavorResource, total: int, borrow: int) -> tuple[FitMode, int]:
    """Whether preempting for this flavor-resource alone would suffice."""
    targets = search.find_targets(search.workload, search.queue, UsageRequest({fr: total}, frozenset((fr,))))
    search.simulated[fr] = (total, targets)
    if not targets:
        return FitMode.NO_CANDIDATES, borrow
    with released([target.workload for target in targets]):
        level, _ = borrowing_level(search.queue.node, fr, total)
    return _preemption_mode(search, targets), level


def _preemption_mode(search: FlavorSearch, targets: list[PreemptionTarget]) -> FitMode:
    if not targets:
        return FitMode.NO_CANDIDATES
    own = any(target.workload.queue is search.queue for target in targets)
    return FitMode.PREEMPT if own else FitMode.RECLAIM


def borrowing_level(node: ClusterQueueNode, fr: FlavorResource, amount: int) -> tuple[int, bool]:
    """The borrowing level of the request, and whether what it needs could be reclaimed there (SCH-441)."""
    cell: QuotaCell = node.cells[fr]
    if node.parent is None or not cell.borrows_with(amount):
        return 0, node.parent is not None
    rest = amount - cell.local_available
    height = 0
    for ancestor in node.ancestors():
        above = ancestor.cells[fr]
        height = ancestor.height
        if not above.borrows_with(rest):
            return height, ancestor.parent is not None
        rest -= above.local_available
    return height, False


def _progress(search: FlavorSearch, results: list[PodSetResult], cycle: int) -> FlavorScanState | None:
    """Record the scan progress for the next cycle (SCH-550, SCH-551)."""
    tried = {(result.name, resource): choice.tried for result in results for resource, choice in result.choices.items()}
    if not tried:
        return None
    return FlavorScanState(tried, search.queue.node.generation, cycle, search.workload.equivalence)
