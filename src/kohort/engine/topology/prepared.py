"""A request in terms of one flavor's topology: found once for requests that are placed again and again."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import structs

from kohort.engine.topology.counts import CountedShape
from kohort.engine.topology.levels import SliceShape
from kohort.engine.topology.parameters import PlacementParameters, parameters_of
from kohort.engine.topology.request import CapacityMode, PlacementRequest
from kohort.engine.topology.settings import PlacementSettings
from kohort.engine.topology.usage import pod_amounts_of


class PreparedRequest(msgspec.Struct, frozen=True):
    """What a placement needs of a request."""

    parameters: PlacementParameters
    shapes: Mapping[CapacityMode, CountedShape]


def prepare(request: PlacementRequest, levels: Sequence[str], settings: PlacementSettings) -> PreparedRequest:
    """A request in a topology with these levels; raises `PlacementProblem`."""
    parameters = parameters_of(request, levels, settings)
    return PreparedRequest(parameters, {mode: _shape(request, parameters, settings, mode) for mode in CapacityMode})


def _shape(
    request: PlacementRequest, parameters: PlacementParameters, settings: PlacementSettings, mode: CapacityMode
) -> CountedShape:
    matcher = request.matcher
    if matcher.preferred and not settings.prefers_affinity:
        matcher = structs.replace(matcher, preferred=())
    return CountedShape(
        pod_amounts_of(request.per_pod),
        pod_amounts_of(request.leader_per_pod) if request.leader else (),
        SliceShape(parameters.slice_level, parameters.slice_size, parameters.sizes),
        matcher,
        mode,
    )
