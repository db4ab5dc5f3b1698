"""The view of a cluster in the foreground: what it shows at which width, and what counts as news."""

from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest

from kohort.api.kueue.v1beta2 import ClusterQueue, Workload
from kohort.api.kueue.v1beta2.queues import (
    ClusterQueueSpec,
    ClusterQueueStatus,
    FlavorQuotas,
    FlavorUsage,
    ResourceGroup,
    ResourceQuota,
    ResourceUsage,
)
from kohort.api.kueue.v1beta2.workload import Admission, PodSetAssignment, WorkloadSpec, WorkloadStatus
from kohort.api.markers import ResourceList
from kohort.api.meta import Condition, ObjectMeta, OwnerReference
from kohort.local.activity import ActivityEvent, QueueActivity
from kohort.local.view import ClusterInfo, draw, shares
from kohort.terminal.glyphs import UNICODE
from kohort.terminal.screen import Screen
from kohort.terminal.style import Role

Status = Literal["True", "False"]
NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)
FACTS = ClusterInfo(
    "kohort  https://127.0.0.1:6443", "node vm: cpu 8, memory 32Gi, pods 110; runtime process", "Ctrl-C stops"
)


def ago(seconds: int) -> datetime:
    return NOW - timedelta(seconds=seconds)


def condition(kind: str, status: Status = "True", message: str = "", reason: str = "R", seconds: int = 10) -> Condition:
    return Condition(type=kind, status=status, reason=reason, message=message, last_transition_time=ago(seconds))


def workload(name: str, *conditions: Condition, usage: ResourceList | None = None) -> Workload:
    owner = OwnerReference(kind="Job", name=name, controller=True)
    admission = None
    if usage is not None:
        admission = Admission("default", (PodSetAssignment(resource_usage=usage),))
    return Workload(
        metadata=ObjectMeta(
            name=f"job-{name}", namespace="default", creation_timestamp=ago(90), owner_references=(owner,)
        ),
        spec=WorkloadSpec(queue_name="default"),
        status=WorkloadStatus(conditions=conditions, admission=admission),
    )


def queue(name: str, cpu: str, used: str, gpus: str = "4", used_gpus: str = "1") -> ClusterQueue:
    resources = (
        ResourceQuota(name="cpu", nominal_quota=cpu),
        ResourceQuota(name="memory", nominal_quota="33554428Ki"),
        ResourceQuota(name="nvidia.com/gpu", nominal_quota=gpus),
        ResourceQuota(name="pods", nominal_quota="110"),
    )
    covered = tuple(each.name for each in resources)
    group = ResourceGroup(covered_resources=covered, flavors=(FlavorQuotas(name="default", resources=resources),))
    usage = (
        ResourceUsage(name="cpu", total=used),
        ResourceUsage(name="memory", total="8Gi"),
        ResourceUsage(name="nvidia.com/gpu", total=used_gpus),
    )
    status = ClusterQueueStatus(
        flavors_reservation=(FlavorUsage(name="default", resources=usage),), admitted_workloads=1, pending_workloads=2
    )
    return ClusterQueue(metadata=ObjectMeta(name=name), spec=ClusterQueueSpec(resource_groups=(group,)), status=status)


def scene() -> QueueActivity:
    found = QueueActivity(lambda _: None)
    found.observe(None, workload("train", condition("Admitted"), usage={"cpu": "4", "memory": "8Gi", "pods": "1"}))
    why = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed"
    found.observe(None, workload("next", condition("QuotaReserved", "False", why)))
    found.observe(None, workload("last"))
    found.observe(None, workload("over", condition("Finished")))
    found.add_event(ActivityEvent(NOW.astimezone(), "warning", Role.WARN, "the disk is nearly full"))
    return found


QUEUES = [queue("default", "8", "4"), queue("team-with-a-name-that-goes-on", "4", "6")]
CLOCK = f"{NOW.astimezone():%H:%M:%S}"


