"""Random clusters and requests."""

from typing import Any

from hypothesis import strategies as st

from engine.topology.clusters import HOST, LEVELS, Tree
from kohort.engine.topology import PlacementRequest, PlacementSettings, SliceLayer

SHAPES: list[dict[str, int]] = [
    {"cpu": 1000, "pods": 1},
    {"cpu": 2000, "pods": 1},
    {"cpu": 1000, "memory": 2, "pods": 1},
    {"pods": 1},
]
LEADERS: list[dict[str, int]] = [{"cpu": 3000, "pods": 1}, {"cpu": 500, "memory": 3, "pods": 1}]
SETTINGS = st.builds(
    PlacementSettings, mixes_profiles=st.booleans(), balances=st.booleans(), shares_hosts=st.booleans()
)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Blocks, racks and hosts with some cpus and memory."""
    tree: dict[str, Any] = {}
    number = 0
    for block in range(draw(st.integers(1, 3))):
        racks: dict[str, Any] = tree.setdefault(f"b{block}", {})
        for rack in range(draw(st.integers(1, 3))):
            hosts = racks.setdefault(f"r{rack}", {})
            for _ in range(draw(st.integers(1, 4))):
                number += 1
                amounts = {"cpu": str(draw(st.integers(0, 8))), "memory": str(draw(st.integers(0, 12)))}
                hosts[f"h{number}"] = {**amounts, "pods": str(draw(st.sampled_from((2, 5, 110))))}
    return tree


@st.composite
def requests(draw: st.DrawFn) -> PlacementRequest:
    """Valid requests for three levels."""
    layers = _layers(draw)
    highest = LEVELS.index(layers[0].topology) if layers else 2
    main = draw(st.sampled_from(("required", "preferred", "unconstrained" if not layers else "slices")))
    options: dict[str, Any] = {"layers": layers}
    if main in ("required", "preferred"):
        options[main] = LEVELS[draw(st.integers(0, highest))]
    elif main == "unconstrained":
        options["unconstrained"] = True
    if draw(st.booleans()):
        options |= {"leader": "leader", "leader_per_pod": draw(st.sampled_from(LEADERS))}
    size = layers[0].size if layers else 1
    count = size * draw(st.integers(1, max(1, 16 // size)))
    return PlacementRequest(pod_set="workers", count=count, per_pod=draw(st.sampled_from(SHAPES)), **options)


def _layers(draw: st.DrawFn) -> tuple[SliceLayer, ...]:
    layers = [("block", 8), ("rack", 4), (HOST, 2)]
    chosen = [layer for layer in layers if draw(st.booleans())]
    return tuple(SliceLayer(level, size) for level, size in chosen) if draw(st.booleans()) else ()
