"""explain and fits count what pods claim of devices as the manager does (API-124)."""

import json

import pytest

from controllers.test_device_claims import MAPPED as MANAGED
from controllers.test_device_claims import MAPPINGS, claimant, devices, quota, template
from insight.cluster_access import client_of, grant_read, unprivileged_user
from kit.apiserver import Object
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor
from kit.manager import running_manager_harness
from kohort.api.codec import from_json
from kohort.api.config.v1beta2 import Configuration
from kohort.api.documents import Document, read_documents
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.context import ManagerSettings
from kohort.controllers.devices.claims import TEMPLATES
from kohort.engine.explain import WorkloadPhase
from kohort.insight.fit_check.candidates import CandidateReader
from kohort.insight.fit_check.evaluation import FitResult, evaluate_fit
from kohort.insight.fit_check.manifests import split, with_manifests
from kohort.insight.fit_check.reads import ALSO_READ
from kohort.insight.listing import KindListing, ListedKind
from kohort.insight.manager_settings import ObservedSettings
from kohort.insight.snapshot import DECIDING, Snapshot, take_snapshot
from kohort.insight.workload_report.builder import build_report
from kohort.insight.workload_report.model import WorkloadReport
from kohort.insight.workload_report.text import render_report
from web.engine_fixture import NOON

MAPPED = ObservedSettings(from_json(MAPPINGS, Configuration))
QUEUES = (make_resource_flavor(), make_cluster_queue("q", resourceGroups=quota("f")), make_local_queue("l", "q"))
GPU = template("gpu", devices("a100", 2))
KINDS: tuple[ListedKind, ...] = (*DECIDING, *ALSO_READ)


def documents(*objects: Object) -> list[Document]:
    return [
        each for number, obj in enumerate(objects) for each in read_documents(json.dumps(obj).encode(), f"f{number}")
    ]


def a_cluster(*objects: Object, rules: ObservedSettings = MAPPED) -> Snapshot:
    """A cluster with three devices."""
    return with_manifests(Snapshot(NOON, {kind: KindListing() for kind in KINDS}, rules), documents(*QUEUES, *objects))


def verdicts(snapshot: Snapshot, *objects: Object) -> list[FitResult]:
    about, asked = split(documents(*objects))
    known = with_manifests(snapshot, about) if about else snapshot
    return list(evaluate_fit(known, CandidateReader(known, "default", "").candidates(asked)))


def message(verdict: FitResult) -> str:
    assert verdict.explanation is not None
    return verdict.explanation.message


def story(snapshot: Snapshot, name: str) -> WorkloadReport:
    return build_report(snapshot, snapshot.of(Workload)[ObjectKey("default", name)], f"workload/{name}")


def test_devices_count_for_what_was_never_submitted() -> None:
    first, second = verdicts(a_cluster(GPU), claimant("a", "gpu"), claimant("b", "gpu"))
    assert (first.starts, second.starts) == (True, False)
    assert "1 more needed" in message(second)
    assert "example.com/gpu" in message(second)


def test_templates_among_the_manifests_count_as_applied() -> None:
    assert verdicts(a_cluster(), GPU, claimant("a", "gpu"))[0].starts
    larger = template("gpu", devices("a100", 4))
    assert not verdicts(a_cluster(GPU), larger, claimant("a", "gpu"))[0].starts


@pytest.mark.parametrize(
    ("made", "rules", "expected"),
    [
        (claimant("a", "none"), MAPPED, 'resourceclaimtemplates.resource.k8s.io "none" not found'),
        (claimant("a", "gpu"), ObservedSettings(), "DeviceClass a100 is not mapped"),
        (claimant("a", resourceClaimName="mine"), MAPPED, "does not support use of resource claims"),
        (
            claimant("a", "gpu"),
            ObservedSettings(gates=FeatureGates(DEFAULT_GATES.on - {Gate.KueueDRAIntegration})),
            "feature gate is not enabled",
        ),
    ],
)
def test_uncountable_claims_are_never_admitted_and_reported_with_the_cause(
    made: Object, rules: ObservedSettings, expected: str
) -> None:
    (verdict,) = verdicts(a_cluster(GPU, rules=rules), made)
    assert not verdict.starts
    assert expected in message(verdict)
    snapshot = a_cluster(GPU, made, rules=rules)
    found = story(snapshot, "a")
    assert found.explanation.state is WorkloadPhase.MISCONFIGURED
    assert expected in text(found, snapshot)


def text(found: WorkloadReport, snapshot: Snapshot) -> str:
    return "\n".join(line for section in render_report(found, snapshot.taken) for line in section.lines)


def test_a_workload_that_waits_for_devices_is_reported_so() -> None:
    snapshot = a_cluster(template("gpu", devices("a100", 4)), claimant("a", "gpu"))
    report = text(story(snapshot, "a"), snapshot)
    assert (
        "It requests more than the queue can ever provide: 3 example.com/gpu is the most that queue q could" in report
    )


async def test_templates_are_read_only_where_a_workload_names_one() -> None:
    async with running_manager_harness() as harness:
        await harness.create(*QUEUES, GPU)
        assert TEMPLATES not in (await take_snapshot(client_of(harness.server))).found
        await harness.create(claimant("a", "gpu"))
        snapshot = await take_snapshot(client_of(harness.server))
        assert list(snapshot.of(TEMPLATES)) == [("default", "gpu")]


async def seen_by_ann(settings: ManagerSettings, made: Object) -> Snapshot:
    """A snapshot with permission for everything but templates."""
    ann = unprivileged_user()
    async with running_manager_harness(settings) as harness:
        await grant_read(harness.server, ann, "clusterqueues", "workloads", "localqueues", "resourceflavors")
        await harness.create(*QUEUES, template("gpu", devices("a100", 4)), made)
        await harness.advance(3)
        return await take_snapshot(client_of(harness.server, ann), home="default")


async def test_without_permission_to_read_templates_devices_are_reported_as_not_counted() -> None:
    snapshot = await seen_by_ann(MANAGED, claimant("a", "gpu"))
    assert any("Device claims are not counted" in note for note in story(snapshot, "a").notes)


async def test_without_permission_to_read_templates_the_counts_of_the_manager_are_shown() -> None:
    snapshot = await seen_by_ann(ManagerSettings(), claimant("a", "gpu"))
    assert "DeviceClass a100 is not mapped" in text(story(snapshot, "a"), snapshot)
