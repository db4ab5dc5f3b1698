"""The stand-in for the Training Operator."""

import json
from typing import Any

import pytest

from jobs.replica_jobs import PYTORCH, REPLICA_FRAMEWORKS, make_replica_job
from kit.apiserver import Object
from kohort.jobs.frameworks.kubeflow.replica_jobs import ReplicaJobFramework
from operators.harness import OperatorHarness, container, running_operator_harness, variables

FRAMEWORKS = {each.resource.kind: each for each in REPLICA_FRAMEWORKS if each.resource.kind != "MPIJob"}
CONTAINERS = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "XGBoostJob": "xgboost", "PaddleJob": "paddle"}
SERVICES = "v1/services"


def replicas(kind: str, count: int = 1, **fields: Any) -> Object:
    template = {"spec": {"containers": [container(name=CONTAINERS.get(kind, "jax"))]}}
    return {"replicas": count, "template": template, **fields}


def make_job(framework: ReplicaJobFramework, counts: dict[str, int], policy: str = "", **spec: Any) -> Object:
    """A running job with so many replicas of each type."""
    fields = {"restartPolicy": policy} if policy else {}
    specs = {type_: replicas(framework.resource.kind, count, **fields) for type_, count in counts.items()}
    made = make_replica_job(framework, specs, **spec)
    return {**made, "metadata": {"name": "train", "namespace": "default"}}


async def by_name(harness: OperatorHarness) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in await harness.run_all()}


async def finish(harness: OperatorHarness, *names: str, code: int = 0) -> None:
    """Terminate pods by name."""
    found = await harness.objects("v1/pods")
    await harness.finish_pods(*[{"apiVersion": "v1", "kind": "Pod", **found[each]} for each in names], code=code)
    await harness.settle()


