from datetime import timedelta

from msgspec.structs import replace

from engine.lifecycle.queues import queue
from engine.lifecycle.sample_workloads import at, having, rule
from kohort.api.config.common import ObjectRetentionPolicies, RequeuingStrategy, WorkloadRetention
from kohort.api.config.v1beta2 import Configuration, WaitForPodsReady
from kohort.api.gates import DEFAULT_GATES, Gate
from kohort.api.kueue.v1beta2 import LocalQueue
from kohort.api.kueue.v1beta2.queues import LocalQueueSpec
from kohort.api.meta import ObjectMeta
from kohort.engine.lifecycle.activity import QueueReferences, with_cluster_queue_activity
from kohort.engine.lifecycle.reconcile_context import (
    ClusterQueueContext,
    LifecyclePolicies,
    LocalQueueContext,
    ReadinessPolicy,
    cluster_queue_facts,
    local_queue_facts,
    policies_of,
)


def test_a_configuration_becomes_policies() -> None:
    """SCH-1030, SCH-1061"""
    configuration = Configuration(
        wait_for_pods_ready=WaitForPodsReady(
            timeout="5m0s",
            recovery_timeout="0s",
            requeuing_strategy=RequeuingStrategy(
                backoff_base_seconds=10, backoff_max_seconds=20, backoff_limit_count=3
            ),
        ),
        object_retention_policies=ObjectRetentionPolicies(workloads=WorkloadRetention(after_finished="1h0m0s")),
    )
    assert policies_of(configuration, DEFAULT_GATES) == LifecyclePolicies(
        ReadinessPolicy(timedelta(minutes=5), timedelta(0), 10, 20, 3), timedelta(hours=1)
    )


def test_the_defaults_are_those_of_the_configuration() -> None:
    """SCH-1030"""
    half_an_hour = timedelta(minutes=30)
    expected = ReadinessPolicy(half_an_hour, half_an_hour, 60, 3600, None)
    assert policies_of(Configuration(wait_for_pods_ready=WaitForPodsReady()), DEFAULT_GATES) == LifecyclePolicies(
        expected
    )


def test_waiting_for_pods_can_be_turned_off() -> None:
    """SCH-1030"""
    off = having(Gate.DisableWaitForPodsReady)
    assert policies_of(Configuration(wait_for_pods_ready=WaitForPodsReady()), off).readiness is None
    assert policies_of(Configuration(), DEFAULT_GATES).readiness is None


def test_a_cluster_queue_becomes_facts() -> None:
    cq = queue("a", "b", checks=(rule("c"),), stop_policy="Hold")
    assert cluster_queue_facts(cq) == ClusterQueueContext("Hold", False, False, ("a", "b"), (rule("c"),))
    ready = with_cluster_queue_activity(queue(), QueueReferences(), at(0))
    assert cluster_queue_facts(ready).admits
    going = replace(ready, metadata=replace(ready.metadata, deletion_timestamp=at(1)))
    assert not cluster_queue_facts(going).admits


def test_a_local_queue_becomes_facts() -> None:
    lq = LocalQueue(metadata=ObjectMeta(deletion_timestamp=at(0)), spec=LocalQueueSpec(cluster_queue="q"))
    assert local_queue_facts(lq) == LocalQueueContext("q", "None", is_terminating=True)
