"""Addresses of pods: no two pods have the same, whichever agent they are with."""

from ipaddress import ip_address, ip_network
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from embedded.nodes.harness import NODES, NodeAgentHarness, node, pod, running_agent
from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kohort.embedded.nodes.addresses import HostAddress, PodCidrAllocator, PodIpAllocator
from kohort.embedded.nodes.agent import NodeAgent
from kohort.embedded.nodes.manifests import AgentDefaults
from kohort.embedded.nodes.registration import NodeRegistration
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.kube.errors import StatusError
from kohort.kube.transport import Request, Response, Transport


class OwnNodeTransport:
    """A client of a user with permission for its own node only, as a kubelet."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request, timeout: float) -> Response:
        if request.path == NODES and request.method == "GET" and not dict(request.query).get("fieldSelector"):
            raise StatusError(403, "Forbidden", "nodes is forbidden")
        return await self._inner.send(request, timeout)

    async def close(self) -> None:
        await self._inner.close()


names = st.text("abc-0123456789", min_size=1, max_size=8)
sizes = st.integers(1, 5000)


@given(st.lists(st.tuples(names, sizes), max_size=12))
def test_blocks_have_space_and_never_overlap(requested_addresses: list[tuple[str, int]]) -> None:
    blocks = PodCidrAllocator([])
    picked = [ip_network(blocks.pick(*requested)) for requested in requested_addresses]
    assert all(block.num_addresses >= pods + 2 for block, (_, pods) in zip(picked, requested_addresses, strict=True))
    assert not any(one.overlaps(other) for one, other in combinations(picked, 2))


@given(names, sizes, sizes)
def test_a_block_that_another_node_has_is_not_picked(name: str, first: int, second: int) -> None:
    taken = PodCidrAllocator([]).pick(name, first)
    blocks = PodCidrAllocator([taken, "fd00::/64", "192.168.0.0/24", "10.0.0.0/16", "nonsense"])
    assert not ip_network(blocks.pick(name, second)).overlaps(ip_network(taken))


def test_when_all_blocks_are_taken_nodes_share() -> None:
    assert PodCidrAllocator(["10.128.0.0/9"]).pick("one", 110) == PodCidrAllocator([]).pick("one", 110)


@given(st.lists(st.booleans(), max_size=200))
def test_no_two_pods_have_the_same_address_at_a_time(steps: list[bool]) -> None:
    addresses = PodIpAllocator()
    addresses.settle("one", "10.128.0.0/26")
    held = [addresses.allocate("one", "10.128.0.2")]
    for comes in steps:
        if comes and len(held) < 62:
            held.append(addresses.allocate("one", ""))
        elif held:
            addresses.free("one", held.pop(0))
        assert len(set(held)) == len(held)
        assert all(address not in ("10.128.0.0", "10.128.0.63") for address in held)


def test_more_pods_than_addresses_share_them() -> None:
    addresses = PodIpAllocator()
    addresses.settle("one", "10.128.0.0/30")
    assert [addresses.allocate("one", "") for _ in range(3)] == ["10.128.0.1", "10.128.0.2", "10.128.0.1"]


async def address(harness: NodeAgentHarness, name: str) -> str:
    return str((await harness.status(name))["podIP"])


async def block(cluster: InMemoryApiServer, name: str) -> str:
    return str((await cluster.get(f"{NODES}/{name}"))["spec"]["podCIDR"])


async def test_two_agents_assign_different_addresses() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster, node("one")) as first, running_agent(cluster, node("two")) as second:
            await first.run(pod("a", "one"))
            await second.run(pod("b", "two"))
            found = {await address(first, "a"), await address(first, "b")}
        blocks = [ip_network(await block(cluster, name)) for name in ("one", "two")]
    assert len(found) == 2
    assert not blocks[0].overlaps(blocks[1])


async def test_a_later_agent_assigns_no_address_in_use() -> None:
    async with running_apiserver() as cluster:
        async with running_agent(cluster) as first:
            await first.run(pod("a"))
            before = await block(cluster, "one")
        async with running_agent(cluster) as second:
            await second.advance(0)
            await second.run(pod("b"))
            assert await address(second, "a") != await address(second, "b")
        assert await block(cluster, "one") == before


async def test_a_node_that_has_no_block_yet_gets_one() -> None:
    async with running_apiserver() as cluster:
        await cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}})
        async with running_agent(cluster) as harness:
            await harness.run(pod("a"))
            assert ip_address(await address(harness, "a")) in ip_network(await block(cluster, "one"))


async def test_an_agent_without_permission_to_list_nodes_derives_addresses_from_names() -> None:
    async with running_apiserver() as cluster:
        transport = OwnNodeTransport(cluster.core.transport(ADMIN))
        async with running_agent(cluster, transport=transport) as harness:
            await harness.run(pod("a"))
            assert ip_address(await address(harness, "a")) in ip_network(PodCidrAllocator([]).pick("one", 10))
            assert "podCIDR" not in (await cluster.get(f"{NODES}/one"))["spec"]


async def test_pods_of_the_host_have_its_address_and_their_node_no_block() -> None:
    async with running_apiserver() as cluster, running_agent(cluster, node("other")) as harness:
        runtime = SimulatedRuntime(cluster.clock)
        agent = NodeAgent(harness.client, NodeRegistration((node("one"),)), runtime, HostAddress("127.0.0.9"))
        await agent.start(AgentDefaults())
        await harness.run(pod("a"))
        assert await address(harness, "a") == "127.0.0.9"
        assert "podCIDR" not in (await cluster.get(f"{NODES}/one"))["spec"]
        await agent.stop()
