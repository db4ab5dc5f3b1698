"""Renders the failure of a placement: the domain that could take most, whose pods are there, and the other nodes."""

from collections.abc import Iterator, Sequence
from typing import Final

from kohort.engine.explain.model import PlacementTrial
from kohort.engine.topology import Exclusion, ExclusionCause, PlacementFailure

_CAUSES: Final = {
    ExclusionCause.NODE_SELECTOR: "{} not selected by its node selector",
    ExclusionCause.AFFINITY: "{} not selected by its node affinity",
    ExclusionCause.TOPOLOGY_DOMAIN: "{} outside the domain of its other pods",
    ExclusionCause.TAINT: "{} with taint {}, which it does not tolerate",
    ExclusionCause.RESOURCE: "{} without enough {}",
}


def shortfall_text(failure: PlacementFailure) -> str:
    """How many of the pods fit, and where; the message where the request itself is the problem."""
    if failure.problem or failure.layers:
        return failure.message
    requested = _counted(failure.requested, failure.unit)
    if not failure.fitting:
        return f"no domain has capacity for {'any of ' if failure.requested > 1 else ''}{requested}"
    if not failure.domain:
        return f"all domains together have capacity for {failure.fitting} of {requested}"
    domain = f"{failure.level} {'/'.join(failure.domain)}"
    return f"{domain} has capacity for {failure.fitting} of {requested}, and no other domain for more"


def placement_holders(trial: PlacementTrial, named: int) -> Iterator[str]:
    """The workloads with pods in the domain of a failure."""
    if trial.holders:
        names = [f"{each.workload} ({_counted(each.pods, 'pod')})" for each in trial.holders[:named]]
        more = len(trial.holders) + trial.others - len(names)
        where = "/".join(trial.failure.domain) or "these nodes"
        yield f"Pods of other workloads in {where}: {', '.join(names)}{f' and {more} more' if more else ''}."


def placement_exclusions(failure: PlacementFailure) -> Iterator[str]:
    """Why nodes can't have any pod."""
    if failure.exclusions:
        count = sum(failure.exclusions.values())
        yield f"No capacity for any pod on {count} of {failure.total_nodes} nodes: {', '.join(_excluded(failure))}."


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def _excluded(failure: PlacementFailure) -> Sequence[str]:
    ordered = sorted(failure.exclusions.items(), key=_most_first)
    return [_CAUSES[exclusion.cause].format(count, exclusion.detail) for exclusion, count in ordered]


def _most_first(item: tuple[Exclusion, int]) -> tuple[int, str]:
    return -item[1], item[0].text
