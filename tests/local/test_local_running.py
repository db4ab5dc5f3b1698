"""A whole cluster in one process: queues that work, a visibility API, starter objects, one beside another."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from kit.virtual_time import eventually
from kohort.api.conditions import find, is_true
from kohort.api.core.batch import Job
from kohort.api.core.config_objects import Secret
from kohort.api.core.pods import Pod
from kohort.api.kueue.v1beta2 import ClusterQueue, Workload
from kohort.api.meta import ObjectKey
from kohort.embedded.auth.keyring import Keyring
from kohort.embedded.control_plane import LocalNodes
from kohort.embedded.nodes.declared import DeclaredNode, NodePool
from kohort.embedded.nodes.registration import NodeRegistration, NodeShutdownPolicy
from kohort.embedded.nodes.simulated.plans import Defaults
from kohort.embedded.nodes.simulated.runtime import SimulatedRuntime
from kohort.embedded.nodes.startup import AgentSettings
from kohort.insight.manager_settings import read_manager_settings
from kohort.install.manifests import manifests
from kohort.install.options import Options, default_integrations
from kohort.install.permissions import VISIBILITY_GROUP
from kohort.kube.client import Client
from kohort.kube.config import ConfigOverrides, load_client_config
from kohort.kube.errors import StatusError
from kohort.kube.http import HttpTransport
from kohort.kube.patches import ApplyPatch, MergePatch
from kohort.kube.rest_mapper import RestMapper
from kohort.kube.transport import Request
from kohort.local.cluster import ClusterSpec, LocalCluster, QueueSpec, Service, open_nodes, running_cluster
from kohort.local.directories import ClusterDirectory
from kohort.local.kubeconfigs import KubeconfigMerge
from kohort.local.local_manager import load, local_configuration
from kohort.local.ports import ListenAddress
from kohort.local.progress import SilentProgress
from kohort.local.runs import ClusterLock, PodsAfterStop, last_run
from kohort.webhooks.ca_targets import API_SERVICES
from kohort.webhooks.certificates import new_certificates, to_secret

PATIENCE = 60
STARTER = QueueSpec(has_starter=True)
QUEUE = "kueue.x-k8s.io/queue-name"
PENDING = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/default/pendingworkloads"


CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


@asynccontextmanager
async def cluster(
    place: ClusterDirectory | None = None,
    queues: QueueSpec | None = STARTER,
    shared: Path | None = None,
) -> AsyncIterator[tuple[LocalCluster, Client]]:
    """A cluster of two simulated nodes, and a client on a socket."""

    async def nodes_spec(_: Path) -> LocalNodes:
        registration = NodeRegistration(
            NodePool(2, "cpu=4,memory=8Gi,example.com/gpu=1").nodes(), leaving=NodeShutdownPolicy.KEEP
        )
        return LocalNodes(
            registration,
            lambda client: SimulatedRuntime(client.clock, Defaults(0.0, 0.2)),
            AgentSettings("simulated"),
        )

    context = place.context if place else "kohort"
    merge = KubeconfigMerge((shared,)) if shared is not None else None
    desired = ClusterSpec(
        place, ListenAddress(), nodes_spec, "simulated", PodsAfterStop.SIMULATED, queues, None, merge, context
    )
    async with asyncio.timeout(PATIENCE), running_cluster(desired, SilentProgress()) as found:
        client = Client(HttpTransport(load_client_config(ConfigOverrides(found.published.own, context))))
        try:
            yield found, client
        finally:
            await client.close()


def job(name: str, cpu: str = "1", gpus: str = "0", parallelism: int = 1) -> dict[str, Any]:
    requests = {"cpu": cpu, "example.com/gpu": gpus}
    container = {"name": "main", "image": "none", "resources": {"requests": requests, "limits": requests}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": name, "namespace": "default", "labels": {QUEUE: "default"}}
    return {
        "metadata": metadata,
        "spec": {"parallelism": parallelism, "completions": parallelism, "template": template},
    }


async def finished(client: Client) -> list[str]:
    """The jobs whose Workloads have finished."""
    workloads = (await client.of(Workload).list()).items
    done = (each for each in workloads if is_true(each.status.conditions, "Finished"))
    return sorted(each.metadata.owner_references[0].name for each in done)


async def test_a_job_is_queued_admitted_and_run_and_the_order_of_the_queue_can_be_listed() -> None:
    async with cluster() as (found, client):
        assert found.starter == ("Topology", "ResourceFlavor", "ClusterQueue", "LocalQueue")
        created = await client.of(Job.resource).create(job("fits"))
        assert created["spec"]["suspend"] is True
        await client.of(Job.resource).create(job("too-large", gpus="3"))
        await eventually(lambda: finished(client), lambda names: names == ["fits"])
        waiting: Any = await client.get_json(PENDING)
        assert [each["metadata"]["name"].startswith("job-too-large") for each in waiting["items"]] == [True]


async def test_a_gang_is_admitted_only_if_each_of_its_pods_fits_on_a_node() -> None:
    """The quota of 8 CPUs suffices for three pods of 2.5 CPUs, the two nodes of 4 CPUs have capacity for one each."""
    async with cluster() as (_, client):
        await client.of(Job.resource).create(job("three", cpu="2500m", parallelism=3))
        await client.of(Job.resource).create(job("two", cpu="2500m", parallelism=2))
        await eventually(lambda: finished(client), lambda names: names == ["two"])
        await eventually(
            lambda: pending_reason(client, "three"),
            lambda reason: 'topology "default" allows to fit only 2 out of 3 pod(s)' in reason,
        )


async def pending_reason(client: Client, name: str) -> str:
    """Why the Workload of a job waits; empty before that is written."""
    found = [each for each in (await client.of(Workload).list()).items if name in each.metadata.name]
    conditions = [find(each.status.conditions, "QuotaReserved") for each in found]
    return "".join(each.message for each in conditions if each is not None)


async def test_the_manifests_of_an_installation_apply_cleanly_except_for_a_second_manager() -> None:
    """`kohort install | kubectl apply --server-side -f -` on `kohort up`; jobs are queued as before."""
    refused: dict[str, str] = {}
    async with cluster() as (_, client):
        mapping = RestMapper(client)
        for each in manifests(Options()):
            resource = await mapping.resource(each["apiVersion"], each["kind"])
            key = ObjectKey(each["metadata"].get("namespace", ""), each["metadata"]["name"])
            try:
                await client.of(resource).apply(key, ApplyPatch(each), "kubectl")
            except StatusError as error:
                refused[each["kind"]] = error.message
        assert list(refused) == ["Deployment"]
        assert "this cluster has a built-in manager" in refused["Deployment"]
        await client.of(Job.resource).create(job("fits"))
        await eventually(lambda: finished(client), lambda names: names == ["fits"])
        assert (await client.get_json(PENDING))["items"] == []


async def test_the_visibility_api_is_verified_also_where_an_earlier_version_did_not(tmp_path: Path) -> None:
    place, name = ClusterDirectory("lab", tmp_path), f"v1beta2.{VISIBILITY_GROUP}"

    async def trust(client: Client) -> tuple[object, bool]:
        spec = (await client.of(API_SERVICES).get(("", name)))["spec"]
        assert (await client.get_json(PENDING))["items"] == []
        return spec.get("insecureSkipTLSVerify", False), bool(spec.get("caBundle"))

    async with cluster(place) as (_, client):
        assert await trust(client) == (False, True)
        former = {"spec": {"insecureSkipTLSVerify": True, "caBundle": None}}
        await client.of(API_SERVICES).patch(("", name), MergePatch(former))
        await client.of(Secret.resource).delete(("kueue-system", "kueue-webhook-server-cert"))
    async with cluster(place) as (_, client):
        assert await trust(client) == (False, True)


async def test_a_cluster_starts_also_when_the_clock_was_ahead_at_its_last_start(tmp_path: Path) -> None:
    place, ahead = ClusterDirectory("lab", tmp_path), datetime.now(UTC) + timedelta(days=2)
    async with cluster(place) as (_, client):
        kept = to_secret(new_certificates(["127.0.0.1"], ahead))
        data = {name: b64encode(content).decode() for name, content in kept.items()}
        await client.of(Secret.resource).patch(
            ("kueue-system", "kueue-webhook-server-cert"), MergePatch({"data": data})
        )
    rmtree(tmp_path / "keys")
    Keyring(tmp_path / "keys", ahead).ensure_serving(["127.0.0.1"], ahead)
    async with cluster(place) as (_, client):
        assert (await client.of(Job.resource).create(job("fits")))["spec"]["suspend"] is True
        assert (await client.get_json(PENDING))["kind"] == "PendingWorkloadsSummary"


async def test_a_starter_queue_is_as_large_as_the_nodes_and_stays_as_changed_by_users(tmp_path: Path) -> None:
    place = ClusterDirectory("lab", tmp_path)
    async with cluster(place) as (found, client):
        queue = await client.of(ClusterQueue).get(("", "default"))
        quotas = {each.name: each.nominal_quota for each in queue.spec.resource_groups[0].flavors[0].resources}
        assert quotas == {"cpu": "8", "memory": "16Gi", "example.com/gpu": "2", "pods": "220"}
        await client.of(ClusterQueue).patch(("", "default"), MergePatch({"spec": {"resourceGroups": []}}))
        address = found.url
    async with cluster(place) as (found, client):
        assert (found.starter, found.url) == ((), address)
        assert (await client.of(ClusterQueue).get(("", "default"))).spec.resource_groups == ()
    async with cluster(place, queues=None) as (found, _):
        assert found.manager is None
        assert "jobs are rejected until a manager runs: `kohort manager --kubeconfig" in found.warnings[0]


async def test_definitions_of_an_earlier_version_are_brought_up_to_date(tmp_path: Path) -> None:
    place = ClusterDirectory("lab", tmp_path)
    columns = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/clusterqueues.kueue.x-k8s.io"

    async def shown(client: Client) -> list[str]:
        definition: Any = await client.get_json(columns)
        return [each["name"] for each in definition["spec"]["versions"][-1]["additionalPrinterColumns"]]

    async with cluster(place) as (found, client):
        now = await shown(client)
        definition: Any = await client.get_json(columns)
        for version in definition["spec"]["versions"]:
            del version["additionalPrinterColumns"]
        from kohort.webhooks.ca_targets import DEFINITIONS

        await found.plane.client("old").of(DEFINITIONS).update(definition)
    (tmp_path / "definitions").write_text("of an earlier version\n")
    async with cluster(place) as (_, client):
        assert await shown(client) == now


async def test_user_roles_exist_as_on_any_cluster(tmp_path: Path) -> None:
    async with cluster(ClusterDirectory("kohort", tmp_path)) as (found, _):
        for name, kind in (("batch-admin", "clusterqueues"), ("batch-user", "workloads")):
            role: Any = await found.plane.client("user").get_json(f"{CLUSTER_ROLES}/kueue-{name}-role")
            assert any(kind in rule["resources"] for rule in role["rules"]), "gathered from the roles of kinds"


async def test_removed_objects_stay_removed_until_there_is_something_new(tmp_path: Path) -> None:
    taken = f"{CLUSTER_ROLES}/kueue-metrics-reader"
    async with cluster(ClusterDirectory("kohort", tmp_path)) as (_, client):
        await client.call(Request("DELETE", taken))
    async with cluster(ClusterDirectory("kohort", tmp_path)) as (_, client):
        with pytest.raises(StatusError, match="not found"):
            await client.get_json(taken)
    (tmp_path / "roles").write_text("of an earlier version\n")
    async with cluster(ClusterDirectory("kohort", tmp_path)) as (_, client):
        assert await client.get_json(taken)


async def test_two_clusters_share_a_kubeconfig(tmp_path: Path) -> None:
    shared = tmp_path / "config"
    one, other = ClusterDirectory("kohort", tmp_path / "one"), ClusterDirectory("lab", tmp_path / "other")
    async with cluster(one, None, shared) as (first, _), cluster(other, None, shared) as (second, _):
        assert load_client_config(ConfigOverrides(shared, "kohort")).server == first.url
        assert load_client_config(ConfigOverrides(shared, "kohort-lab")).server == second.url


def test_the_servers_of_the_manager_stay_on_this_machine() -> None:
    found = local_configuration(load(None).config, 4711)
    assert (found.webhook.host, found.webhook.port) == ("127.0.0.1", 4711)
    assert (found.metrics.bind_address, found.health.health_probe_bind_address) == ("127.0.0.1:0", "0")
    assert found.visibility_server is not None
    assert found.visibility_server.bind_address == "127.0.0.1"
    assert not found.leader_election.leader_elect


def test_certificates_that_others_would_mount_are_made_here(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\ninternalCertManagement: {enable: false}\n"
    )
    assert (
        local_configuration(load(file).config, 4711).internal_cert_management
        == load(None).config.internal_cert_management
    )


def test_choices_in_the_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        "metrics: {bindAddress: ':9090'}\nclientConnection: {qps: 7}\nmanageJobsWithoutQueueName: true\n"
    )
    found = local_configuration(load(file).config, 4711)
    assert (found.metrics.bind_address, found.client_connection.qps) == (":9090", 7)
    assert found.manage_jobs_without_queue_name


async def test_commands_use_the_settings_of_the_manager(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
        "fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare]}\n"
    )
    place = ClusterDirectory("lab", tmp_path / "lab")
    async with cluster(place, QueueSpec(file, has_starter=False)) as (_, client):
        assert (await read_manager_settings(client)).settings.fair
    async with cluster(place, QueueSpec(None, has_starter=False)) as (_, client):
        assert not (await read_manager_settings(client)).settings.fair


def test_without_a_file_the_frameworks_are_those_of_an_installation() -> None:
    assert load(None).config.integrations.frameworks == tuple(default_integrations())


@pytest.mark.parametrize(
    ("tainted", "counted"), [(("",), ["n0"]), (("NoSchedule", ""), ["n1"]), (("NoExecute", "NoSchedule"), ["n0", "n1"])]
)
def test_nodes_that_keep_pods_out_are_not_counted_unless_all_do(tainted: tuple[str, ...], counted: list[str]) -> None:
    from kohort.api.meta import Taint

    nodes = tuple(
        DeclaredNode(f"n{index}", {"cpu": "1"}, taints=(Taint(key="k", effect=effect),) if effect else ())
        for index, effect in enumerate(tainted)
    )
    assert [each.name for each in open_nodes(nodes)] == counted


async def test_pods_that_run_on_are_counted_also_without_a_terminal(tmp_path: Path) -> None:
    place = ClusterDirectory("lab", tmp_path)

    async def nodes_spec(_: Path) -> LocalNodes:
        registration = NodeRegistration(NodePool(1).nodes(), leaving=NodeShutdownPolicy.KEEP)
        runtime = Defaults(0.0, 1000.0)
        return LocalNodes(
            registration, lambda client: SimulatedRuntime(client.clock, runtime), AgentSettings("simulated")
        )

    async def closed_terminal(found: LocalCluster, _: asyncio.Event) -> None:
        client = found.plane.client("user")
        await client.of(Job.resource).create(job("long"))
        while [each.status.phase for each in (await client.of(Pod).list()).items] != ["Running"]:
            await asyncio.sleep(0.02)
        raise OSError(5, "Input/output error")

    claim = ClusterLock.take(place)
    desired = ClusterSpec(
        place, ListenAddress(), nodes_spec, "simulated", PodsAfterStop.LEFT, None, context=place.context
    )
    service = Service(desired, claim, SilentProgress(), closed_terminal)
    with pytest.raises(OSError, match="Input/output"):
        await service.work(asyncio.Event(), asyncio.Event())
    claim.release()
    found = last_run(place)
    assert found is not None
    assert found.ended is not None
    assert found.ended.running_pods == 1
