"""The doctor as a whole: all checks at once, as far as rights reach, at any size."""

import time
from dataclasses import replace

from insight.cluster_access import client_of, grant_read, unprivileged_user
from insight.doctor_snapshots import QUEUE, check_by_id, cluster_queue, job, owned_by, running, snapshot, workload
from kit.builders.core import make_namespace, make_node
from kit.builders.kueue import make_local_queue, make_resource_flavor
from kit.kueue_apiserver import running_kueue_apiserver
from kohort.api.fields import ROOT
from kohort.api.unsupported import Notice
from kohort.insight.doctor.model import CheckSeverity
from kohort.insight.doctor.runner import CHECKS, EXTRA_KINDS, run_checks
from kohort.insight.listing import IncompleteKind
from kohort.insight.manager_settings import ObservedSettings
from kohort.insight.snapshot import take_snapshot

HEALTHY = (
    make_namespace("default"),
    make_node(),
    make_resource_flavor(),
    cluster_queue(),
    make_local_queue(),
    workload(),
    running("r", metadata=owned_by("Job", "j")),
    job("j", {QUEUE: "lq"}, {"active": 1, "ready": 1}),
)


def test_a_healthy_cluster_is_left_in_peace() -> None:
    report = run_checks(snapshot(*HEALTHY))
    assert [(each.check.id, each.affected) for each in report.findings] == []
    assert (report.completed, report.skipped) == (CHECKS, ())


def test_an_empty_cluster_is_healthy() -> None:
    assert run_checks(snapshot()).findings == ()


def test_the_worst_comes_first() -> None:
    report = run_checks(snapshot(make_resource_flavor("unused"), make_local_queue("lq", "nowhere"), job()))
    found = [each.check.severity for each in report.findings]
    assert found == sorted(found, key=lambda each: each.rank)
    assert {*found} == {*CheckSeverity}


def test_ids_are_unique_and_every_check_is_documented() -> None:
    assert len({each.id for each in CHECKS}) == len(CHECKS)
    for each in CHECKS:
        assert each.id == each.id.lower()
        assert each.title
        assert each.consequence


def test_what_rests_on_kinds_that_one_may_not_see_is_left_out() -> None:
    report = run_checks(snapshot(*HEALTHY, unseen=[IncompleteKind("Node", "no")]))
    assert {each.id for each in report.skipped} == {
        "flavor-without-nodes",
        "quota-above-nodes",
        "flavors-share-nodes",
        "untolerated-taint",
        "pod-larger-than-nodes",
        "node-without-flavor",
        "node-without-level-label",
        "topology-level-ambiguous",
        "hostname-differs",
    }
    assert [each.kind for each in report.unseen] == ["Node"]


def test_a_part_is_enough_where_more_could_change_nothing_and_not_where_it_could() -> None:
    report = run_checks(snapshot(cluster_queue(), unseen=[IncompleteKind("LocalQueue", "no", seen_in="default")]))
    assert "queue-unused" in {each.id for each in report.skipped}, "another namespace may point to it"
    assert "local-queue-nowhere" in {each.id for each in report.completed}


def test_a_kind_that_the_server_does_not_have_stops_no_check() -> None:
    report = run_checks(
        snapshot(*HEALTHY, unseen=[IncompleteKind("Topology", "the server has no such kind", code=404)])
    )
    assert (report.skipped, report.unseen, report.findings) == ((), (), ())


async def test_a_user_of_one_namespace_gets_what_can_be_known_there() -> None:
    ann = unprivileged_user()
    async with running_kueue_apiserver() as cluster:
        await grant_read(cluster, ann, "workloads", "localqueues", "jobs", namespace="default")
        await cluster.create({**make_local_queue(), "metadata": {"name": "lq", "namespace": "default"}})
        for each in (workload("w", "typo"), job()):
            await cluster.create({key: value for key, value in each.items() if key != "status"})
        found = await take_snapshot(client_of(cluster, ann), EXTRA_KINDS, "default")
    report = run_checks(found)
    assert {each.check.id for each in report.findings} == {"queue-missing", "job-without-queue"}
    assert {"ClusterQueue", "Node"} <= {each.kind for each in report.unseen}
    assert "flavor-without-nodes" in {each.id for each in report.skipped}


def test_the_cost_grows_with_the_number_of_workloads_and_no_faster() -> None:
    def seconds(number: int) -> float:
        many = snapshot(
            *HEALTHY,
            *(workload(f"w{n}", f"lq{n % 50}", 20, requests={"cpu": "1", "memory": "1Gi"}) for n in range(number)),
            *(running(f"r{n}", metadata=owned_by("Job", f"j{n}")) for n in range(number)),
            *(job(f"j{n}", {QUEUE: "lq"}) for n in range(number)),
            *(make_local_queue(f"lq{n}") for n in range(50)),
        )
        begin = time.process_time()
        report = run_checks(many)
        assert len(report.findings) > number
        return time.process_time() - begin

    small, large = seconds(250), seconds(2000)
    assert large < 8 * small * 3, f"{small:.3f} s, then {large:.3f} s for eight times as many"


def test_settings_without_effect_are_found_in_the_configuration() -> None:
    notice = Notice(ROOT / "multiKueue" / "dispatcherName", "the setting has no effect")
    seen = replace(snapshot(), rules=ObservedSettings(unsupported=(notice,)))
    (finding,) = run_checks(seen, [check_by_id("feature-unsupported")]).findings
    assert str(finding.affected.subject) == "ConfigMap kueue-system/kueue-manager-config"
    assert finding.affected.problem == "multiKueue.dispatcherName: the setting has no effect"
    assert finding.affected.fix.startswith("remove multiKueue.dispatcherName")
