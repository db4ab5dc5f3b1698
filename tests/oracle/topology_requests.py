"""Random pod sets with topology requests."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oracle.clusters import BEARS_ODD, GPU

Json = Any
Request = tuple[Json, int]
"""A topology request, and the number that the count of pods is a multiple of (Q-1)."""


@dataclass(frozen=True)
class RequestScope:
    """What requests may be about in a scenario."""

    levels: tuple[str, ...]
    has_gpus: bool
    has_layers: bool
    """Whether slices may have layers, and lie far below the level for all of them (Q-11)."""
    has_slices_only: bool
    """Whether slices may come without a level for all of them (Q-13)."""
    is_partly_admitted: bool = True
    """Whether a pod set may accept fewer pods."""
    prefers: bool = False
    """Whether most requests prefer a level."""
    has_levels: bool = True
    """Whether requests may name a level for all pods (TAS-66)."""


def pod_sets(chance: random.Random, scope: RequestScope) -> list[Json]:
    """One pod set, two that are placed apart, or a leader with its workers."""
    drawn = chance.random()
    if drawn < (0.12 if scope.has_levels else 0):
        return _leader_and_workers(chance, scope)
    if drawn < 0.85:
        return [_single(chance, scope)]
    return [_pod_set(chance, name, _request(chance, scope), has_gpus=scope.has_gpus) for name in ("first", "second")]


def _single(chance: random.Random, scope: RequestScope) -> Json:
    """One pod set; without slices, it may accept fewer pods (Q-1)."""
    asked = _request(chance, scope)
    made = _pod_set(chance, "main", asked, has_gpus=scope.has_gpus)
    if scope.is_partly_admitted and asked[1] == 1 and made["count"] > 1 and chance.random() < 0.15:
        made["minCount"] = chance.randint(1, made["count"] - 1)
    return made


def _request(chance: random.Random, scope: RequestScope) -> Request:
    if scope.prefers and chance.random() < 0.7:
        return chance.choice([_preferred, _preferred, _slices])(chance, scope)
    if not scope.has_levels:
        return chance.choice([_none, _unconstrained, _unconstrained, _only_slices])(chance, scope)
    return chance.choice(REQUESTS)(chance, scope)


def _leader_and_workers(chance: random.Random, scope: RequestScope) -> list[Json]:
    request = {chance.choice(["required", "preferred"]): chance.choice(scope.levels), "podSetGroupName": "group"}
    leader = _pod_set(chance, "leader", (request, 1), has_gpus=scope.has_gpus) | {"count": 1}
    workers = _pod_set(chance, "workers", (request, 1), has_gpus=scope.has_gpus)
    return [leader, workers] if chance.random() < 0.7 else [workers, leader]


def slice_size(pod_set: Json) -> int:
    """The number that the count of pods is a multiple of."""
    request = pod_set.get("topologyRequest", {})
    layers = request.get("podsetSliceRequiredTopologyConstraints", ())
    return int(layers[0]["size"] if layers else request.get("podSetSliceSize", 1))


def _pod_set(chance: random.Random, name: str, asked: Request, *, has_gpus: bool) -> Json:
    request, multiple = asked
    requests = {"cpu": chance.choice(["1", "1", "1", "2", "500m", "3"])}
    if has_gpus and chance.random() < 0.5:
        requests[GPU] = chance.choice(["1", "2"])
    spec = {"containers": [{"name": "c", "resources": {"requests": requests}}], **_constraints(chance)}
    count = multiple * chance.choice([1, 1, 2, 2, 3, 4, 5, 6, 8] if multiple < 3 else [1, 2, 2, 3])
    made = {"name": name, "count": count, "template": {"spec": spec}}
    return {**made, "topologyRequest": request} if request else made


def _constraints(chance: random.Random) -> Json:
    """Further requirements of pods on nodes."""
    drawn = chance.random()
    if drawn < 0.75:
        return {}
    red = {"matchExpressions": [{"key": "color", "operator": chance.choice(["In", "NotIn"]), "values": ["red"]}]}
    preferred = {"weight": chance.choice([1, 10]), "preference": red}
    return chance.choice(
        [
            {"tolerations": [BEARS_ODD]},
            {"nodeSelector": {"color": "red"}},
            {
                "affinity": {
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [red]}}
                }
            },
            {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}},
        ]
    )


# Requests


def _none(_chance: random.Random, _scope: RequestScope) -> Request:
    return {}, 1


def _required(chance: random.Random, scope: RequestScope) -> Request:
    return {"required": _some_level(chance, scope)}, 1


def _preferred(chance: random.Random, scope: RequestScope) -> Request:
    return {"preferred": _some_level(chance, scope)}, 1


def _some_level(chance: random.Random, scope: RequestScope) -> str:
    """Now and then one that the topology does not have."""
    return "elsewhere" if chance.random() < 0.02 else chance.choice(scope.levels)


def _unconstrained(_chance: random.Random, _scope: RequestScope) -> Request:
    return {"unconstrained": True}, 1


def _slices(chance: random.Random, scope: RequestScope) -> Request:
    size = chance.choice([2, 2, 3, 4])
    level = chance.choice(scope.levels)
    return {**_main(chance, scope, level), "podSetSliceRequiredTopology": level, "podSetSliceSize": size}, size


def _only_slices(chance: random.Random, scope: RequestScope) -> Request:
    size = chance.choice([2, 2, 3])
    main = chance.choice([{}, {"unconstrained": True}])
    level = chance.choice(scope.levels)
    return {**main, "podSetSliceRequiredTopology": level, "podSetSliceSize": size}, size


def _layers(chance: random.Random, scope: RequestScope) -> Request:
    """Layers from coarse to fine, each of a size that divides the one before."""
    levels = scope.levels
    if len(levels) < 2 or not scope.has_layers:
        return _slices(chance, scope)
    chosen = sorted(chance.sample(range(len(levels)), chance.choice([2, 2, 3]) if len(levels) > 2 else 2))
    sizes = chance.choice([[4, 2, 1], [4, 2, 2], [6, 3, 3], [8, 4, 2], [6, 2, 1], [2, 1, 1]])
    layers = [{"topology": levels[index], "size": size} for index, size in zip(chosen, sizes, strict=False)]
    request = {"podsetSliceRequiredTopologyConstraints": layers}
    return {**_main(chance, scope, levels[chosen[0]]), **request}, sizes[0]


def _main(chance: random.Random, scope: RequestScope, slice_level: str) -> Json:
    """The level for all slices, mostly not below that of a slice."""
    lowest = scope.levels.index(slice_level)
    highest = 0 if scope.has_layers else max(0, lowest - 2)
    level = chance.choice(scope.levels[highest : lowest + 1] if chance.random() < 0.95 else scope.levels[highest:])
    only_slices: list[Json] = [{}] if scope.has_slices_only else []
    return chance.choice(
        [{"required": level}, {"preferred": level}, {"preferred": level}, {"unconstrained": True}, *only_slices]
    )


REQUESTS: tuple[Callable[[random.Random, RequestScope], Request], ...] = (
    *[_required] * 3,
    *[_preferred] * 3,
    *[_unconstrained] * 2,
    *[_none] * 2,
    *[_slices] * 3,
    *[_layers] * 3,
)
"""How often each of them is drawn."""