def test_the_picture_at_80_columns() -> None:
    assert draw(scene(), QUEUES, FACTS, NOW, Screen(80, 24, glyphs=UNICODE)) == [
        "kohort  https://127.0.0.1:6443  node vm: cpu 8, memory 32Gi, pods 110; runtime…",
        "",
        "Queues (2)",
        "  default                   gpu ██░░░░░░░░ 1/4  1 running, 2 pending",
        "  team-with-a-name-that-g…  gpu ██░░░░░░░░ 1/4  1 running, 2 pending",
        "",
        "Running (1)",
        "  default/train   default   cpu 4, memory 8Gi   10s",
        "",
        "Pending (2)",
        "  default/next   default   90s   1 more cpu needed in default",
        "  default/last   default   90s",
        "",
        "Recent events",
        f"  {CLOCK}   warning   the disk is nearly full",
        "",
        "",
        "Ctrl-C stops",
    ]


def test_more_resources_are_shown_where_there_is_space() -> None:
    lines = draw(scene(), QUEUES[:1], FACTS, NOW, Screen(160, 24))
    assert (
        lines[3]
        == "  default  gpu ##........ 1/4  cpu #####..... 4/8  memory ###....... 8Gi/32Gi  1 running, 2 pending"
    )


@pytest.mark.parametrize("width", [20, 40, 79, 80, 120, 160])
@pytest.mark.parametrize("height", [6, 10, 24, 60])
def test_the_picture_is_never_larger_than_the_screen(width: int, height: int) -> None:
    lines = draw(scene(), QUEUES * 8, FACTS, NOW, Screen(width, height, glyphs=UNICODE))
    assert len(lines) <= height
    assert max(map(len, lines)) < max(width, 56)


@pytest.mark.parametrize(
    ("lengths", "available", "given"),
    [
        ([2, 2, 2, 2], 20, [2, 2, 2, 2]),
        ([9, 1, 1, 9], 12, [7, 1, 1, 3]),
        ([9, 9, 9, 9], 8, [2, 2, 2, 2]),
        ([5], 0, [0]),
    ],
)
def test_sections_share_the_width(lengths: list[int], available: int, given: list[int]) -> None:
    assert shares([["x"] * each for each in lengths], available) == given


def news(*states: Workload | None) -> list[str]:
    """The text for a Workload that goes through these states."""
    reported: list[ActivityEvent] = []
    found = QueueActivity(reported.append)
    found.follow()
    old = None
    for new in states:
        found.observe(old, new)
        old = new
    return [f"{each.what}: {each.detail}" if each.detail else each.what for each in reported]


def test_what_happens_to_a_job_is_reported_once() -> None:
    queued = workload("a")
    admitted = workload("a", condition("QuotaReserved"), condition("Admitted"), usage={})
    looked_at = workload("a", condition("QuotaReserved"), condition("Admitted"), condition("PodsReady"), usage={})
    evicted = workload("a", condition("Admitted", "False"), condition("Evicted", message="Preempted by another one"))
    again = workload("a", condition("Admitted", seconds=5), condition("Evicted", "False"), usage={})
    finished = workload("a", condition("Admitted", seconds=5), condition("Finished", reason="Succeeded"))
    assert news(queued, admitted, looked_at, evicted, again, finished, None) == [
        "queued: queue default",
        "admitted: by ClusterQueue default",
        "evicted: Preempted by another one",
        "admitted: by ClusterQueue default",
        "finished",
    ]


def test_a_failure_and_a_deletion_are_reported_as_such() -> None:
    failed = workload("a", condition("Finished", reason="Failed", message="BackoffLimitExceeded"))
    assert news(workload("a"), failed)[-1] == "failed: BackoffLimitExceeded"
    assert news(workload("a"), None)[-1] == "deleted"


def test_what_was_there_before_is_no_news() -> None:
    reported: list[ActivityEvent] = []
    found = QueueActivity(reported.append)
    found.observe(None, workload("a", condition("Admitted"), usage={}))
    found.follow()
    assert (reported, len(found.running)) == ([], 1)


def test_a_happening_is_one_line() -> None:
    line = ActivityEvent(NOW.astimezone(), "admitted", Role.GOOD, "default/train", "by ClusterQueue default").line()
    assert line == f"{CLOCK} admitted default/train: by ClusterQueue default"
