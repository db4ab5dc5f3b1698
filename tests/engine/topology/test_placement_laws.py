"""What holds for every placement (docs/spec/topology.md section 20)."""

from collections import Counter
from collections.abc import Mapping

from hypothesis import event, given
from hypothesis import strategies as st
from msgspec import structs

from engine.topology.clusters import HOST, LEVELS, Tree, flavor_of, nodes, store
from engine.topology.placement_strategies import SETTINGS, SHAPES, requests, trees
from kohort.engine.records import Flavor
from kohort.engine.topology import (
    AssumedUsage,
    CapacityMode,
    FailedNode,
    FlavorDomains,
    GroupPlacement,
    NodeReplacement,
    PlacementRequest,
    PlacementSettings,
    TopologyDomains,
    TopologyStore,
    replace_node,
)

PLAIN = PlacementSettings()
Held = list[tuple[str, int, dict[str, int]]]
"""Host, pods and request of one pod."""


@st.composite
def usages(draw: st.DrawFn, tree: Tree) -> Held:
    names = [host for racks in tree.values() for hosts in racks.values() for host in hosts]
    one = st.tuples(st.sampled_from(names), st.integers(1, 3), st.sampled_from(SHAPES))
    return draw(st.lists(one, max_size=6))


def with_usage(tree: Tree, held: Held, settings: PlacementSettings = PLAIN) -> TopologyStore:
    topologies = store(tree, settings=settings)
    for host, pods, per_pod in held:
        flavor_of(topologies).counter((host,), per_pod).use(pods)
    return topologies


def free_amounts(tree: Tree, held: Held) -> dict[str, Counter[str]]:
    """What hosts have left, computed apart from the engine."""
    rest: dict[str, Counter[str]] = {}
    for racks in tree.values():
        for hosts in racks.values():
            for host, amounts in hosts.items():
                rest[host] = Counter(
                    {name: int(text) * (1000 if name == "cpu" else 1) for name, text in amounts.items()}
                )
    for host, pods, per_pod in held:
        rest[host].subtract({name: amount * pods for name, amount in per_pod.items()})
    return rest


def taken(found: GroupPlacement, request: PlacementRequest) -> dict[str, Counter[str]]:
    result: dict[str, Counter[str]] = {}
    leader = found.leader.domains if found.leader else ()
    for domains, per_pod in ((found.workers.domains, request.per_pod), (leader, request.leader_per_pod)):
        for domain in domains:
            counter = result.setdefault(domain.values[0], Counter())
            counter.update({name: amount * domain.pods for name, amount in per_pod.items()})
    return result


def pods_by(tree: Tree, level: str, found: TopologyDomains) -> Counter[tuple[str, ...]]:
    """Pods per domain of a level."""
    depth = LEVELS.index(level) + 1
    path = {
        host: (block, rack, host)[:depth]
        for block, racks in tree.items()
        for rack, hosts in racks.items()
        for host in hosts
    }
    result: Counter[tuple[str, ...]] = Counter()
    for domain in found.domains:
        result[path[domain.values[0]]] += domain.pods
    return result


def assert_valid(tree: Tree, held: Held, request: PlacementRequest, found: GroupPlacement) -> None:
    assert found.workers.pods == request.count
    assert (found.leader.pods if found.leader else 0) == (1 if request.leader else 0)
    rest = free_amounts(tree, held)
    for host, amounts in taken(found, request).items():
        assert all(rest[host][name] >= amount for name, amount in amounts.items())
    for layer in request.layers:
        assert all(pods % layer.size == 0 for pods in pods_by(tree, layer.topology, found.workers).values())
    if request.required:
        used = pods_by(tree, request.required, found.workers)
        if found.leader:
            used += pods_by(tree, request.required, found.leader)
        assert len(used) == 1
    values = [domain.values for domain in found.workers.domains]
    assert values == sorted(values, key=lambda value: flavor_of(store(tree)).path_of(value, HOST))


@given(st.data(), trees(), requests(), SETTINGS)
def test_a_placement_has_all_pods_within_capacity_slices_and_required_domain(
    data: st.DataObject, tree: Tree, request: PlacementRequest, settings: PlacementSettings
) -> None:
    """TAS-26, TAS-51, TAS-54, TAS-57, TAS-63; balanced placement with exact counts, our choice for Q-11."""
    held = data.draw(usages(tree))
    found = flavor_of(with_usage(tree, held, settings)).place(request)
    event(type(found).__name__)
    if isinstance(found, GroupPlacement):
        assert_valid(tree, held, request, found)
    else:
        assert 'topology "default"' in found.message
        assert "fit on no set of its domains" not in found.message


