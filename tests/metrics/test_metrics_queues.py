"""Series follow their queue: its labels, whether it is reported, its end (API-143…145)."""

import pytest

from kohort.api.config.common import LocalQueueMetrics
from kohort.api.config.loading import default_configuration
from kohort.api.config.v1beta2 import Configuration, CustomLabel, Metrics
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.kueue.v1beta2.workload import WorkloadSpec
from kohort.api.meta import LabelSelector, ObjectMeta
from kohort.metrics import KueueMetrics, MetricsRegistry
from kohort.metrics.families import LabelError
from kohort.metrics.registry import DuplicateMetricError
from kohort.metrics.scopes import UNTRACKED

LABELLED = FeatureGates(DEFAULT_GATES.on | {Gate.CustomMetricLabels})


def metrics(settings: Metrics | None = None, gates: FeatureGates = DEFAULT_GATES) -> KueueMetrics:
    configuration = default_configuration() if settings is None else Configuration(metrics=settings)
    return KueueMetrics(MetricsRegistry(), configuration, gates, lambda: "standalone")


def lines(of: KueueMetrics, name: str) -> list[str]:
    return [line for line in of.registry.render().decode().splitlines() if line.startswith(name + "{")]


def test_a_deleted_cluster_queue_leaves_no_series() -> None:
    subject = metrics()
    for queue in ("a", "b"):
        subject.admitted_workloads_total.inc(cluster_queue=queue, priority_class="")
        subject.preempted_workloads_total.inc(preempting_cluster_queue=queue, reason="InClusterQueue")
    subject.drop_cluster_queue("a")
    assert lines(subject, "kueue_admitted_workloads_total") == [
        'kueue_admitted_workloads_total{cluster_queue="b",priority_class="",replica_role="standalone"} 1'
    ]
    assert len(lines(subject, "kueue_preempted_workloads_total")) == 1


def test_a_deleted_local_queue_and_cohort_leave_no_series() -> None:
    subject = metrics()
    subject.local_queue.pending_workloads.set(3, name="lq", namespace="ns", status="active")
    subject.cohort.subtree_quota.set(8, cohort="all", flavor="gpu", resource="cpu")
    subject.drop_local_queue("ns", "lq")
    subject.drop_cohort("all")
    assert b"local_queue" not in subject.registry.render()
    assert b"cohort" not in subject.registry.render()


def test_a_local_queue_that_the_selector_leaves_out_is_not_reported() -> None:
    chosen = LabelSelector(match_labels={"team": "red"})
    subject = metrics(Metrics(local_queue_metrics=LocalQueueMetrics(enable=True, local_queue_selector=chosen)))
    subject.update_local_queue("ns", "red", {"team": "red"})
    subject.update_local_queue("ns", "blue", {"team": "blue"})
    for queue in ("red", "blue"):
        subject.local_queue.reserving_active_workloads.set(1, name=queue, namespace="ns")
    assert ['name="red"' in line for line in lines(subject, "kueue_local_queue_reserving_active_workloads")] == [True]
    subject.update_local_queue("ns", "red", {"team": "blue"})
    assert not lines(subject, "kueue_local_queue_reserving_active_workloads")


def test_no_local_queue_is_reported_where_the_file_specifies_it() -> None:
    subject = metrics(Metrics(local_queue_metrics=LocalQueueMetrics()))
    subject.local_queue.reserving_active_workloads.set(1, name="lq", namespace="ns")
    assert not lines(subject, "kueue_local_queue_reserving_active_workloads")


def test_custom_labels_follow_the_object_that_they_are_taken_from() -> None:
    wanted = (CustomLabel(name="team"), CustomLabel(name="tier", source_annotation_key="t", tracked_values=("gold",)))
    subject = metrics(Metrics(custom_labels=wanted), LABELLED)
    subject.admitted_active_workloads.set(2, cluster_queue="q")
    subject.update_cluster_queue("q", {"team": "red"}, {"t": "gold"})
    assert 'custom_team="red",custom_tier="gold",replica_role' in lines(subject, "kueue_admitted_active_workloads")[0]
    subject.update_cluster_queue("q", {"team": "blue"}, {"t": "tin"})
    line = lines(subject, "kueue_admitted_active_workloads")
    assert len(line) == 1
    assert f'custom_team="blue",custom_tier="{UNTRACKED}"' in line[0]