async def test_pods_of_a_pytorchjob_have_the_rank_and_address_of_torch_distributed() -> None:
    async with running_operator_harness("kubeflow") as harness:
        await harness.create(make_job(PYTORCH, {"Master": 1, "Worker": 2}))
        pods = await by_name(harness)
        assert set(pods) == {"train-master-0", "train-worker-0", "train-worker-1"}
        assert variables(pods["train-worker-1"]) == {
            "PYTHONUNBUFFERED": "1",
            "MASTER_PORT": "23456",
            "PET_MASTER_PORT": "23456",
            "MASTER_ADDR": "train-master-0",
            "PET_MASTER_ADDR": "train-master-0",
            "WORLD_SIZE": "3",
            "RANK": "2",
            "PET_NODE_RANK": "2",
            "PET_NPROC_PER_NODE": "auto",
            "PET_NNODES": "3",
        }
        assert pods["train-worker-1"]["metadata"]["labels"] == {
            "training.kubeflow.org/job-name": "train",
            "training.kubeflow.org/operator-name": "pytorchjob-controller",
            "training.kubeflow.org/replica-type": "worker",
            "training.kubeflow.org/replica-index": "1",
        }
        master = pods["train-master-0"]
        assert master["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"
        assert master["spec"]["restartPolicy"] == "OnFailure"
        port = master["spec"]["containers"][0]["ports"][0]
        assert (port["name"], port["containerPort"]) == ("pytorchjob-port", 23456)
        service = (await harness.objects(SERVICES))["train-master-0"]
        assert service["spec"]["selector"]["training.kubeflow.org/replica-type"] == "master"
        assert service["spec"]["clusterIP"] == "None"


async def test_an_elastic_pytorchjob_has_a_rendezvous_and_ends_with_its_first_worker() -> None:
    async with running_operator_harness("kubeflow") as harness:
        policy = {"minReplicas": 1, "maxReplicas": 4, "nProcPerNode": 2, "rdzvConf": [{"key": "t", "value": "9"}]}
        job = await harness.create(make_job(PYTORCH, {"Worker": 2}, elasticPolicy=policy))
        found = variables((await by_name(harness))["train-worker-0"])
        assert (found["PET_NNODES"], found["PET_NPROC_PER_NODE"]) == ("1:4", "2")
        assert (found["PET_RDZV_ENDPOINT"], found["PET_RDZV_BACKEND"]) == ("train-worker-0:23456", "c10d")
        assert found["PET_RDZV_CONF"] == "t=9"
        await finish(harness, "train-worker-1")
        assert (await harness.condition_statuses(job))["Succeeded"] == "True"


@pytest.mark.parametrize(
    ("kind", "counts", "pod", "expected"),
    [
        (
            "XGBoostJob",
            {"Master": 1, "Worker": 2},
            "train-worker-1",
            {"RANK": "2", "WORLD_SIZE": "3", "MASTER_ADDR": "train-master-0", "WORKER_PORT": "9999"}
            | {"MASTER_PORT": "9999", "WORKER_ADDRS": "train-worker-0,train-worker-1", "PYTHONUNBUFFERED": "1"},
        ),
        (
            "JAXJob",
            {"Worker": 2},
            "train-worker-1",
            {"PROCESS_ID": "1", "NUM_PROCESSES": "2", "COORDINATOR_ADDRESS": "train-worker-0"}
            | {"COORDINATOR_PORT": "6666", "PYTHONUNBUFFERED": "1"},
        ),
        (
            "PaddleJob",
            {"Master": 1, "Worker": 1},
            "train-worker-0",
            {"PADDLE_MASTER": "train-master-0:36543", "PADDLE_NNODES": "2", "PADDLE_JOB_ID": "train"}
            | {"PADDLE_TRAINER_NUM": "1", "PYTHONUNBUFFERED": "1"},
        ),
        (
            "PaddleJob",
            {"Worker": 2},
            "train-worker-0",
            {"PADDLE_MASTER": "$(POD_IP_DUMMY):36543", "PADDLE_NNODES": "2", "PADDLE_JOB_ID": "train"}
            | {"POD_IP_DUMMY": "", "PYTHONUNBUFFERED": "1"},
        ),
    ],
)
async def test_pods_have_the_variables_of_their_kind(
    kind: str, counts: dict[str, int], pod: str, expected: dict[str, str]
) -> None:
    async with running_operator_harness("kubeflow") as harness:
        await harness.create(make_job(FRAMEWORKS[kind], counts))
        assert variables((await by_name(harness))[pod]) == expected


async def test_a_tfjob_has_the_addresses_of_all_replicas_and_ends_with_worker_0() -> None:
    async with running_operator_harness("kubeflow") as harness:
        job = await harness.create(make_job(FRAMEWORKS["TFJob"], {"PS": 1, "Worker": 2}))
        pods = await by_name(harness)
        config = json.loads(variables(pods["train-worker-1"])["TF_CONFIG"])
        assert config == {
            "cluster": {
                "ps": ["train-ps-0.default.svc:2222"],
                "worker": ["train-worker-0.default.svc:2222", "train-worker-1.default.svc:2222"],
            },
            "task": {"type": "worker", "index": 1},
            "environment": "cloud",
        }
        assert pods["train-worker-0"]["metadata"]["labels"]["training.kubeflow.org/job-role"] == "master"
        await finish(harness, "train-worker-1")
        assert "Succeeded" not in await harness.condition_statuses(job)
        await finish(harness, "train-worker-0")
        assert (await harness.condition_statuses(job))["Succeeded"] == "True"


async def test_pods_come_from_the_pod_sets_that_have_quota() -> None:
    async with running_operator_harness("kubeflow") as harness:
        for kind, framework in FRAMEWORKS.items():
            counts = {type_: number + 1 for number, type_ in enumerate(framework.replica_types)}
            job = await harness.create({**make_job(framework, counts)})
            pods = await harness.run_all()
            types = [each["metadata"]["labels"]["training.kubeflow.org/replica-type"] for each in pods]
            sets = {each.name: each.count for each in framework.places(job)}
            assert {type_: types.count(type_) for type_ in set(types)} == sets, kind
            await harness.delete(job)
            await harness.settle()
            await harness.remove_terminating_pods()


async def test_the_master_determines_running_and_success() -> None:
    async with running_operator_harness("kubeflow") as harness:
        policy = {"cleanPodPolicy": "Running", "ttlSecondsAfterFinished": 30}
        job = await harness.create(make_job(PYTORCH, {"Master": 1, "Worker": 1}, runPolicy=policy))
        await harness.run_all()
        assert (await harness.condition_statuses(job)) == {"Created": "True", "Running": "True"}
        assert (await harness.status(job))["replicaStatuses"]["Worker"]["active"] == 1
        await finish(harness, "train-master-0")
        await harness.remove_terminating_pods()
        assert (await harness.condition_statuses(job)) == {"Created": "True", "Running": "False", "Succeeded": "True"}
        assert await harness.names() == ["train-master-0"], "running pods are removed"
        await harness.advance(31)
        assert not await harness.exists(job)


async def test_a_suspended_job_has_no_pods_and_starts_again() -> None:
    async with running_operator_harness("kubeflow") as harness:
        job = await harness.create(make_job(PYTORCH, {"Worker": 2}))
        await harness.run_all()
        await harness.change(job, {"spec": {"runPolicy": {"suspend": True}}})
        await harness.remove_terminating_pods()
        assert await harness.pods() == []
        status = await harness.status(job)
        assert status["replicaStatuses"]["Worker"].get("active", 0) == 0
        assert (await harness.conditions(job))["Suspended"][:2] == ("True", "PyTorchJobSuspended")
        await harness.change(job, {"spec": {"runPolicy": {"suspend": False}}})
        assert len(await harness.run_all()) == 2
        assert (await harness.conditions(job))["Suspended"][:2] == ("False", "PyTorchJobResumed")


async def test_a_failed_pod_is_replaced_if_the_restart_policy_allows() -> None:
    async with running_operator_harness("kubeflow") as harness:
        job = await harness.create(make_job(PYTORCH, {"Worker": 1}, "ExitCode"))
        [first] = await harness.run_all()
        assert first["spec"]["restartPolicy"] == "Never"
        await finish(harness, "train-worker-0", code=137)
        assert "Restarting" in await harness.condition_statuses(job) or not await harness.exists(first)
        [second] = await harness.run_all()
        assert second["metadata"]["uid"] != first["metadata"]["uid"]
        await finish(harness, "train-worker-0", code=1)
        assert (await harness.condition_statuses(job))["Failed"] == "True"


async def test_a_job_past_its_deadline_fails() -> None:
    async with running_operator_harness("kubeflow") as harness:
        job = await harness.create(make_job(PYTORCH, {"Worker": 1}, runPolicy={"activeDeadlineSeconds": 60}))
        await harness.run_all()
        await harness.advance(61)
        assert (await harness.conditions(job))["Failed"][1] == "PyTorchJobFailed"


async def test_fields_that_only_the_operator_has_are_reported() -> None:
    async with running_operator_harness("kubeflow") as harness:
        policy = {"schedulingPolicy": {"minAvailable": 2}}
        await harness.create(make_job(FRAMEWORKS["TFJob"], {"Worker": 1}, runPolicy=policy, enableDynamicWorker=True))
        await harness.settle()
        assert (await harness.warnings())["UnsupportedField"] == (
            "the stand-in for the Training Operator ignores spec.enableDynamicWorker, "
            "spec.runPolicy.schedulingPolicy.minAvailable"
        )


async def test_a_job_of_too_many_replicas_gets_an_event() -> None:
    async with running_operator_harness("kubeflow") as harness:
        await harness.create(make_job(PYTORCH, {"Worker": 2_000_000_000}))
        await harness.settle()
        assert "more than 10000 replicas" in (await harness.warnings())["InvalidSpec"]
