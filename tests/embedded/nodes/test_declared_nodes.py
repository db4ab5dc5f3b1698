"""Nodes in numbers, from files, and the machine itself."""

import asyncio
import json
import stat
from pathlib import Path

import pytest

from kohort.api.errors import ApiError, DocumentError
from kohort.api.meta import Taint
from kohort.embedded.nodes.declared import DeclarationError, NodePool
from kohort.embedded.nodes.files import read_nodes
from kohort.embedded.nodes.machine import Gpu, cpus, find_gpus, gpu_labels, memory, node_name, read_gpus, this_machine

# In numbers


def test_a_fleet_has_names_capacity_and_labels() -> None:
    fleet = NodePool(
        2, "cpu=96,memory=262144Mi,nvidia.com/gpu=8", "zone=z{0..1},tier=gpu", "gpu-{node}", "gpu=yes:NoSchedule"
    )
    first, second = fleet.nodes()
    assert (first.name, second.name) == ("gpu-0", "gpu-1")
    assert first.capacity == {"pods": "110", "cpu": "96", "memory": "256Gi", "nvidia.com/gpu": "8"}
    assert (first.labels, second.labels) == ({"zone": "z0", "tier": "gpu"}, {"zone": "z1", "tier": "gpu"})
    assert first.taints == (Taint(key="gpu", value="yes", effect="NoSchedule"),)


def test_a_label_may_hold_the_number_of_the_node() -> None:
    (only,) = NodePool(1, labels="host=h{node}").nodes()
    assert only.labels == {"host": "h0"}


@pytest.mark.parametrize(
    ("fleet", "why"),
    [
        (NodePool(0), "0 nodes: give a number from 1 to"),
        (NodePool(10**6), "1000000 nodes: give a number from 1 to"),
        (NodePool(1, "cpu"), 'capacity: invalid name=value "cpu"'),
        (NodePool(1, "cpu=many"), "capacity[cpu]: Invalid value"),
        (NodePool(1, "cpu=-1"), "must be greater than or equal to 0"),
        (NodePool(1, "cpu=1,cpu=2"), "capacity: duplicate cpu"),
        (NodePool(1, labels="a b=c"), "node node-0: metadata.labels"),
        (NodePool(1, labels="a=c d"), "node node-0: metadata.labels"),
        (NodePool(1, name="Node"), 'node Node: metadata.name: Invalid value: "Node"'),
        (NodePool(2, name="same"), '2 nodes share the name "same": put {node} into it'),
        (NodePool(1, taints="a=b"), 'taint "a=b": write key=value:NoSchedule'),
    ],
)
def test_a_fleet_that_can_not_be_is_refused_in_one_line(fleet: NodePool, why: str) -> None:
    with pytest.raises(ApiError) as caught:
        fleet.nodes()
    assert why in str(caught.value)


# From files

NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels: {{zone: a}}
spec:
  taints:
  - {{key: gpu, effect: NoSchedule}}
  - {{key: node.kubernetes.io/unreachable, effect: NoExecute}}
status:
  capacity: {{cpu: 4, memory: 8Gi}}
  allocatable: {{cpu: 3500m}}
