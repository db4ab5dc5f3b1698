"""What a placement finds: domains with pods, or why the pods can't be placed (TAS-55, TAS-113 to TAS-115)."""

from collections.abc import Mapping

import msgspec

from kohort.api.kueue.slices import Domain
from kohort.engine.topology.matcher import Exclusion


class TopologyDomains(msgspec.Struct, frozen=True):
    """Domains and their pods, in path order (TAS-55, TAS-69)."""

    levels: tuple[str, ...]
    domains: tuple[Domain, ...]

    @property
    def pods(self) -> int:
        """Number of pods in all domains."""
        return sum([domain.pods for domain in self.domains])


class GroupPlacement(msgspec.Struct, frozen=True):
    """Where the pods of a placement group go."""

    workers: TopologyDomains
    leader: TopologyDomains | None = None


class LayerFit(msgspec.Struct, frozen=True):
    """Slices of one layer that the best domain can have, of those requested (TAS-114)."""

    level: str
    fitting: int
    requested: int


class PlacementFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request can't be placed now."""

    topology: str
    problem: str = ""
    """What is wrong with the request itself; the rest is empty then (TAS-43, TAS-57)."""
    level: str = ""
    """The level that was searched."""
    domain: tuple[str, ...] = ()
    """The domain that can have most; empty where several were tried together."""
    fitting: int = 0
    requested: int = 0
    unit: str = "pod"
    layers: tuple[LayerFit, ...] = ()
    """Given where a request has several layers of slices."""
    exclusions: Mapping[Exclusion, int] = {}
    """How many domains of the lowest level can't have any pod, by cause."""
    total_nodes: int = 0
    """Number of domains of the lowest level."""

    @property
    def message(self) -> str:
        """The failure in one line (TAS-113 to TAS-115)."""
        return self.problem or f'topology "{self.topology}" {self._shortfall()}{self._exclusions()}'

    def _shortfall(self) -> str:
        if self.layers:
            fits = [f"{each.fitting}/{each.requested} slice(s) fit on level {each.level}" for each in self.layers]
            return "; ".join(["doesn't allow to fit", *fits])
        if self.fitting == 0:
            return f"doesn't allow to fit any of {self.requested} {self.unit}(s)"
        return f"allows to fit only {self.fitting} out of {self.requested} {self.unit}(s)"

    def _exclusions(self) -> str:
        if not self.exclusions:
            return ""
        items = sorted(f"{each.text}: {count}" for each, count in self.exclusions.items())
        return f". Total nodes: {self.total_nodes}; excluded: {', '.join(items)}"
