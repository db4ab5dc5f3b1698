"""The stand-ins for KubeRay."""

from jobs.ray_objects import cluster_spec, pod_template, worker_group
from kit.apiserver import Object
from operators.harness import running_operator_harness, variables

RAY_CLUSTERS = "ray.io/v1/rayclusters"
JOBS = "batch/v1/jobs"


def make_ray(kind: str, name: str, **spec: object) -> Object:
    head = {"name": name, "namespace": "default", "labels": {"team": "a"}}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": head, "spec": spec}


def by_group(pods: list[Object]) -> dict[str, list[Object]]:
    """The pods of each group."""
    found: dict[str, list[Object]] = {}
    for pod in pods:
        found.setdefault(pod["metadata"]["labels"]["ray.io/group"], []).append(pod)
    return found


async def test_the_pods_of_a_cluster_have_labels_and_addresses_as_kuberay_gives_them() -> None:
    async with running_operator_harness("ray") as harness:
        head = pod_template(restartPolicy="Always")
        groups = (worker_group(replicas=2, numOfHosts=2), worker_group("idle", replicas=1, suspend=True))
        cluster = await harness.create(make_ray("RayCluster", "lab", **cluster_spec(*groups, head=head)))
        pods = by_group(await harness.run_all())
        assert {name: len(found) for name, found in pods.items()} == {"headgroup": 1, "workers": 4}
        [head_pod], worker = pods["headgroup"], pods["workers"][0]
        assert head_pod["metadata"]["name"].startswith("lab-head-")
        assert worker["metadata"]["name"].startswith("lab-workers-worker-")
        assert worker["metadata"]["labels"] == {
            "ray.io/is-ray-node": "yes",
            "ray.io/cluster": "lab",
            "ray.io/node-type": "worker",
            "ray.io/group": "workers",
            "ray.io/identifier": "lab-worker",
            "app.kubernetes.io/name": "kuberay",
            "app.kubernetes.io/created-by": "kuberay-operator",
        }
        found = variables(worker)
        address = "lab-head-svc.default.svc.cluster.local"
        assert (found["FQ_RAY_IP"], found["RAY_IP"]) == (address, "lab-head-svc")
        assert (found["RAY_PORT"], found["RAY_ADDRESS"]) == ("6379", f"{address}:6379")
        assert {"RAY_CLUSTER_NAME", "RAY_NODE_TYPE_NAME", "RAY_CLOUD_INSTANCE_ID"} <= found.keys()
        assert variables(head_pod)["RAY_ADDRESS"] == "127.0.0.1:6379"
        assert f"ray start --address={address}:6379 --block" in worker["spec"]["containers"][0]["args"][0]
        assert "ray start --head --block" in head_pod["spec"]["containers"][0]["args"][0]
        assert "--num-cpus=1" in variables(worker)["KUBERAY_GEN_RAY_START_CMD"]
        status = await harness.status(cluster)
        assert (status["state"], status["readyWorkerReplicas"]) == ("ready", 4)
        assert "lab-head-svc" in await harness.objects("v1/services")


async def test_a_cluster_that_starts_ray_by_itself_keeps_its_command() -> None:
    async with running_operator_harness("ray") as harness:
        made = make_ray("RayCluster", "lab", **cluster_spec(worker_group(replicas=0)))
        template = made["spec"]["headGroupSpec"]["template"]
        template["spec"]["containers"][0]["command"] = ["sh", "-c", "exec ray start --head --block"]
        await harness.create(made)
        [pod] = await harness.run_all()
        assert pod["spec"]["containers"][0]["command"] == ["sh", "-c", "exec ray start --head --block"]


async def test_a_suspended_cluster_has_no_pods_and_is_ready_again_afterwards() -> None:
    async with running_operator_harness("ray") as harness:
        cluster = await harness.create(make_ray("RayCluster", "lab", **cluster_spec()))
        await harness.run_all()
        await harness.change(cluster, {"spec": {"suspend": True}})
        assert (await harness.status(cluster))["state"] == "ready", "its pods are still terminating"
        await harness.remove_terminating_pods()
        assert (await harness.status(cluster))["state"] == "suspended"
        await harness.change(cluster, {"spec": {"suspend": False}})
        assert len(await harness.run_all()) == 3
        assert (await harness.status(cluster))["state"] == "ready"