def most_pods(tree: Tree, held: Held, request: PlacementRequest) -> int:
    """Pods of an unconstrained request without slices and leader that fit at all."""
    return sum(
        [
            max(0, min([rest[name] // amount for name, amount in request.per_pod.items()]))
            for rest in free_amounts(tree, held).values()
        ]
    )


@given(st.data(), trees(), st.integers(1, 20), st.sampled_from(SHAPES), st.sampled_from(("preferred", "unconstrained")))
def test_a_request_that_may_be_spread_fails_only_if_there_is_too_little_capacity(
    data: st.DataObject, tree: Tree, count: int, shape: Mapping[str, int], kind: str
) -> None:
    """TAS-51(7)."""
    held = data.draw(usages(tree))
    options = {"preferred": "rack"} if kind == "preferred" else {"unconstrained": True}
    request = PlacementRequest(pod_set="workers", count=count, per_pod=shape, **options)
    found = flavor_of(with_usage(tree, held)).place(request)
    fitting = most_pods(tree, held, request)
    assert isinstance(found, GroupPlacement) == (fitting >= count)
    if not isinstance(found, GroupPlacement):
        assert found.fitting == fitting


@given(st.data(), trees(), requests(), SETTINGS)
def test_the_order_in_which_nodes_come_changes_nothing(
    data: st.DataObject, tree: Tree, request: PlacementRequest, settings: PlacementSettings
) -> None:
    """TAS-23, TAS-56."""
    shuffled = store({}, settings=settings)
    for each in data.draw(st.permutations(list(nodes(tree)))):
        shuffled.put_node(each)
    assert flavor_of(shuffled).place(request) == flavor_of(store(tree, settings=settings)).place(request)


@given(st.data(), trees(), st.lists(requests(), min_size=1, max_size=3), SETTINGS)
def test_counts_that_follow_changes_equal_fresh_ones(
    data: st.DataObject, tree: Tree, asked: list[PlacementRequest], settings: PlacementSettings
) -> None:
    """TAS-20, TAS-26: kept counts never change a placement, for any changes between two of them."""
    live = store(tree, settings=settings)
    live.put_flavor(Flavor("other", {}, (), (), "default"))
    held: list[tuple[str, str, int, dict[str, int]]] = []
    for _ in range(data.draw(st.integers(1, 6))):
        _change(data, live, tree, held)
        fresh = store(tree, settings=settings)
        fresh.put_flavor(Flavor("other", {}, (), (), "default"))
        for flavor, host, pods, per_pod in held:
            flavor_of(fresh, flavor).counter((host,), per_pod).use(pods)
        request, mode = data.draw(st.sampled_from(asked)), data.draw(st.sampled_from(CapacityMode))
        assumed = _assumed(data, tree, flavor_of(live))
        assert flavor_of(live).place(request, assumed, mode=mode) == flavor_of(fresh).place(request, assumed, mode=mode)


def _change(
    data: st.DataObject, live: TopologyStore, tree: Tree, held: list[tuple[str, str, int, dict[str, int]]]
) -> None:
    """Use or free pods; sometimes a node is removed and added again."""
    names = [each.metadata.name for each in nodes(tree)]
    frees: bool = data.draw(st.booleans())
    if held and frees:
        flavor, host, pods, per_pod = held.pop(data.draw(st.integers(0, len(held) - 1)))
        flavor_of(live, flavor).counter((host,), per_pod).free(pods)
    else:
        host = data.draw(st.sampled_from(names))
        one = (data.draw(st.sampled_from(("default", "other"))), host, data.draw(st.integers(1, 3)))
        held.append((*one, data.draw(st.sampled_from(SHAPES))))
        flavor_of(live, one[0]).counter((host,), held[-1][-1]).use(one[2])
    if data.draw(st.booleans()):
        again = data.draw(st.sampled_from(list(nodes(tree))))
        live.remove_node(again.metadata.name)
        live.put_node(again)


def _assumed(data: st.DataObject, tree: Tree, flavor: FlavorDomains) -> AssumedUsage:
    assumed = AssumedUsage()
    for host, pods, per_pod in data.draw(usages(tree)):
        assumed.add(flavor.usage_key((host,)), tuple(sorted(per_pod.items())), pods)
    return assumed


@given(st.data(), trees(), requests(), SETTINGS)
def test_a_search_leaves_no_trace(
    data: st.DataObject, tree: Tree, request: PlacementRequest, settings: PlacementSettings
) -> None:
    """Assumed usage and dry runs change nothing that a later placement reads (TAS-41, TAS-76)."""
    flavor = flavor_of(with_usage(tree, data.draw(usages(tree)), settings))
    before = flavor.place(request)
    flavor.place(request, _assumed(data, tree, flavor))
    flavor.place(request, mode=CapacityMode.EMPTY)
    flavor.place(request, within=("b0", "r0"))
    assert flavor.place(request) == before


@given(st.data(), trees(), requests(), SETTINGS)
def test_a_replacement_moves_only_the_pods_of_the_failed_node(
    data: st.DataObject, tree: Tree, request: PlacementRequest, settings: PlacementSettings
) -> None:
    """TAS-107, TAS-108: the others stay, and together they keep capacity, slices and required domain.

    Of three layers, that in the middle may be split (Q-24).
    """
    request = structs.replace(request, leader="", leader_per_pod={})
    if data.draw(st.booleans()):
        request = structs.replace(request, layers=(), required="rack", preferred="", unconstrained=False)
    topologies = with_usage(tree, [], settings)
    flavor = flavor_of(topologies)
    first = flavor.place(request)
    if not isinstance(first, GroupPlacement):
        return
    placed = {domain.values: domain.pods for domain in first.workers.domains}
    for values, pods in placed.items():
        flavor.counter(values, request.per_pod).use(pods)
    (failed,) = data.draw(st.sampled_from(list(placed)))
    topologies.remove_node(failed)
    found = replace_node(flavor, request, first.workers, FailedNode(failed, failed))
    event(type(found).__name__)
    if isinstance(found, NodeReplacement):
        moved = {domain.values: domain.pods for domain in found.added.domains}
        assert sum(moved.values()) == placed.pop((failed,))
        assert {domain.values: domain.pods for domain in found.domains.domains} == Counter(placed) + Counter(moved)
        assert (failed,) not in moved
        outer_and_inner = request.layers if len(request.layers) < 3 else request.layers[::2]
        assert_valid(tree, [], structs.replace(request, layers=outer_and_inner), GroupPlacement(found.domains))
