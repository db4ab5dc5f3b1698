"""The result of flavor assignment: attempts, chosen flavors, and shortages.

Messages, condition reasons, `explain` and the dashboard all render these structures.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum

import msgspec
from msgspec.structs import replace

from kohort.api.amounts import format_amount
from kohort.engine.placement.search import FoundPlaces, PlacementSearch
from kohort.engine.preemption_policy import PreemptionTarget
from kohort.engine.quota import FlavorResource
from kohort.engine.records import FlavorScanState
from kohort.engine.topology import PlacementFailure, TopologyDomains
from kohort.engine.usage_request import UsageRequest


class FitMode(IntEnum):
    """How well a request fits a flavor; the order is the rank (SCH-524)."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    DEFERRED_FIT = 4
    FIT = 5

    @property
    def needs_preemption(self) -> bool:
        """Whether the request fits only after preemption, possible or not."""
        return FitMode.NO_FIT < self < FitMode.DEFERRED_FIT


class NoFitReason(IntEnum):
    """Why a request does not fit, the least severe first (SCH-548); the names are condition reasons."""

    NONE = 0
    TopologyPlacementFailed = 1
    WaitingForQuota = 2
    ExceedsMaxQuota = 3
    NoMatchingFlavor = 4


class ResourceVerdict(msgspec.Struct, frozen=True, gc=False):
    """One resource in one flavor (SCH-520 to SCH-522)."""

    resource: str
    flavor: str
    mode: FitMode
    borrow: int
    """Borrowing level: 0 for none, else the height of the cohort that is borrowed from (SCH-441)."""
    request: int
    assumed: int = 0
    """What earlier pod sets of the workload use of the same flavor-resource."""
    available: int = 0
    maximum: int = 0
    simulated: bool = False
    """Whether preemption was tried for it."""

    @property
    def severity(self) -> NoFitReason:
        """Why it does not fit."""
        if self.mode is not FitMode.NO_FIT:
            return NoFitReason.NONE
        return NoFitReason.ExceedsMaxQuota if self.exceeds_maximum else NoFitReason.WaitingForQuota

    @property
    def exceeds_maximum(self) -> bool:
        """Whether the queue could never hold it."""
        return self.assumed + self.request > self.maximum

    @property
    def shortage(self) -> int:
        """How much more is needed now."""
        return max(0, self.assumed + self.request - self.available)

    @property
    def text(self) -> str:
        """The reason in Kueue's wording; empty for a fit."""
        if self.mode is FitMode.FIT:
            return ""
        if self.exceeds_maximum:
            return (
                f"insufficient quota for {self.resource} in flavor {self.flavor}, previously considered podsets"
                f" requests ({self._shown(self.assumed)}) + current podset request ({self._shown(self.request)})"
                f" > maximum capacity ({self._shown(self.maximum)})"
            )
        needed = self._shown(self.shortage)
        return f"insufficient unused quota for {self.resource} in flavor {self.flavor}, {needed} more needed"

    def _shown(self, amount: int) -> str:
        return format_amount(self.resource, amount)


class FlavorAttempt(msgspec.Struct, frozen=True):
    """An attempt to use one flavor for the resources of a group."""

    flavor: str
    mode: FitMode
    borrow: int
    verdicts: tuple[ResourceVerdict, ...] = ()
    obstacle: str = ""
    """Why the flavor can't be used at all: a taint, a selector, a missing object."""
    counts: bool = True
    """False for a flavor that was skipped (SCH-331)."""
    placement: PlacementFailure | None = None
    """Why the pods can't be placed in the topology of the flavor."""

    @property
    def severity(self) -> NoFitReason:
        """The most severe reason over its resources."""
        if self.obstacle:
            return NoFitReason.NoMatchingFlavor
        if self.placement is not None:
            return NoFitReason.TopologyPlacementFailed
        return max((verdict.severity for verdict in self.verdicts), default=NoFitReason.NONE)

    @property
    def reasons(self) -> list[str]:
        """Every reason text of the attempt."""
        if self.obstacle:
            return [self.obstacle]
        unplaced = [self.placement.message] if self.placement else []
        return [verdict.text for verdict in self.verdicts if verdict.text] + unplaced

    def rendered(self) -> str:
        """As in the list of considered flavors (SCH-354)."""
        simulated = any(verdict.simulated for verdict in self.verdicts)
        names = {FitMode.NO_FIT: "NoFit", FitMode.FIT: "Fit"}
        mode = names.get(self.mode) or (f"preemptionMode={_PREEMPTION_NAMES[self.mode]}" if simulated else "Preempt")
        borrow = [f"borrow={self.borrow}"] if self.borrow else []
        return f"{self.flavor}({';'.join([mode, *borrow, *sorted(self.reasons)])})"