def test_what_was_counted_under_other_custom_labels_is_gone() -> None:
    subject = metrics(Metrics(custom_labels=(CustomLabel(name="team"),)), LABELLED)
    for queue in ("q", "other"):
        subject.update_cluster_queue(queue, {"team": "red"})
        subject.admitted_workloads_total.inc(cluster_queue=queue, priority_class="")
        subject.admission_wait_time_seconds.observe(1, cluster_queue=queue, priority_class="")
        subject.preempted_workloads_total.inc(preempting_cluster_queue=queue, reason="InClusterQueue")
        subject.reserving_active_workloads.set(1, cluster_queue=queue)
    subject.update_cluster_queue("q", {"team": "red", "unheard": "of"})
    assert len(lines(subject, "kueue_admitted_workloads_total")) == 2
    subject.update_cluster_queue("q", {"team": "blue"})
    for name in ("admitted_workloads_total", "admission_wait_time_seconds_count", "preempted_workloads_total"):
        (line,) = lines(subject, f"kueue_{name}")
        assert 'cluster_queue="other"' in line
    assert len(lines(subject, "kueue_reserving_active_workloads")) == 2


def test_labels_of_workloads_are_labels_of_those_series_that_count_workloads() -> None:
    wanted = CustomLabel(name="user", source_kind="Workload", source_label_key="u", tracked_values=("ann",))
    subject = metrics(Metrics(custom_labels=(wanted,)), LABELLED)
    ann, other = (
        subject.labels_of(Workload(metadata=ObjectMeta(name="w", labels={"u": user}), spec=WorkloadSpec(pod_sets=())))
        for user in ("ann", "bob")
    )
    assert (ann, other) == ({"custom_user": "ann"}, {"custom_user": UNTRACKED})
    both = (subject.pending_workloads, subject.local_queue.pending_workloads)
    states = (*both, subject.admitted_active_workloads, subject.local_queue.admitted_active_workloads)
    admissions = (subject.local_queue.admitted_workloads_total, subject.local_queue.admission_wait_time_seconds)
    labelled = [each for each in subject.registry.families() if "custom_user" in each.labels]
    assert {each.name for each in labelled} == {each.name for each in (*states, *admissions)}


def test_without_the_gate_nothing_is_reported_of_custom_labels() -> None:
    subject = metrics(Metrics(custom_labels=(CustomLabel(name="user", source_kind="Workload"),)))
    assert not subject.has_workload_labels
    assert subject.pending_workloads.labels == ("cluster_queue", "status")


def test_the_role_is_the_one_that_the_replica_has_now() -> None:
    role = ["follower"]
    subject = KueueMetrics(MetricsRegistry(), default_configuration(), DEFAULT_GATES, lambda: role[0])
    subject.pending_workloads.set(1, cluster_queue="q", status="active")
    role[0] = "leader"
    (line,) = lines(subject, "kueue_pending_workloads")
    assert 'replica_role="leader"' in line


def test_values_that_would_break_the_page_are_quoted() -> None:
    subject = metrics()
    subject.pending_workloads.set(1, cluster_queue='a"b\\c\nd', status="active")
    (line,) = lines(subject, "kueue_pending_workloads")
    assert r'cluster_queue="a\"b\\c\nd"' in line


def test_labels_that_a_family_does_not_have_are_refused() -> None:
    subject = metrics()
    with pytest.raises(LabelError, match="needs label 'status'"):
        subject.pending_workloads.set(1, cluster_queue="q")
    with pytest.raises(LabelError, match="no labels"):
        subject.pending_workloads.set(1, cluster_queue="q", status="active", other="x")


def test_a_name_is_taken_once() -> None:
    registry = MetricsRegistry()
    registry.gauge("up", "Whether it is up.")
    with pytest.raises(DuplicateMetricError):
        registry.counter("up", "Ups.")
