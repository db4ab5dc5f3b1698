"""`kohort topology` draws domains with their usage, finds the places of a job, and explains what it can't show."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.apiserver import InMemoryApiServer
from kit.builders.kueue import make_resource_flavor
from kit.commands import running_command_runner
from kit.kueue_apiserver import running_kueue_apiserver
from kohort.api.meta import ObjectKey
from kohort.cli.topology_table import MAX_ROWS, render_topology, topology_data
from kohort.insight.topology import DomainReport, TopologyReport, UnusedNode
from kohort.terminal.glyphs import ASCII, UNICODE
from kohort.terminal.screen import Screen
from kohort.terminal.style import columns

PICTURES = Path(__file__).parent / "pictures"
GPU = "nvidia.com/gpu"
BLOCK, RACK, HOSTNAME = "cloud/block", "cloud/rack", "kubernetes.io/hostname"


def host(name: str, used: int = 0, other: int = 0, pods: int = 0) -> DomainReport:
    return DomainReport(HOSTNAME, name, 1, {GPU: 8, "cpu": 96_000}, {GPU: used}, {GPU: other, "cpu": 500}, pods)


def domain(level: str, value: str, *children: DomainReport) -> DomainReport:
    def total(amounts: list[Any]) -> dict[str, int]:
        return {name: sum(each.get(name, 0) for each in amounts) for name in (GPU, "cpu")}

    return DomainReport(
        level,
        value,
        sum(each.nodes for each in children),
        total([each.capacity for each in children]),
        total([each.used for each in children]),
        total([each.other for each in children]),
        sum(each.pods for each in children),
        children,
    )


def report(*domains: DomainReport, **rest: Any) -> TopologyReport:
    return TopologyReport(
        flavor="h100",
        topology="datacenter",
        levels=(BLOCK, RACK, HOSTNAME),
        resources=("cpu", GPU),
        nodes=sum(each.nodes for each in domains),
        domains=domains,
        unused=rest.pop("unused", ()),
        **rest,
    )


REPORT = report(
    domain(
        BLOCK,
        "b1",
        domain(RACK, "r1", host("n1", 8, pods=1), host("n2", 4, other=4)),
        domain(RACK, "r2", host("n3", 9)),
    ),
    unused=(UnusedNode("n4", "not Ready"), *(UnusedNode(f"m{number}", "no label cloud/rack") for number in range(5))),
    absent=(("n9", 2),),
)
PLACED = replace(
    REPORT, workload=ObjectKey("ns", "w"), domains=(domain(BLOCK, "b1", domain(RACK, "r1", host("n1", 8, pods=1))),)
)


@pytest.mark.parametrize(
    ("name", "screen"),
    [
        ("topology-80.txt", Screen(80, glyphs=UNICODE)),
        ("topology-160.txt", Screen(160, glyphs=UNICODE)),
        ("topology-in-a-file.txt", Screen(glyphs=ASCII)),
    ],
)
def test_the_drawing_of_a_topology(name: str, screen: Screen) -> None:
    assert render_topology(REPORT, screen) == (PICTURES / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_no_line_of_the_table_is_wider_than_the_terminal(width: int) -> None:
    lines = render_topology(REPORT, Screen(width, glyphs=UNICODE))
    assert all(columns(line) <= width for line in lines)


def test_a_selected_workload_has_a_column_of_pods() -> None:
    heading, head, *rows = render_topology(PLACED, Screen(glyphs=ASCII))
    assert heading.endswith("3 nodes")
    assert head.split()[:3] == ["DOMAIN", "NODES", "PODS"]
    assert [row.split("n1")[-1].split()[:2] for row in rows if "n1" in row] == [["1", "1"]]
    assert "2 pods assigned to n9, which has no usable node" in rows
    assert topology_data(PLACED)["domains"][0]["domains"][0]["pods"] == 1
    assert "pods" not in topology_data(REPORT)["domains"][0]


def test_a_flavor_without_nodes_is_reported() -> None:
    lines = render_topology(report(), Screen(glyphs=ASCII))
    assert lines[0] == "ResourceFlavor h100: Topology datacenter, 0 nodes"
    assert lines[-1] == "No node has the labels of ResourceFlavor h100"


def test_levels_below_the_requested_one_are_counted_only() -> None:
    lines = render_topology(REPORT, Screen(glyphs=ASCII), level=RACK)
    assert not any("n1 " in line for line in lines)
    assert "3 domains of level kubernetes.io/hostname not shown; show them with --level kubernetes.io/hostname" in lines


def test_a_level_with_too_many_domains_is_left_out() -> None:
    wide = report(domain(BLOCK, "b1", domain(RACK, "r1", *(host(f"n{number}") for number in range(MAX_ROWS)))))
    lines = render_topology(wide, Screen(glyphs=ASCII))
    assert len(lines) < 10
    assert f"{MAX_ROWS} domains of level kubernetes.io/hostname not shown" in lines[-1]


# The command


def node(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"pool": "gpu", HOSTNAME: name, **labels}},
        "status": {
            "allocatable": {"cpu": "8", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
        },
    }


def topology() -> dict[str, Any]:
    levels = [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Topology",
        "metadata": {"name": "dc"},
        "spec": {"levels": levels},
    }


def topology_flavor() -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "tas"},
        "spec": {"nodeLabels": {"pool": "gpu"}, "topologyName": "dc"},
    }


async def create_nodes(server: InMemoryApiServer) -> None:
    for each in (topology(), topology_flavor(), node("a", **{RACK: "r1"}), node("b", **{RACK: "r2"}), node("c")):
        await server.create(each)


async def test_data_and_drawing_of_a_cluster(tmp_path: Path) -> None:
    async with running_kueue_apiserver() as server, running_command_runner(server, tmp_path) as user:
        await create_nodes(server)
        shown, data = await user.run("topology"), await user.run("topology", "tas", "-o", "json")
        as_yaml = await user.run("topology", "-o", "yaml")
    assert shown.lines[0] == "ResourceFlavor tas: Topology dc, 2 nodes"
    assert "Not used (no label cloud/rack): c" in shown.lines
    (found,) = json.loads(data.out)
    assert yaml.safe_load(as_yaml.out) == [found]
    assert [(each["value"], each["free"]["cpu"]) for each in found["domains"]] == [("r1", "8"), ("r2", "8")]
    assert found["unusedNodes"] == [{"name": "c", "reason": "no label cloud/rack"}]


async def test_what_cannot_be_shown_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    async with running_kueue_apiserver() as server, running_command_runner(server, tmp_path) as user:
        empty = await user.run("topology")
        await server.create(make_resource_flavor("plain"))
        plain = await user.run("topology", "plain")
        await server.create(topology_flavor())
        absent = await user.run("topology")
        await server.create(topology())
        unknown, level = await user.run("topology", "tos"), await user.run("topology", "--level", "rak")
        job = await user.run("topology", "--workload", "job/train")
    assert empty.err == "kohort: error: no ResourceFlavor has a topology: set spec.topologyName\n"
    assert plain.err == "kohort: error: ResourceFlavor plain has no topology: set spec.topologyName\n"
    assert absent.err == "kohort: error: Topology dc not found: create it, or change spec.topologyName of the flavor\n"
    assert unknown.err == "kohort: error: ResourceFlavor tos not found: did you mean tas?\n"
    assert level.err == (
        "kohort: error: level rak not found in Topology dc: available: cloud/rack, kubernetes.io/hostname\n"
    )
    assert "train" in job.err
    assert {each.code for each in (empty, plain, absent, unknown, level, job)} == {2}