_PREEMPTION_NAMES = {FitMode.NO_CANDIDATES: "NoCandidates", FitMode.PREEMPT: "Preempt", FitMode.RECLAIM: "Reclaim"}


class FlavorAssignment(msgspec.Struct, frozen=True, gc=False):
    """The flavor assigned to a resource."""

    flavor: str
    mode: FitMode
    borrow: int
    tried: int
    """Index of the last flavor attempted, -1 when all were (SCH-550)."""


class PodSetResult(msgspec.Struct):
    """The assignment of one pod set."""

    name: str
    count: int
    requests: Mapping[str, int]
    choices: dict[str, FlavorAssignment] = {}
    attempts: list[list[FlavorAttempt]] = []
    """Attempts per resource group, in the order evaluated."""
    short: list[list[FlavorAttempt]] = []
    """Attempts that explain why it does not fit: of groups that lack capacity, or of the one without a flavor."""
    failed: bool = False
    """Whether a resource of it has no flavor."""
    problem: str = ""
    """Why it can't be placed in any topology, also if nothing were in use (TAS-37)."""
    domains: TopologyDomains | None = None
    """The placement of its pods, if they request one and it was found."""
    delayed: str = ""
    """`Pending` while it can't be placed yet, `Ready` once it was (SCH-270)."""
    uncovered: str = ""
    """A resource that the ClusterQueue does not cover (SCH-505)."""

    @property
    def reasons(self) -> list[str]:
        """The message of why it does not fit (SCH-547)."""
        if self.problem:
            return [self.problem]
        if self.uncovered:
            return [f"resource {self.uncovered} unavailable in ClusterQueue"]
        return [reason for attempts in self.short for attempt in attempts for reason in attempt.reasons]

    @property
    def mode(self) -> FitMode:
        """The worst over its resources (SCH-544)."""
        if self.failed or self.problem:
            return FitMode.NO_FIT
        worst = FitMode.FIT
        for choice in self.choices.values():
            if choice.mode < worst:
                worst = choice.mode
        return worst

    @property
    def severity(self) -> NoFitReason:
        """Why it does not fit: the most severe group, each group by its least severe flavor (SCH-548)."""
        if self.problem:
            return NoFitReason.NoMatchingFlavor
        return max((_group_severity(group) for group in self.attempts), default=NoFitReason.NoMatchingFlavor)

    def set_mode(self, mode: FitMode) -> None:
        """Give all its resources one mode, independent of their quota (TAS-76)."""
        for resource, choice in self.choices.items():
            self.choices[resource] = replace(choice, mode=mode)

    def refuse_places(self, flavor: str, failure: PlacementFailure, mode: FitMode) -> None:
        """Record that its pods can't be placed in the chosen flavor; the first reason is kept (TAS-76)."""
        self.set_mode(mode)
        self.attempts = [_unplaced(group, flavor, failure, mode) for group in self.attempts]
        if any(each.flavor == flavor for group in self.short for each in group):
            self.short = [_unplaced(group, flavor, failure, mode) for group in self.short]
            return
        tried = [each for group in self.attempts for each in group if each.flavor == flavor]
        self.short.append(tried or [FlavorAttempt(flavor, mode, 0, placement=failure)])


def _unplaced(
    attempts: list[FlavorAttempt], flavor: str, failure: PlacementFailure, mode: FitMode
) -> list[FlavorAttempt]:
    return [
        replace(each, mode=mode, placement=each.placement or failure) if each.flavor == flavor else each
        for each in attempts
    ]


