"""A request's levels, slice sizes and profile in one topology (TAS-43, TAS-44, TAS-57, TAS-58)."""

from collections.abc import Sequence
from enum import Enum
from itertools import pairwise

import msgspec

from kohort.engine.topology.request import PlacementRequest, SliceLayer
from kohort.engine.topology.settings import PlacementSettings


class PlacementProblem(Exception):  # noqa: N818 - a request that does not suit the topology is an outcome, not an error
    """Why a request can't be placed in a topology of any capacity."""


class PlacementProfile(Enum):
    """The order in which domains are taken (TAS-44)."""

    BEST_FIT = "BestFit"
    LEAST_FREE_CAPACITY = "LeastFreeCapacity"


class PlacementParameters(msgspec.Struct, frozen=True):
    """A request in terms of the levels of a topology, which are numbered from the highest."""

    count: int
    leaders: int
    level: int
    slice_level: int
    slice_size: int
    sizes: tuple[int, ...]
    """Per level, the pods that are placed together below the first slice layer; 1 where none are (TAS-58)."""
    is_required: bool
    is_unconstrained: bool
    profile: PlacementProfile
    layers: tuple[SliceLayer, ...]

    @property
    def slices(self) -> int:
        """Number of slices (TAS-51)."""
        return self.count // self.slice_size


def parameters_of(request: PlacementRequest, levels: Sequence[str], settings: PlacementSettings) -> PlacementParameters:
    """Read a request; raises `PlacementProblem`."""
    layers = request.layers
    slice_size = layers[0].size if layers else 1
    if slice_size <= 0:
        raise PlacementProblem("slice topology requested, but slice size not provided")
    main = _main_level(request, levels)
    level = _index(levels, main, "no requested topology level")
    slice_key = layers[0].topology if layers else levels[-1]
    slice_level = _index(levels, slice_key, "no requested topology level for slices")
    if level > slice_level:
        raise PlacementProblem(f"podset slice topology {slice_key} is above the podset topology {main}")
    is_unconstrained = not request.required and (
        request.unconstrained or request.is_implicit or _has_only_slices(request)
    )
    mixes = is_unconstrained and settings.mixes_profiles
    if request.count % slice_size:
        raise PlacementProblem(
            f"pod count {request.count} is not a multiple of the slice size {slice_size} on level {slice_key}"
        )
    return PlacementParameters(
        count=request.count,
        leaders=1 if request.leader else 0,
        level=level,
        slice_level=slice_level,
        slice_size=slice_size,
        sizes=_sizes(layers, levels, slice_level),
        is_required=bool(request.required),
        is_unconstrained=is_unconstrained,
        profile=PlacementProfile.LEAST_FREE_CAPACITY if mixes else PlacementProfile.BEST_FIT,
        layers=layers,
    )


def _main_level(request: PlacementRequest, levels: Sequence[str]) -> str:
    if request.required or request.preferred:
        return request.required or request.preferred
    if request.layers:
        return levels[0]
    if request.unconstrained or request.is_implicit:
        return levels[-1]
    raise PlacementProblem("topology level not specified")


def _has_only_slices(request: PlacementRequest) -> bool:
    return bool(request.layers) and not request.required and not request.preferred


def _index(levels: Sequence[str], key: str, problem: str) -> int:
    if key not in levels:
        raise PlacementProblem(f"{problem}: {key}")
    return levels.index(key)


def _sizes(layers: Sequence[SliceLayer], levels: Sequence[str], slice_level: int) -> tuple[int, ...]:
    """Each layer's size counts from the level below the previous layer down to its own (TAS-57, TAS-58)."""
    sizes = [1] * len(levels)
    above = slice_level
    for parent, layer in pairwise(layers):
        level = _index(levels, layer.topology, "no requested topology level for additional slice layer")
        if level <= above:
            raise PlacementProblem(
                f"additional slice layer topology {layer.topology} must be at a lower level than {levels[above]}"
            )
        if layer.size <= 0 or parent.size % layer.size:
            raise PlacementProblem(
                f"additional slice layer size {layer.size} must evenly divide parent layer size {parent.size}"
            )
        sizes[above + 1 : level + 1] = [layer.size] * (level - above)
        above = level
    return tuple(sizes)
