"""Which flavors a pod can use: taints that it must tolerate and node labels that it must match (SCH-512, SCH-513)."""

from collections.abc import Iterable, Mapping

from kohort.api.core.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from kohort.api.core.pods import QuotaPodSpec, QuotaPodTemplate
from kohort.api.selectors import requirement
from kohort.api.taints import untolerated
from kohort.engine.records import Flavor

MAX_REMEMBERED = 20_000


class FlavorEligibility:
    """Caches the result per flavor and template: both are shared by many workloads and never change."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int, int], tuple[str, Flavor, QuotaPodTemplate]] = {}

    def problem(self, flavor: Flavor, template: QuotaPodTemplate | None) -> str:
        """Why pods of the template can't use the flavor; empty when they can."""
        if template is None:
            return problem(flavor, QuotaPodSpec(containers=()))
        key = (id(flavor), id(template))
        known = self._answers.get(key)
        if known is None:
            if len(self._answers) >= MAX_REMEMBERED:
                self._answers.clear()
            # Both objects are kept, so that their ids are not reused.
            known = self._answers[key] = (problem(flavor, template.spec), flavor, template)
        return known[0]


def problem(flavor: Flavor, spec: QuotaPodSpec) -> str:
    """Why a pod can't use the flavor; raises SelectorError for an invalid expression."""
    for taint in untolerated(flavor.taints, (*spec.tolerations, *flavor.tolerations)):
        return f"untolerated taint {{{taint.key} {taint.value} {taint.effect} <nil>}} in flavor {flavor.name}"
    if not _selects(spec, flavor.labels):
        return f"flavor {flavor.name} doesn't match node affinity"
    return ""


def _selects(spec: QuotaPodSpec, labels: Mapping[str, str]) -> bool:
    """Node selection reduced to the labels of the flavor; the rest is left to the pod scheduler."""
    if any(labels[key] != value for key, value in spec.node_selector.items() if key in labels):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    return required is None or _meets(required, labels)


def _meets(selector: NodeSelector, labels: Mapping[str, str]) -> bool:
    """Terms are alternatives; one without any of the flavor's labels matches the flavor."""
    relevant = [_relevant(term, labels) for term in selector.node_selector_terms]
    if not all(relevant):
        return True
    return any(all(requirement(each).holds(labels) for each in term) for term in relevant)


def _relevant(term: NodeSelectorTerm, labels: Iterable[str]) -> list[NodeSelectorRequirement]:
    known = set(labels)
    return [each for each in term.match_expressions if each.key in known]
