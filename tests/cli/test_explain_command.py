"""`kohort explain` takes the name of a job, a Workload or a pod, and prints its report as text, JSON or YAML."""

import json
from pathlib import Path

from insight.cluster_access import grant_read, unprivileged_user, wait_for_admission
from jobs.job_manager_harness import running_job_harness
from kit.apiserver import Object
from kit.builders.batch import make_job
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.commands import running_command_runner
from kit.kueue_apiserver import running_kueue_apiserver
from kit.manager import running_manager_harness


def pod_of(owner: Object) -> Object:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "controller": True}
    own = {**reference, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "etl-x7k2p", "namespace": "default", "ownerReferences": [own]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


async def test_a_job_its_pod_and_its_workload_lead_to_the_same_report(tmp_path: Path) -> None:
    async with running_job_harness() as harness, running_command_runner(harness.server, tmp_path) as user:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("cq"), make_local_queue("lq", "cq"), make_job("etl", "lq", "99")
        )
        await harness.settle()
        await harness.create(pod_of(await harness.job("etl")))
        by_job, by_pod = await user.run("explain", "etl"), await user.run("explain", "pod/etl-x7k2p")
        name = json.loads((await user.run("explain", "job/etl", "-o", "json")).out)["workload"]["name"]
        by_workload = await user.run("explain", name)
    assert by_job.code == 0, by_job.err
    assert by_job.lines[0] == "job/etl"
    assert "It requests more than the queue can ever provide" in by_job.out
    assert by_job.lines[2:4] == by_pod.lines[2:4] == by_workload.lines[2:4]


async def test_containers_that_could_not_be_started_are_shown(tmp_path: Path) -> None:
    reason = {"exitCode": 128, "reason": "StartError", "message": "container c has no command"}
    status = {"phase": "Failed", "containerStatuses": [{"name": "c", "state": {"terminated": reason}}]}
    shown = "Container c of pod etl-x7k2p failed to start (StartError): container c has no command"
    async with running_job_harness() as harness, running_command_runner(harness.server, tmp_path) as user:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("cq"), make_local_queue("lq", "cq"), make_job("etl", "lq")
        )
        await harness.create(make_job("free", ""))
        await harness.settle()
        for job, name in (("etl", "etl-x7k2p"), ("free", "free-b8vq4")):
            made = pod_of(await harness.job(job))
            made["metadata"] |= {"name": name, "labels": {"batch.kubernetes.io/job-name": job}}
            await harness.create(made)
            path = f"/api/v1/namespaces/default/pods/{name}/status"
            assert (await harness.server.merge(path, {"status": status})).status == 200
        by_job, by_pod = await user.run("explain", "job/etl"), await user.run("explain", "pod/etl-x7k2p")
        data = json.loads((await user.run("explain", "job/etl", "-o", "json")).out)
        free = await user.run("explain", "job/free")
    assert shown in by_job.lines, by_job.out
    assert shown in by_pod.lines
    assert data["notes"] == [shown]
    assert any("pod free-b8vq4 failed to start" in line for line in free.lines)


async def test_without_permission_to_list_pods_the_rest_is_explained(tmp_path: Path) -> None:
    ann = unprivileged_user()
    async with running_job_harness() as harness, running_command_runner(harness.server, tmp_path, ann) as user:
        await grant_read(harness.server, ann, "workloads", "localqueues", "jobs", namespace="default")
        await harness.create(
            make_resource_flavor(), make_cluster_queue("cq"), make_local_queue("lq", "cq"), make_job("etl", "lq")
        )
        await harness.settle()
        ended = await user.run("explain", "job/etl")
    assert ended.code == 0, ended.err
    assert ended.lines[0] == "job/etl"


async def test_several_objects_are_explained_one_after_the_other(tmp_path: Path) -> None:
    async with running_manager_harness() as harness, running_command_runner(harness.server, tmp_path) as user:
        await harness.create(
            make_resource_flavor(), make_cluster_queue("cq"), make_local_queue("lq", "cq"), make_workload("a", "lq")
        )
        await wait_for_admission(harness, "a")
        await harness.create(make_workload("b", "nowhere"))
        await harness.advance(3)
        output, data = await user.run("explain", "a", "b"), await user.run("explain", "a", "b", "-o", "yaml")
    assert [line for line in output.lines if line.startswith("workload/")] == ["workload/a", "workload/b"]
    assert data.out.count("subject:") == 2


async def test_a_job_that_is_not_queued_is_reported_with_cause_and_remedy(tmp_path: Path) -> None:
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        await cluster.create(make_local_queue("team-a", "cq"))
        await cluster.create(make_job("free", ""))
        await cluster.create(make_job("astray", "taem-a"))
        free, astray = await user.run("explain", "free"), await user.run("explain", "astray")
    assert "Not queued: it has no label kueue.x-k8s.io/queue-name" in free.out
    assert "available: team-a" in free.out
    assert "It references LocalQueue taem-a, but has no Workload." in astray.out
    assert "LocalQueue taem-a not found in namespace default: did you mean team-a?" in astray.out


async def test_a_mistyped_name_leads_to_the_one_meant(tmp_path: Path) -> None:
    async with running_kueue_apiserver() as cluster, running_command_runner(cluster, tmp_path) as user:
        await cluster.create(make_job("pretrain"))
        ended = await user.run("explain", "pertrain")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "did you mean pretrain?" in ended.err