async def test_an_ended_pod_is_replaced_and_a_smaller_group_loses_pods() -> None:
    async with running_operator_harness("ray") as harness:
        cluster = await harness.create(make_ray("RayCluster", "lab", **cluster_spec()))
        first = by_group(await harness.run_all())["workers"]
        await harness.finish_pods(first[0], code=1)
        second = by_group(await harness.run_all())["workers"]
        assert len(second) == 2
        assert first[0]["metadata"]["uid"] not in {each["metadata"]["uid"] for each in second}
        await harness.change(cluster, {"spec": {"workerGroupSpecs": [worker_group(replicas=1)]}})
        assert len(by_group(await harness.run_all())["workers"]) == 1


def ray_job(**spec: object) -> Object:
    return make_ray(
        "RayJob", "tune", entrypoint="python x.py", shutdownAfterJobFinishes=True, rayClusterSpec=cluster_spec(), **spec
    )


async def test_a_rayjob_runs_a_cluster_then_submits_and_ends_with_the_submitter() -> None:
    async with running_operator_harness("ray") as harness:
        job = await harness.create(ray_job())
        await harness.settle()
        assert (await harness.status(job))["jobDeploymentStatus"] == "Initializing"
        await harness.run_all()
        [cluster] = (await harness.objects(RAY_CLUSTERS)).values()
        assert cluster["metadata"]["labels"] == {
            "team": "a",
            "ray.io/originated-from-cr-name": "tune",
            "ray.io/originated-from-crd": "RayJob",
        }
        status = await harness.status(job)
        assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Running", "RUNNING")
        assert status["rayClusterName"] == cluster["metadata"]["name"]
        submitter = (await harness.objects(JOBS))["tune"]
        container = submitter["spec"]["template"]["spec"]["containers"][0]
        assert container["args"][0].endswith(f"--submission-id {status['jobId']} -- python x.py")
        found = {each["name"]: each["value"] for each in container["env"]}
        host = f"{cluster['metadata']['name']}-head-svc.default.svc.cluster.local"
        assert found["RAY_DASHBOARD_ADDRESS"] == f"http://{host}:8265"
        await harness.finish_pods(*[each for each in await harness.active() if is_submitter(each)])
        await harness.settle()
        status = await harness.status(job)
        assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
        await harness.remove_terminating_pods()
        assert await harness.objects(RAY_CLUSTERS) == {}


def is_submitter(pod: Object) -> bool:
    return "batch.kubernetes.io/job-name" in pod["metadata"]["labels"]


async def test_a_suspended_rayjob_gives_up_its_cluster_and_gets_another_one() -> None:
    async with running_operator_harness("ray") as harness:
        job = await harness.create(ray_job())
        await harness.run_all()
        first = (await harness.status(job))["rayClusterName"]
        await harness.change(job, {"spec": {"suspend": True}})
        assert (await harness.status(job))["jobDeploymentStatus"] == "Suspending"
        await harness.remove_terminating_pods()
        await harness.settle()
        assert await harness.status(job) == {"jobDeploymentStatus": "Suspended"}
        assert await harness.pods() == []
        await harness.change(job, {"spec": {"suspend": False}})
        await harness.run_all()
        assert (await harness.status(job))["rayClusterName"] not in ("", first)


async def test_a_rayjob_that_is_not_submitted_by_a_job_is_reported() -> None:
    async with running_operator_harness("ray") as harness:
        await harness.create(ray_job(submissionMode="HTTPMode", backoffLimit=1))
        await harness.settle()
        assert (await harness.warnings())["UnsupportedField"] == (
            "the stand-in for the KubeRay operator ignores spec.backoffLimit, spec.submissionMode=HTTPMode"
        )


async def test_a_rayservice_is_ready_while_its_cluster_is() -> None:
    async with running_operator_harness("ray") as harness:
        service = await harness.create(make_ray("RayService", "serve", rayClusterConfig=cluster_spec()))
        await harness.run_all()
        status = await harness.status(service)
        [cluster] = await harness.objects(RAY_CLUSTERS)
        assert status["activeServiceStatus"] == {"rayClusterName": cluster}
        assert (await harness.condition_statuses(service))["Ready"] == "True"
        assert {"serve-head-svc", "serve-serve-svc"} <= (await harness.objects("v1/services")).keys()
        await harness.change(service, {"spec": {"rayClusterConfig": {"suspend": True}}})
        await harness.remove_terminating_pods()
        await harness.settle()
        assert (await harness.condition_statuses(service))["Ready"] == "False"
        assert await harness.pods() == []