"""


def written(folder: Path, text: str) -> str:
    file = folder / "nodes.yaml"
    file.write_text(text)
    return str(file)


def test_a_file_may_hold_several_nodes(tmp_path: Path) -> None:
    nodes = read_nodes(written(tmp_path, NODE.format(name="a") + "---\n" + NODE.format(name="b")))
    assert [node.name for node in nodes] == ["a", "b"]
    assert nodes[0].labels == {"zone": "a"}
    assert nodes[0].capacity == {"pods": "110", "cpu": "4", "memory": "8Gi"}
    assert nodes[0].offered == {"pods": "110", "cpu": "3500m", "memory": "8Gi"}


def test_taints_that_controllers_set_are_not_taken_over(tmp_path: Path) -> None:
    (node,) = read_nodes(written(tmp_path, NODE.format(name="a")))
    assert [taint.key for taint in node.taints] == ["gpu"]


def test_a_list_as_kubectl_prints_it_is_read_too(tmp_path: Path) -> None:
    head = {"apiVersion": "v1", "kind": "Node", "status": {"capacity": {"cpu": "1"}}}
    items = [{**head, "metadata": {"name": name, "uid": "1"}} for name in ("a", "b")]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert [node.name for node in read_nodes(written(tmp_path, text))] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (NODE.format(name="Big"), 4, 'metadata.name: Invalid value: "Big"'),
        (NODE.format(name="a").replace("cpu: 4", "cpu: four"), 11, "status.capacity"),
        (NODE.format(name="a").replace("zone: a", "zone: a b"), 5, "metadata.labels"),
        (NODE.format(name="a").replace("kind: Node", "kind: Pod"), 2, "expected v1 Node, found v1 Pod"),
        (NODE.format(name="a").replace("key: gpu", "key: '?'"), 8, "spec.taints[0].key"),
        (NODE.format(name="a") + "---\n" + NODE.format(name="a"), 17, 'metadata.name: duplicate "a"'),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", 1, "status.capacity: Required value"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: [a]}\n", 1, "Expected `str`, got `array`"),
        ("- a\n", 1, "object"),
    ],
)
def test_a_mistake_in_a_file_is_reported_with_its_position(tmp_path: Path, text: str, line: int, why: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_nodes(written(tmp_path, text))
    assert why in str(caught.value)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "nodes.yaml"), line)


def test_a_file_without_nodes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="no Node found"):
        read_nodes(written(tmp_path, "# nothing\n"))


# The machine itself


def test_quota_and_memory_limit_of_the_cgroup_count(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    (tmp_path / "memory.max").write_text(f"{2**28}\n")
    assert cpus(tmp_path) == 1
    assert memory(tmp_path) == 2**28


def test_a_part_of_a_cpu_counts_as_one(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert cpus(tmp_path) == 1


@pytest.mark.parametrize("text", ["max 100000", "", "nonsense", "0 0"])
def test_no_quota_leaves_all_cpus(tmp_path: Path, text: str) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert cpus(tmp_path) == cpus(tmp_path / "nowhere")


def test_without_any_figures_there_is_some_memory(tmp_path: Path) -> None:
    assert memory(tmp_path, tmp_path) == 2**30


def program(folder: Path, body: str) -> str:
    file = folder / "nvidia-smi"
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


async def test_gpus_are_those_that_nvidia_smi_lists(tmp_path: Path) -> None:
    listing = program(tmp_path, 'echo "NVIDIA H100 80GB HBM3, 81559"; echo "NVIDIA H100 80GB HBM3, 81559"')
    gpus = await find_gpus(listing)
    assert gpus == (Gpu("NVIDIA H100 80GB HBM3", 81559),) * 2
    assert gpu_labels(gpus) == {
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.count": "2",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.memory": "81559",
    }


@pytest.mark.parametrize("body", ["exit 9", "sleep 60", "kill -9 $$"])
async def test_a_broken_or_hanging_nvidia_smi_means_no_gpus(tmp_path: Path, body: str) -> None:
    async with asyncio.timeout(60):
        assert await find_gpus(program(tmp_path, f"exec {body}" if body.startswith("sleep") else body), 0.3) == ()


async def test_no_nvidia_smi_means_no_gpus() -> None:
    assert await find_gpus("no-such-program-here") == ()


def test_a_listing_without_sense_breaks_nothing() -> None:
    assert read_gpus("\n, \nJust a name\n") == (Gpu("", 0), Gpu("Just a name", 0))


async def test_this_machine_is_a_node() -> None:
    node = await this_machine()
    assert int(node.capacity["cpu"]) >= 1
    assert node.capacity["memory"].endswith("Ki")


@pytest.mark.parametrize(("host", "name"), [("My_Box.local", "my-box.local"), ("---", "localhost"), ("ß", "localhost")])
def test_a_host_gets_a_name_that_nodes_can_have(host: str, name: str) -> None:
    assert node_name(host) == name