def _group_severity(attempts: Sequence[FlavorAttempt]) -> NoFitReason:
    if not attempts:
        return NoFitReason.NoMatchingFlavor
    failed = [attempt.severity for attempt in attempts if attempt.mode is FitMode.NO_FIT and attempt.counts]
    return min(failed, default=NoFitReason.NONE)


class Assignment(msgspec.Struct):
    """The assignment of a workload."""

    pod_sets: list[PodSetResult]
    targets: list[PreemptionTarget] = []
    progress: FlavorScanState | None = None
    deferred: bool = False
    """It fits once the preemptions of others are done (SCH-336)."""
    recomputed: bool = False
    """It was computed again, because other entries of the cycle took its victims (SCH-331)."""
    usage: dict[FlavorResource, int] = {}
    """Usage of each flavor-resource, all pod sets together, in addition to a slice that it replaces."""
    lacks_quota: bool = False
    """Quota is lacking that no preemption would free, wherever its pods go."""
    search: PlacementSearch | None = None
    """The placement search, if its pods request a placement."""
    found: FoundPlaces | None = None
    """The placement of its pods; with preemption, the one that is reserved until then (TAS-78)."""

    @property
    def request(self) -> UsageRequest:
        """All that it needs, independent of a found placement."""
        return UsageRequest(self.usage, self.needs, self.search)

    @property
    def outcome(self) -> UsageRequest:
        """All that it needs, at the found placement."""
        return UsageRequest(self.usage, places=self.found)

    @property
    def full_usage(self) -> dict[FlavorResource, int]:
        """Its usage once admitted, including that of a replaced slice."""
        usage: dict[FlavorResource, int] = {}
        for pod_set in self.pod_sets:
            for resource, choice in pod_set.choices.items():
                if resource in pod_set.requests:
                    fr = FlavorResource(choice.flavor, resource)
                    usage[fr] = usage.get(fr, 0) + pod_set.requests[resource]
        return usage

    @property
    def mode(self) -> FitMode:
        """The worst over its pod sets (SCH-544)."""
        if not self.pod_sets:
            return FitMode.NO_FIT
        worst = FitMode.DEFERRED_FIT if self.deferred else FitMode.FIT
        for pod_set in self.pod_sets:
            mode = pod_set.mode
            if mode < worst:
                worst = mode
        return worst

    @property
    def borrow(self) -> int:
        """The highest borrowing level (SCH-544)."""
        highest = 0
        for pod_set in self.pod_sets:
            for choice in pod_set.choices.values():
                if choice.borrow > highest:
                    highest = choice.borrow
        return highest

    @property
    def needs(self) -> frozenset[FlavorResource]:
        """Flavor-resources that lack capacity (SCH-601)."""
        return frozenset(
            FlavorResource(choice.flavor, resource)
            for pod_set in self.pod_sets
            for resource, choice in pod_set.choices.items()
            if choice.mode.needs_preemption
        )

    @property
    def severity(self) -> NoFitReason:
        """Why the workload does not fit (SCH-548)."""
        return max((ps.severity for ps in self.pod_sets if ps.mode is FitMode.NO_FIT), default=NoFitReason.NONE)

    @property
    def message(self) -> str:
        """The condition message (SCH-546)."""
        for pod_set in self.pod_sets:
            if pod_set.problem:
                return f"failed to assign flavors to pod set {pod_set.name}: {pod_set.problem}"
        return "; ".join(
            f"couldn't assign flavors to pod set {pod_set.name}: {', '.join(sorted(reasons))}"
            for pod_set in self.pod_sets
            if (reasons := pod_set.reasons)
        )

    @property
    def considered(self) -> str:
        """Flavors that were not simply taken, as the admission event lists them (SCH-354)."""
        parts = []
        for pod_set in self.pod_sets:
            attempts = [each for group in pod_set.attempts for each in group if each.counts and _is_notable(each)]
            if attempts:
                shown = ", ".join(each.rendered() for each in sorted(attempts, key=lambda each: each.flavor))
                parts.append(f"{pod_set.name}: {shown}")
        return " | ".join(parts)


def _is_notable(attempt: FlavorAttempt) -> bool:
    return attempt.mode is not FitMode.FIT or attempt.borrow > 0
