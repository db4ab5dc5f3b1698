"""Our CustomResourceDefinitions on a real API server: installed as a user would, read with stock kubectl."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from cluster.kubectl import Kubectl
from kit.commands import CommandResult
from kit.golden.recordings import api_recording
from kohort.api.kinds import CustomObject, all_kinds
from kohort.api.kueue.group import GROUP

Json = Any

NAMES = sorted({f"{kind.info.resource.plural}.{GROUP}" for kind in all_kinds(GROUP)})
COLUMNS = [
    step
    for case in api_recording("printer-columns")
    for step in case["steps"]
    if step["op"] == "get" and step["columns"]
]
"""Of the kinds of which there was an object when they were recorded."""
QUEUE = {"apiVersion": f"{GROUP}/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "lonely"}}
VERSIONS = ("v1beta2", "v1beta1")
WAYS = {"short": (), "wide": ("-o", "wide")}
RECLAIM = """\
GROUP:      kueue.x-k8s.io
KIND:       ClusterQueue
VERSION:    v1beta2

FIELD: reclaimWithinCohort <string>
ENUM:
    Never
    LowerPriority
    Any

DESCRIPTION:
    Workloads of other queues that borrow quota of this one.
"""


def shown(kind: type[CustomObject]) -> Json:
    """The smallest object of a kind."""
    resource = kind.info.resource
    head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "shown"}}
    return {**head, "value": 7} if resource.kind == "WorkloadPriorityClass" else head


@pytest.fixture(scope="module")
def one_of_each(kubectl: Kubectl, kueue: None) -> Iterator[None]:
    """An object of every kind."""
    objects = [shown(kind) for kind in all_kinds(GROUP) if kind.info.is_storage]
    kubectl.apply(*objects)
    yield
    kubectl.delete(*objects)


def test_they_install_without_a_warning(installation: CommandResult) -> None:
    assert installation.err == ""
    assert sorted(line.split()[0].partition("/")[2] for line in installation.lines) == NAMES


def test_the_server_finds_every_schema_structural_and_every_name_free(kubectl: Kubectl, kueue: None) -> None:
    path = "jsonpath={range .items[*].status.conditions[*]}{.type}={.status} {end}"
    assert set(kubectl("get", "crd", *NAMES, "-o", path).out.split()) == {"NamesAccepted=True", "Established=True"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("way", WAYS)
def test_get_shows_the_columns_of_a_real_kueue(kubectl: Kubectl, one_of_each: None, version: str, way: str) -> None:
    """API-10."""
    steps = [step for step in COLUMNS if (step["version"], step["wide"]) == (version, way == "wide")]
    resources = ",".join(f"{step['resource']}.{version}.{GROUP}" for step in steps)
    blocks = kubectl("get", resources, *WAYS[way]).out.strip().split("\n\n")
    headers = [re.split(r"\s{2,}", block.splitlines()[0].strip()) for block in blocks]
    assert headers == [step["columns"] for step in steps]


def test_get_shows_an_object_in_one_line(kubectl: Kubectl, kueue: None) -> None:
    spec = {"cohortName": "all", "queueingStrategy": "StrictFIFO"}
    kubectl.apply({**QUEUE, "spec": spec})
    lines = kubectl("get", "cq", "lonely", "-o", "wide").lines
    kubectl("delete", "cq", "lonely")
    assert [line.rstrip() for line in lines] == [
        "NAME     COHORT   STRATEGY     PENDING WORKLOADS   ADMITTED WORKLOADS",
        "lonely   all      StrictFIFO",
    ]


def test_explain_reports_type_values_and_meaning(kubectl: Kubectl, kueue: None) -> None:
    reported = kubectl("explain", "clusterqueue.spec.preemption.reclaimWithinCohort").lines
    assert [line.rstrip() for line in reported][: len(RECLAIM.splitlines())] == RECLAIM.splitlines()


def test_explain_has_a_word_for_every_field(kubectl: Kubectl, kueue: None) -> None:
    for name in NAMES:
        reported = kubectl("explain", name.partition(".")[0], "--recursive=false", f"--api-version={GROUP}/v1beta2").out
        assert "<no description>" not in reported
        assert "<empty>" not in reported, name
