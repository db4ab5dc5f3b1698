"""Failures of placements, from the counts that they were tried with (TAS-113 to TAS-115)."""

from kohort.engine.topology.counts import DomainCounts
from kohort.engine.topology.parameters import PlacementParameters
from kohort.engine.topology.result import LayerFit, PlacementFailure
from kohort.engine.topology.selection import LevelShortfall


def shortfall(
    topology: str, counts: DomainCounts, parameters: PlacementParameters, found: LevelShortfall
) -> PlacementFailure:
    """Not enough capacity."""
    tree = counts.tree
    paths = tree.levels[found.level].paths
    return PlacementFailure(
        topology=topology,
        level=tree.levels[found.level].key,
        domain=() if found.domain is None else paths[found.domain],
        fitting=found.fitting,
        requested=parameters.slices,
        unit="pod" if parameters.slice_size == 1 else "slice",
        layers=_layers(counts, parameters, found.level) if len(parameters.layers) > 1 else (),
        exclusions=dict(counts.exclusions),
        total_nodes=len(tree.leaf_of),
    )


def _layers(counts: DomainCounts, parameters: PlacementParameters, level: int) -> tuple[LayerFit, ...]:
    """Slices per layer in the domain that can have most slices of the first layer (TAS-114)."""
    slices = counts.levels[level].slices
    domains = [domain for domain in range(len(slices)) if counts.tree.has_nodes(level, domain)]
    best = max(domains, key=lambda domain: (slices[domain], -domain))
    keys = [each.key for each in counts.tree.levels]
    return tuple(
        LayerFit(
            layer.topology,
            _slices_below(counts, level, best, keys.index(layer.topology), layer.size),
            parameters.count // layer.size,
        )
        for layer in parameters.layers
    )


def _slices_below(counts: DomainCounts, level: int, domain: int, target: int, size: int) -> int:
    below = counts.tree.descendants(level, domain, target)
    return sum([pods // size for pods in counts.levels[target].pods[below.start : below.stop]])


def no_domains(topology: str, level: str) -> PlacementFailure:
    """No usable node belongs to the flavor (TAS-51(1))."""
    return PlacementFailure(topology=topology, problem=f"no topology domains at level: {level}")


def undivided(topology: str, parameters: PlacementParameters) -> PlacementFailure:
    """Counts of a level exceed those of the level below: nothing is placed instead of a part (TAS-54, Q-11)."""
    return PlacementFailure(
        topology=topology, problem=f'topology "{topology}": {parameters.count} pod(s) fit on no set of its domains'
    )
