"""The stand-in for the MPI Operator."""

from typing import Any

from jobs.replica_jobs import MPI, make_replica_job
from kit.apiserver import Object
from operators.harness import container, running_operator_harness, variables

JOBS = "batch/v1/jobs"


def make_mpijob(workers: int = 2, **spec: Any) -> Object:
    template = {"spec": {"containers": [container(command=["run"])]}}
    specs: dict[str, Object] = {
        "Launcher": {"template": template},
        "Worker": {"replicas": workers, "template": template},
    }
    made = make_replica_job(MPI, specs, **spec)
    return {**made, "metadata": {"name": "train", "namespace": "default"}}


def is_launcher(pod: Object) -> bool:
    return bool(pod["metadata"]["labels"]["training.kubeflow.org/job-role"] == "launcher")


async def test_a_launcher_job_and_workers_share_a_hostfile() -> None:
    async with running_operator_harness("mpi") as harness:
        job = await harness.create(make_mpijob(slotsPerWorker=2))
        pods = await harness.run_all()
        worker = next(each for each in pods if each["metadata"]["name"] == "train-worker-1")
        assert worker["metadata"]["labels"] == {
            "training.kubeflow.org/job-name": "train",
            "training.kubeflow.org/operator-name": "mpi-operator",
            "training.kubeflow.org/job-role": "worker",
            "training.kubeflow.org/replica-index": "1",
        }
        assert (worker["spec"]["hostname"], worker["spec"]["subdomain"]) == ("train-worker-1", "train")
        assert variables(worker) == {"K_MPI_JOB_ROLE": "worker"}
        launcher = next(each for each in pods if is_launcher(each))
        found = variables(launcher)
        assert found["OMPI_MCA_orte_default_hostfile"] == "/etc/mpi/hostfile"
        assert (found["OMPI_MCA_orte_set_default_slots"], found["K_MPI_JOB_ROLE"]) == ("2", "launcher")
        data = (await harness.objects("v1/configmaps"))["train-config"]["data"]
        assert data["hostfile"] == (
            "train-worker-0.train.default.svc slots=2\ntrain-worker-1.train.default.svc slots=2\n"
        )
        assert data["discover_hosts.sh"].count("echo") == 2
        assert "train" in await harness.objects("v1/services")
        assert (await harness.condition_statuses(job)) == {"Created": "True", "Running": "True"}


async def test_the_launcher_ends_the_job_and_workers_are_cleaned_up() -> None:
    async with running_operator_harness("mpi") as harness:
        job = await harness.create(make_mpijob(runPolicy={"cleanPodPolicy": "Running"}))
        await harness.run_all()
        await harness.finish_pods(*filter(is_launcher, await harness.active()))
        await harness.settle()
        await harness.remove_terminating_pods()
        assert (await harness.conditions(job))["Succeeded"][1] == "MPIJobSucceeded"
        assert not [each for each in await harness.names() if "worker" in each]


async def test_a_suspended_job_resumes_with_its_present_template() -> None:
    async with running_operator_harness("mpi") as harness:
        job = await harness.create(make_mpijob(1))
        await harness.run_all()
        await harness.change(job, {"spec": {"runPolicy": {"suspend": True}}})
        await harness.remove_terminating_pods()
        assert await harness.pods() == []
        assert (await harness.condition_statuses(job))["Suspended"] == "True"
        placed = {"template": {"spec": {"nodeSelector": {"zone": "a"}}}}
        resumed = {"runPolicy": {"suspend": False}, "mpiReplicaSpecs": {"Launcher": placed, "Worker": placed}}
        await harness.change(job, {"spec": resumed})
        pods = await harness.run_all()
        assert [each["spec"].get("nodeSelector") for each in pods] == [{"zone": "a"}] * 2
        assert (await harness.condition_statuses(job))["Running"] == "True"


async def test_a_launcher_may_wait_for_workers_and_work_itself() -> None:
    async with running_operator_harness("mpi") as harness:
        policy = {"launcherCreationPolicy": "WaitForWorkersReady", "runLauncherAsWorker": True}
        await harness.create(make_mpijob(1, mpiImplementation="Intel", **policy))
        await harness.settle()
        assert await harness.objects(JOBS) == {}
        pods = await harness.run_all()
        launcher = next(each for each in pods if is_launcher(each))
        indexes = {each["metadata"]["labels"]["training.kubeflow.org/replica-index"] for each in pods}
        assert indexes == {"0", "1"}
        assert variables(launcher)["I_MPI_PERHOST"] == "1"
        data = (await harness.objects("v1/configmaps"))["train-config"]["data"]
        assert data["hostfile"].splitlines()[0] == "train-launcher.train.default.svc:1"


async def test_a_failed_launcher_fails_the_job() -> None:
    async with running_operator_harness("mpi") as harness:
        job = await harness.create(make_mpijob(1, runPolicy={"backoffLimit": 0}))
        await harness.run_all()
        await harness.finish_pods(*filter(is_launcher, await harness.active()), code=1)
        await harness.settle()
        assert (await harness.condition_statuses(job))["Failed"] == "True"


async def test_ssh_is_not_set_up() -> None:
    async with running_operator_harness("mpi") as harness:
        await harness.create(make_mpijob(1, sshAuthMountPath="/home/mpiuser/.ssh"))
        await harness.settle()
        assert (await harness.warnings())["UnsupportedField"] == (
            "the stand-in for the MPI Operator ignores spec.sshAuthMountPath"
        )
