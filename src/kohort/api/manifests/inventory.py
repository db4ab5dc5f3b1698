"""All objects of the given files, for lookups of references.

A manifest may leave its namespace to kubectl; such an object is assumed to be in any namespace that matches, so that
there are no false warnings. Objects with errors count as given, though no facts about them are known.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from kohort.api.config.v1beta2 import Configuration
from kohort.api.kueue.group import GROUP
from kohort.api.manifests.facts import (
    ClusterQueueFacts,
    CohortFacts,
    FlavorFacts,
    LocalQueueFacts,
    ManifestFacts,
    NamespaceFacts,
)
from kohort.api.manifests.origins import Origin
from kohort.api.manifests.submissions import Submission

Identity = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


@dataclass(slots=True)
class Inventory:
    """The objects of the input, indexed for lookups."""

    origins: dict[Identity, list[Origin]] = field(default_factory=lambda: defaultdict(list))
    queues: dict[str, ClusterQueueFacts] = field(default_factory=dict)
    cohorts: dict[str, CohortFacts] = field(default_factory=dict)
    flavors: list[FlavorFacts] = field(default_factory=list)
    local_queues: dict[str, list[LocalQueueFacts]] = field(default_factory=lambda: defaultdict(list))
    """By name; each namespace may have one."""
    namespaces: dict[str, NamespaceFacts] = field(default_factory=dict)
    submissions: list[Submission] = field(default_factory=list)
    configuration: Configuration | None = None
    _given: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """Kueue's kinds: the namespaces of each name of each kind."""
    _names_in: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The names of the LocalQueues of each namespace."""

    def add(self, origin: Origin) -> None:
        """Add an object."""
        if origin.name and not origin.name.endswith("*"):
            self.origins[origin.group, origin.kind, origin.namespace, origin.name].append(origin)
            if origin.group == GROUP:
                self._given[origin.kind][origin.name].add(origin.namespace)
            if (origin.group, origin.kind) == (GROUP, "LocalQueue"):
                self._names_in[origin.namespace].add(origin.name)

    def add_facts(self, facts: ManifestFacts) -> None:
        """Add facts about an object; of two with one name, the last one counts, as with kubectl."""
        match facts:
            case ClusterQueueFacts():
                self.queues[facts.origin.name] = facts
            case CohortFacts():
                self.cohorts[facts.origin.name] = facts
            case FlavorFacts():
                self.flavors.append(facts)
            case LocalQueueFacts():
                self.local_queues[facts.origin.name].append(facts)
            case NamespaceFacts():
                self.namespaces[facts.origin.name] = facts
            case Submission():
                self.submissions.append(facts)

    def has_any(self, kind: str) -> bool:
        """Whether at least one object of a Kueue kind is given."""
        return bool(self._given[kind])

    def has(self, kind: str, name: str, namespace: str = "") -> bool:
        """Whether an object of a Kueue kind is given, in that namespace as far as namespaces are set."""
        return any(may_be_same(namespace, each) for each in self._given[kind].get(name, ()))

    def is_known(self, kind: str) -> bool:
        """Whether facts about every given ClusterQueue or Cohort are known."""
        known: Mapping[str, object] = self.queues if kind == "ClusterQueue" else self.cohorts
        return known.keys() == self._given[kind].keys()

    def local_queue_names(self, namespace: str) -> list[str]:
        """LocalQueues that are given for a namespace, valid or not."""
        return sorted(self._names_in[namespace] | self._names_in[""] if namespace else self._given["LocalQueue"].keys())

    def namespaces_of(self, kind: str, name: str) -> list[str]:
        """The namespaces of the given objects with this kind and name."""
        return sorted(self._given[kind].get(name, ()))

    def queue_behind(self, name: str, namespace: str) -> ClusterQueueFacts | None:
        """The ClusterQueue of a LocalQueue, if the files determine it unambiguously."""
        named = self.local_queues.get(name, [])
        exact = [queue for queue in named if queue.origin.namespace == namespace]
        fitting = [queue for queue in named if may_be_same(namespace, queue.origin.namespace)]
        targets = {queue.cluster_queue.text for queue in exact or fitting}
        return self.queues.get(targets.pop()) if len(targets) == 1 else None


def may_be_same(namespace: str, other: str) -> bool:
    """Whether two objects may be in one namespace; an unset one may be any."""
    return namespace == other or not namespace or not other
