"""A snapshot has the state of the cluster's manager, as far as permissions allow, and lists what is missing."""

import pytest

from insight.cluster_access import client_of, grant_read, in_namespace, unprivileged_user, wait_for_admission
from kit.apiserver import running_apiserver
from kit.builders.core import make_namespace
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.kueue_apiserver import running_kueue_apiserver
from kit.manager import running_manager_harness
from kohort.api.core.namespaces import Namespace
from kohort.api.core.nodes import Node
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, Workload
from kohort.api.meta import ObjectKey
from kohort.api.resource import Resource
from kohort.engine.explain import WorkloadPhase
from kohort.insight.snapshot import DECIDING, take_snapshot
from kohort.kube.errors import StatusError

CONFIGURATION = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)


def test_all_that_an_engine_takes_is_read_workloads_first() -> None:
    assert DECIDING[0] is Workload
    assert len(DECIDING) == len(set(DECIDING)) > 5


async def test_the_engine_explains_as_the_manager_decided() -> None:
    async with running_manager_harness() as harness:
        await harness.create(make_resource_flavor(), make_cluster_queue("cq", "2"), make_local_queue("lq", "cq"))
        await harness.create(make_workload("first", "lq", "2"))
        await wait_for_admission(harness, "first")
        await harness.create(make_workload("second", "lq", "1"))
        await harness.advance(3)
        found = await take_snapshot(client_of(harness.server))
    assert found.unseen == ()
    assert found.engine.explain(ObjectKey("default", "first"), found.taken).state is WorkloadPhase.ADMITTED
    second = found.engine.explain(ObjectKey("default", "second"), found.taken)
    assert second.evaluation is not None
    assert "insufficient unused quota for cpu in flavor f, 1 more needed" in second.message


async def test_objects_are_found_by_kind_and_key() -> None:
    async with running_kueue_apiserver() as cluster:
        for each in (make_resource_flavor(), make_cluster_queue("cq"), make_local_queue("lq", "cq")):
            await cluster.create(each)
        found = await take_snapshot(client_of(cluster), [Node, JOBS])
    assert found.of(ClusterQueue)["", "cq"].metadata.name == "cq"  # type: ignore[index]
    assert found.of(LocalQueue)["default", "lq"].spec.cluster_queue == "cq"  # type: ignore[index]
    assert found.of(Node) == {}
    assert found.of(JOBS) == {}


async def test_a_cluster_without_the_kinds_of_kueue_differs_from_an_empty_one() -> None:
    async with running_apiserver() as cluster:
        with pytest.raises(StatusError) as raised:
            await take_snapshot(client_of(cluster))
    assert raised.value.is_not_found
    assert not raised.value.details.get("name")


async def test_without_cluster_permissions_the_own_namespace_is_read_and_the_rest_is_reported() -> None:
    ann = unprivileged_user()
    async with running_kueue_apiserver() as cluster:
        await grant_read(cluster, ann, "workloads", "localqueues", namespace="default")
        await cluster.create(make_namespace("other"))
        for each in (
            make_resource_flavor(),
            make_cluster_queue("cq"),
            make_local_queue("lq", "cq"),
            make_workload("mine", "lq"),
        ):
            await cluster.create(each)
        await cluster.create(in_namespace(make_workload("theirs", "lq"), "other"))
        found = await take_snapshot(client_of(cluster, ann), home="default")
    assert list(found.of(Workload)) == [("default", "mine")]
    assert list(found.of(Namespace)) == [("", "default")]
    assert not found.can_evaluate
    seen = {each.kind: each.seen_in for each in found.unseen}
    assert seen["Workload"] == "default"
    assert seen["ClusterQueue"] == ""
    assert seen["Configuration"] == ""


async def test_the_managers_configuration_counts() -> None:
    text = f"{CONFIGURATION}fairSharing: {{preemptionStrategies: [LessThanOrEqualToFinalShare]}}"
    async with running_kueue_apiserver() as cluster:
        await cluster.create(make_namespace("kueue-system"))
        await cluster.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
                "data": {"controller_manager_config.yaml": text},
            }
        )
        found = await take_snapshot(client_of(cluster))
    assert found.settings.fair is not None
    assert found.unseen == ()


async def test_an_unreadable_configuration_is_reported_and_the_defaults_apply() -> None:
    async with running_kueue_apiserver() as cluster:
        await cluster.create(make_namespace("kueue-system"))
        await cluster.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
                "data": {"controller_manager_config.yaml": "kind: [what"},
            }
        )
        found = await take_snapshot(client_of(cluster))
    assert [each.kind for each in found.unseen] == ["Configuration"]
