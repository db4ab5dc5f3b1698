"""Nomination (SCH-310 to SCH-314): what each head would get if it were alone; the tree does not change."""

from collections.abc import Mapping

from kohort.api.errors import ApiError
from kohort.engine import partial_admission
from kohort.engine.assignment import Assignment, FitMode, FlavorAssignment, PodSetResult
from kohort.engine.cycle.model import CycleEntry, CycleView, Head
from kohort.engine.decisions import KeepPending, RequeueReason
from kohort.engine.flavor_assigner import FlavorSearch, Only, assign
from kohort.engine.records import FlavorScanState, SecondPassReason, WorkloadInfo
from kohort.engine.requests.usage import PodSetUsage

NOTHING_REPLACED: Mapping[str, PodSetUsage] = {}


class Nominator:
    """Assigns flavors, places pods and searches for victims."""

    def __init__(self, view: CycleView) -> None:
        self.view = view

    def nominate(self, head: Head) -> CycleEntry:
        """What the head would get if it were alone (SCH-313)."""
        if head.obstacle is not None:
            reason, message, requeue = head.obstacle
            return CycleEntry(head, Assignment([]), KeepPending(head.workload.key, reason, message, requeue))
        if head.second_pass is not None:
            return CycleEntry(head, self.placed_again(head))
        workload = head.workload
        workload.progress = self._current_progress(head)
        try:
            assignment = self.largest(head, workload.progress)
        except ApiError as error:
            message = f"failed to assign flavors to pod set {workload.pod_sets[0].name}: {error}"
            return CycleEntry(
                head, Assignment([]), KeepPending(workload.key, "NoMatchingFlavor", message, RequeueReason.NO_FIT)
            )
        return CycleEntry(head, assignment, is_resumed=workload.progress is not None and workload.progress.has_more)

    def largest(self, head: Head, start: FlavorScanState | None, only: Only | None = None) -> Assignment:
        """At full size, otherwise as large as possible (SCH-313)."""
        assignment, is_possible = self._placed(head, self._search(head, None, start, only))
        pod_sets = head.workload.pod_sets
        if is_possible or not (self.view.rules.allows_partial and partial_admission.can_shrink(pod_sets)):
            return assignment

        def possible(counts: list[int]) -> Assignment | None:
            smaller, is_possible = self._placed(head, self._search(head, counts, start, only))
            return smaller if is_possible else None

        return partial_admission.search(pod_sets, possible) or assignment

    def _placed(self, head: Head, search: FlavorSearch) -> tuple[Assignment, bool]:
        """Flavors, then placement, then victims if capacity is lacking; and whether it succeeds."""
        assignment = assign(search, head.cycle)
        assignment.lacks_quota = assignment.mode <= FitMode.NO_CANDIDATES
        self.view.placer.place(head.workload, head.queue, assignment)
        mode = assignment.mode
        if mode.needs_preemption:
            assignment.targets = search.targets(assignment.request)
            self.view.placer.reserve(assignment)
        return assignment, mode is FitMode.FIT or bool(assignment.targets)

    def placed_again(self, head: Head) -> Assignment:
        """The flavors that it has, without further usage, and a new placement (SCH-341, SCH-503, TAS-88)."""
        kept = [
            PodSetResult(
                each.name,
                each.count,
                each.amounts,
                {resource: FlavorAssignment(flavor, FitMode.FIT, 0, -1) for resource, flavor in each.flavors.items()},
            )
            for each in self.view.pod_set_usage(head.workload)
        ]
        assignment = Assignment(kept)
        self.view.placer.place(head.workload, head.queue, assignment)
        if assignment.mode.needs_preemption and head.second_pass is SecondPassReason.DELAYED:
            assignment.targets = self.view.find_targets(head.workload, head.queue, assignment.request)
            self.view.placer.reserve(assignment)
        return assignment

    def _search(
        self,
        head: Head,
        counts: list[int] | None,
        start: FlavorScanState | None,
        only: Only | None = None,
    ) -> FlavorSearch:
        view = self.view
        return FlavorSearch(
            head.workload,
            head.queue,
            view.flavors,
            view.find_targets,
            view.rules.assigning,
            view.eligibility,
            view.placer.filter,
            counts,
            start,
            only,
            NOTHING_REPLACED if head.workload.replaces is None else self._replaced_usage(head.workload),
        )

    def _replaced_usage(self, workload: WorkloadInfo) -> Mapping[str, PodSetUsage]:
        """Usage of the slice that a workload replaces, while it is in the same queue (SCH-1103)."""
        replaced = workload.takes_over_from
        if replaced is None:
            return NOTHING_REPLACED
        return {usage.name: usage for usage in self.view.pod_set_usage(replaced)}

    def _current_progress(self, head: Head) -> FlavorScanState | None:
        """The recorded scan, unless it is outdated (SCH-553)."""
        progress = head.workload.progress
        if progress is None:
            return None
        if self.view.rules.keeps_progress:
            if progress.equivalence != head.workload.equivalence:
                return None
            if progress.cycle >= head.cycle - 1:
                return progress
        return None if head.queue.node.generation > progress.queue_generation else progress
