"""How large each ReplicaSet of a Deployment should be next; pure.

One step at a time: first the new one grows as far as the surge allows, then old ones shrink as far as availability
allows. A change of the Deployment's own size in the middle is shared out in proportion.
"""

from collections.abc import Sequence

from kohort.api.selectors import int64
from kohort.embedded.controllers.deployments.revisions import DESIRED, MOST, Sets, age
from kohort.embedded.controllers.serving import SeenDeployment, SeenReplicaSet
from kohort.embedded.controllers.shares import rounded_down, rounded_up

Sizes = dict[str, int]
"""The wanted size of ReplicaSets, by uid; those that stay as they are may be missing."""


def is_rolling(found: SeenDeployment) -> bool:
    """Whether old pods go while new ones come."""
    return found.spec.strategy.type != "Recreate"


def surge(found: SeenDeployment) -> int:
    """How many pods there may be beyond the wanted number."""
    return _bounds(found)[0] if is_rolling(found) else 0


def most_unavailable(found: SeenDeployment) -> int:
    """How many of the wanted pods may be missing."""
    if not is_rolling(found) or found.spec.replicas == 0:
        return 0
    return min(_bounds(found)[1], found.spec.replicas)


def _bounds(found: SeenDeployment) -> tuple[int, int]:
    """Surge and missing pods; where both come to nothing one may be missing, else nothing would ever move."""
    rolling = found.spec.strategy.rolling_update
    more = rounded_up((rolling.max_surge if rolling else None) or 0, found.spec.replicas)
    fewer = rounded_down((rolling.max_unavailable if rolling else None) or 0, found.spec.replicas)
    return (more, fewer) if more or fewer else (0, 1)


def size_annotations(found: SeenDeployment) -> dict[str, str]:
    """What ReplicaSets remember of their Deployment's size, so that a change of it can be told from a rollout."""
    return {DESIRED: str(found.spec.replicas), MOST: str(found.spec.replicas + surge(found))}


def is_resized(found: SeenDeployment, sets: Sets) -> bool:
    """Whether the Deployment's own size has changed since its ReplicaSets were last scaled."""
    remembered = (int64(each.metadata.annotations.get(DESIRED, "")) for each in sets.active)
    return any(size is not None and size != found.spec.replicas for size in remembered)


# A rollout


def first_size(found: SeenDeployment, sets: Sets) -> int:
    """The size at which the ReplicaSet of a new template starts."""
    return _grown(found, sets, 0) if is_rolling(found) else found.spec.replicas


def _grown(found: SeenDeployment, sets: Sets, size: int) -> int:
    room = found.spec.replicas + surge(found) - sum(each.spec.replicas for each in sets.all)
    return size + max(0, min(room, found.spec.replicas - size))


def rolling_step(found: SeenDeployment, sets: Sets) -> Sizes:
    """The next step of a rolling update; nothing when it has to wait, or is done."""
    new = sets.new
    if new is None:
        return {}
    if new.spec.replicas > found.spec.replicas:
        return {new.metadata.uid: found.spec.replicas}
    size = _grown(found, sets, new.spec.replicas)
    if size != new.spec.replicas:
        return {new.metadata.uid: size}
    return _shrunk(found, sets, new)


def _shrunk(found: SeenDeployment, sets: Sets, new: SeenReplicaSet) -> Sizes:
    """Old pods that may go: those that do not serve, then as many as others have taken the place of."""
    least = found.spec.replicas - most_unavailable(found)
    missing = new.spec.replicas - new.status.available_replicas
    room = sum(each.spec.replicas for each in sets.all) - least - missing
    if room <= 0:
        return {}
    sizes = {each.metadata.uid: each.spec.replicas for each in sets.old}
    for each in sets.old:
        unhealthy = min(room, max(0, each.spec.replicas - each.status.available_replicas))
        sizes[each.metadata.uid] -= unhealthy
        room -= unhealthy
    spare = sum(each.status.available_replicas for each in sets.all) - least
    for each in sets.old:
        going = max(0, min(sizes[each.metadata.uid], spare))
        sizes[each.metadata.uid] -= going
        spare -= going
    return sizes


def recreate_step(found: SeenDeployment, sets: Sets) -> Sizes:
    """All old pods go; whether new ones may come already is the caller's to know."""
    return {each.metadata.uid: 0 for each in sets.old if each.spec.replicas > 0}


# A change of size


def resized(found: SeenDeployment, sets: Sets) -> Sizes:
    """The sizes that share out a new size of the Deployment."""
    only = _only_one(sets)
    if only is not None:
        return {only.metadata.uid: found.spec.replicas}
    if sets.new is not None and _is_saturated(found, sets.new):
        return {each.metadata.uid: 0 for each in sets.old}
    return _proportional(found, sets) if is_rolling(found) and sets.active else {}


def _only_one(sets: Sets) -> SeenReplicaSet | None:
    """The one set that has pods; where none has, the one that should get them."""
    if len(sets.active) == 1:
        return sets.active[0]
    if sets.active or not sets.all:
        return None
    return sets.new or max(sets.old, key=age)


def _is_saturated(found: SeenDeployment, new: SeenReplicaSet) -> bool:
    wanted = found.spec.replicas
    remembered = int64(new.metadata.annotations.get(DESIRED, ""))
    return new.spec.replicas == wanted == remembered == new.status.available_replicas


def _proportional(found: SeenDeployment, sets: Sets) -> Sizes:
    allowed = found.spec.replicas + surge(found) if found.spec.replicas > 0 else 0
    to_add = allowed - sum(each.spec.replicas for each in sets.active)
    ranked = _ranked(sets.active, to_add)
    sizes, added = {each.metadata.uid: each.spec.replicas for each in ranked}, 0
    for each in ranked:
        left = to_add - added
        share = _share(found, each)
        share = min(share, left) if to_add > 0 else max(share, left)
        sizes[each.metadata.uid] += share if to_add else 0
        added += share if to_add else 0
    largest = ranked[0].metadata.uid
    sizes[largest] = max(0, sizes[largest] + to_add - added)
    return sizes


def _ranked(sets: Sequence[SeenReplicaSet], to_add: int) -> list[SeenReplicaSet]:
    """The largest first; of equal ones the newer when there is more to have, the older when there is less."""
    by_age = sorted(sets, key=age)
    return sorted(by_age[::-1] if to_add > 0 else by_age, key=lambda each: -each.spec.replicas)


def _share(found: SeenDeployment, each: SeenReplicaSet) -> int:
    if found.spec.replicas == 0:
        return -each.spec.replicas
    before = int64(each.metadata.annotations.get(MOST, "")) or found.status.replicas
    if before <= 0:
        return 0
    size = each.spec.replicas * (found.spec.replicas + surge(found)) / before
    return int(size + 0.5) - each.spec.replicas
