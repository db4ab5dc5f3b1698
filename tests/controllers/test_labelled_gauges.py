"""Series of queues by labels of their Workloads (API-145)."""

from kit.apiserver import Object
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.manager import running_manager_harness, workload_counts
from kohort.api.codec import from_json
from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.controllers.context import ManagerSettings
from kohort.metrics.scopes import UNTRACKED

USERS = {"name": "user", "sourceKind": "Workload", "sourceAnnotationKey": "example.com/u", "trackedValues": ["ann"]}
LABELLED = ManagerSettings(
    from_json({"metrics": {"customLabels": [USERS], "localQueueMetrics": {"enable": True}}}, Configuration),
    FeatureGates(DEFAULT_GATES.on | {Gate.CustomMetricLabels}),
)
OWNERS = ({"cluster_queue": "q"}, {"name": "l", "namespace": "default"})
ANN, OTHERS = {"custom_user": "ann"}, {"custom_user": UNTRACKED}


def of(user: str, name: str) -> Object:
    made = make_workload(name, "l")
    made["metadata"]["annotations"] = {"example.com/u": user}
    return made


async def test_running_and_pending_workloads_are_counted_by_their_labels() -> None:
    async with running_manager_harness(LABELLED) as harness:
        await harness.create(make_resource_flavor(), make_cluster_queue("q"), make_local_queue("l", "q"))
        await harness.create(of("ann", "a"), of("bob", "b"))
        await harness.wait_for(lambda queue: workload_counts(queue) == (0, 2, 2), "ClusterQueue", "q")
        await harness.create(of("ann", "c"), of("cat", "d"), of("dan", "e"))
        await harness.wait_for(lambda queue: workload_counts(queue) == (3, 2, 2), "ClusterQueue", "q")
        await harness.advance(20)
        metrics = harness.context.metrics
        for series, owner in zip((metrics, metrics.local_queue), OWNERS, strict=True):
            assert [series.admitted_active_workloads.value(**owner, **each) for each in (ANN, OTHERS)] == [1, 1]
            waiting = [series.pending_workloads.value(status="inadmissible", **owner, **each) for each in (ANN, OTHERS)]
            assert waiting == [1, 2]
        counted = [
            metrics.local_queue.admitted_workloads_total.value(priority_class="", **OWNERS[1], **each)
            for each in (ANN, OTHERS)
        ]
        assert counted == [1, 1]
        assert metrics.local_queue.admission_wait_time_seconds.count(priority_class="", **OWNERS[1], **ANN) == 1
        assert metrics.admitted_workloads_total.value(cluster_queue="q", priority_class="") == 2


async def test_no_series_stays_of_workloads_that_are_gone() -> None:
    async with running_manager_harness(LABELLED) as harness:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("q"), make_local_queue("l", "q"), of("ann", "a")
        )
        await harness.wait_for(lambda queue: workload_counts(queue) == (0, 1, 1), "ClusterQueue", "q")
        await harness.advance(20)
        assert harness.context.metrics.admitted_active_workloads.value(cluster_queue="q", **ANN) == 1
        await harness.finish("a")
        await harness.advance(20)
        for series, owner in zip((harness.context.metrics, harness.context.metrics.local_queue), OWNERS, strict=True):
            assert series.admitted_active_workloads.value(**owner, **ANN) is None
