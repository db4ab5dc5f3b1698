"""The control plane itself: the permissions that it grants, and that jobs run on simulated nodes."""

import asyncio
import os
import re
import stat
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from cluster.binaries import versions
from cluster.client import JsonClient
from cluster.control_plane import ControlPlane
from cluster.kubectl import Kubectl
from cluster.nodes import simulated, simulated_nodes
from kit.virtual_time import eventually

Json = Any
PATIENCE = 60
JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


def job(name: str, *, pods: int = 1, selector: Json = None, **output: object) -> Json:
    spec = {
        "restartPolicy": "Never",
        "nodeSelector": selector or {},
        "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
    }
    notes = {f"kohort.dev/{key.replace('_', '-')}": str(value) for key, value in output.items()}
    template = {"metadata": {"annotations": notes}, "spec": spec}
    counts = {"parallelism": pods, "completions": pods, "backoffLimit": 0}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {**counts, "template": template},
    }


async def eventually_equal(read: Callable[[], Json], expected: Json) -> None:
    """Wait for a value; it is read in a thread, because the simulated nodes run on the loop."""
    await eventually(lambda: asyncio.to_thread(read), lambda found: found == expected)


def test_kubectl_and_the_server_report_the_pinned_version(kubectl: Kubectl) -> None:
    wanted = versions().kubernetes
    assert re.findall(r"(\w+) Version: (v1\S+)", kubectl("version").out) == [("Client", wanted), ("Server", wanted)]


def test_the_kubeconfig_is_for_its_owner_only(cluster: ControlPlane) -> None:
    assert stat.S_IMODE(os.stat(cluster.kubeconfig).st_mode) == 0o600


def test_a_user_may_do_what_a_role_grants_and_nothing_else(cluster: ControlPlane, admin: JsonClient) -> None:
    reader = JsonClient(cluster.user("rita", "readers"))
    assert reader.get("/api/v1/nodes").code == 403
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"}],
    }
    assert admin.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).accepted
    asyncio.run(eventually_equal(lambda: reader.get(PODS).code, 200))
    assert reader.post(JOBS, job("not-mine")).code == 403
    reader.close()


def test_a_service_account_gets_a_token_that_the_server_accepts(kubectl: Kubectl) -> None:
    token = kubectl("create", "token", "default").out.strip()
    review = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token},
    }
    printed = kubectl.create(review, "-o", "jsonpath={.status.user.username}")
    assert printed.out == "system:serviceaccount:default:default"


@pytest.mark.parametrize(("code", "counter"), [(0, "succeeded"), (3, "failed")])
async def test_a_job_runs_on_a_simulated_node_to_its_end(
    cluster: ControlPlane, admin: JsonClient, code: int, counter: str
) -> None:
    name = f"ends-with-{code}"
    async with simulated_nodes(cluster, simulated("one")):
        body = job(name, run_seconds=0.2, exit_code=code)
        assert (await asyncio.to_thread(admin.post, JOBS, body)).accepted
        await eventually_equal(lambda: admin.get(f"{JOBS}/{name}").body["status"].get(counter), 1)


async def test_a_job_without_an_end_runs_where_its_labels_lead(cluster: ControlPlane, admin: JsonClient) -> None:
    nodes = simulated("plain"), simulated("fast", {"speed": "high"})
    async with simulated_nodes(cluster, *nodes):
        body = job("lasting", pods=2, selector={"speed": "high"}, run_seconds="forever")
        await asyncio.to_thread(admin.post, JOBS, body)
        await eventually_equal(lambda: admin.get(f"{JOBS}/lasting").body["status"].get("ready"), 2)
        pods = admin.get(PODS, labelSelector="job-name=lasting").body["items"]
        assert {pod["spec"]["nodeName"] for pod in pods} == {"fast"}
        await asyncio.to_thread(admin.delete, f"{JOBS}/lasting", propagationPolicy="Foreground")
        await eventually_equal(lambda: admin.get(PODS, labelSelector="job-name=lasting").body["items"], [])


async def test_kubectl_reads_the_log_of_a_simulated_pod_and_follows_it_to_its_end(
    cluster: ControlPlane, admin: JsonClient, kubectl: Kubectl
) -> None:
    async with simulated_nodes(cluster, simulated("talking")):
        await asyncio.to_thread(admin.post, JOBS, job("talks", run_seconds=2))
        await eventually_equal(lambda: admin.get(f"{JOBS}/talks").body["status"].get("ready"), 1)
        printed = await asyncio.to_thread(kubectl, "logs", "--follow", "job/talks")
        first, second, third = printed.out.splitlines()
        assert "on node talking, run 1 is simulated: no process runs" in first
        assert (second, third) == ("kohort: runs for 2 s, then exits with 0", "kohort: exits with 0 (Completed)")


def test_a_cluster_leaves_neither_processes_nor_files_behind() -> None:
    with ControlPlane() as short:
        folder = short.logs.parent
        assert str(folder) in processes()
    assert str(folder) not in processes()
    assert not folder.exists()


def processes() -> str:
    return subprocess.run(["ps", "-eo", "args", "-ww"], capture_output=True, text=True, check=True).stdout
