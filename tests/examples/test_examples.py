"""Every example, applied as it is: what its README promises comes about."""

import re
from pathlib import Path
from typing import Any

import pytest

from e2e.environment import GPU, Environment, UserClient, condition, gpu_nodes, message, running
from examples.example_environment import EXAMPLES, example_folders, files_of, objects_in, running_environment
from kit.virtual_time import eventually
from kohort.api.core.pods import Pod
from kohort.api.gates import DEFAULT_GATES
from kohort.api.manifests.checking import Checker
from kohort.api.manifests.findings import FindingSeverity
from kohort.api.times import parse_time
from kohort.cli.runtimes import RuntimeChoice, RuntimeName
from kohort.embedded.nodes.declared import DeclaredNode, parse_taints
from kohort.embedded.runtimes.settings import AtStop
from kohort.insight.doctor.model import CheckSeverity as DoctorSeverity
from kohort.insight.doctor.runner import EXTRA_KINDS, run_checks
from kohort.insight.snapshot import take_snapshot
from kohort.install.roles import user_roles
from kohort.jobs.builtin import built_in_frameworks
from kohort.kube.errors import StatusError

KUEUE = "kueue.x-k8s.io/v1beta2"
LAST_WORDS = "Training completed successfully!"

Object = dict[str, Any]


@pytest.mark.parametrize("folder", example_folders(), ids=lambda folder: folder.name)
def test_an_example_is_without_errors_and_has_its_page(folder: Path) -> None:
    checker = Checker(DEFAULT_GATES)
    checker.read_paths([str(folder)])
    report = checker.report()
    assert report.objects
    assert not [str(each) for each in report.findings if each.severity is not FindingSeverity.WARNING]
    assert (folder / "README.md").read_text("utf-8").startswith("# ")
    assert f"({folder.name}/" in (EXAMPLES / "README.md").read_text("utf-8"), "the list of examples leads there"


async def apply(user: UserClient, example: str, *files: str) -> None:
    """`kubectl apply -f`, one file after the other; all of the folder unless some are named."""
    for file in files_of(example):
        if not files or file.name in files:
            await user.create(*objects_in(file))


async def starts(user: UserClient, job: str, namespace: str, pods: int) -> None:
    await eventually(lambda: user.pods_of(job, namespace), lambda found: running(found) == pods, f"{job} runs whole")


async def finishes(user: UserClient, job: str, namespace: str) -> None:
    await eventually(
        lambda: user.workload_of(job, namespace),
        lambda found: condition_status(found, "Finished") == "True",
        f"{job} finishes",
    )


async def waits(user: UserClient, job: str, namespace: str, why: str) -> None:
    await eventually(
        lambda: user.workload_of(job, namespace), lambda found: why in message(found, "QuotaReserved"), f"{job} waits"
    )


async def diagnosis(environment: Environment, example: str) -> set[str]:
    """Findings of the doctor, hints apart; the example's page must mention each of them."""
    report = run_checks(await take_snapshot(environment.admin, EXTRA_KINDS))
    found = {each.check.id for each in report.findings if each.check.severity is not DoctorSeverity.HINT}
    page = (EXAMPLES / example / "README.md").read_text("utf-8")
    assert {each for each in found if f"`{each}`" not in page} == set(), [each.affected for each in report.findings]
    return found


def condition_status(found: Object | None, type_: str) -> str:
    return condition(found, type_)[0]


# Seed by seed


async def test_the_mock_training_runs_and_prints_its_result(tmp_path: Path) -> None:
    """As processes of this machine, with the epochs made shorter."""
    offered = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    choice = RuntimeChoice(RuntimeName.PROCESS, tmp_path, offered, at_stop=AtStop.END)
    async with running_environment([DeclaredNode("workstation", offered)], choice.make) as environment:
        admin = environment.user()
        await apply(admin, "mock-training", "1-queues.yaml")
        training = EXAMPLES / "mock-training" / "2-training.yaml"
        await admin.create(*objects_in(training, lambda text: re.sub(r"sleep \d+", "sleep 0.1", text)))
        await finishes(admin, "mock-training", "training")
        job = await admin.job("mock-training", "training")
        assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "lq-training", "the annotation counts"
        pods = await admin.pods_of("mock-training", "training")
        logs = [await log_of(admin, each) for each in pods]
        assert [each.splitlines()[-1] for each in logs] == [LAST_WORDS] * 3
        assert await diagnosis(environment, "mock-training") == {"quota-above-nodes", "never-borrows"}


def this_machine(tmp_path: Path) -> tuple[list[DeclaredNode], RuntimeChoice]:
    """A node as `kohort up` makes it of a small machine: pods are processes."""
    offered = {"cpu": "2", "memory": "4Gi", "ephemeral-storage": "20Gi", "pods": "110"}
    return [DeclaredNode("machine", offered)], RuntimeChoice(RuntimeName.PROCESS, tmp_path, offered, at_stop=AtStop.END)


def quick(text: str) -> str:
    """The same work, done sooner."""
    return text.replace("sleep 10", "sleep 0.1")


async def test_every_kind_runs_as_processes(tmp_path: Path) -> None:
    nodes, choice = this_machine(tmp_path)
    async with running_environment(nodes, choice.make) as environment:
        admin = environment.user()
        for file in files_of("every-kind"):
            await admin.create(*objects_in(file, quick))
        await finishes(admin, "a-job", "default")
        await finishes(admin, "a-pod", "default")
        assert condition(await admin.job("a-job", "default"), "Complete")[0] == "True"
        await eventually(lambda: of_app(admin, "a-deployment"), lambda found: running(found) == 2, "both replicas run")
        await eventually(lambda: of_app(admin, "a-statefulset"), lambda found: running(found) == 2, "both members run")


async def test_a_lab_works_with_processes(tmp_path: Path) -> None:
    nodes, choice = this_machine(tmp_path)
    async with running_environment(nodes, choice.make) as environment:
        admin = environment.user()
        await admin.create(*user_roles(built_in_frameworks()))
        for file in files_of("lab-roles"):
            await admin.create(*objects_in(file, quick))
        await finishes(admin, "evaluate", "lab")
        (pod,) = await admin.pods_of("evaluate", "lab")
        assert await log_of(admin, pod) == "evaluating\ndone\n"
        await eventually(lambda: of_app(admin, "notebook", "lab"), lambda found: running(found) == 1, "it runs")


async def log_of(user: UserClient, pod: Object) -> str:
    key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
    return (await user.client.of(Pod).log(key)).decode()


async def test_three_teams_share_48_gpus_as_the_example_describes() -> None:
    def lasting(text: str) -> str:
        """Simulated pods end by themselves unless configured otherwise; `kohort up --run-seconds` sets it there."""
        return text.replace(
            "  template:\n", '  template:\n    metadata: {annotations: {kohort.dev/run-seconds: "3600"}}\n'
        )

    async with running_environment(gpu_nodes()) as environment:
        admin = environment.user()
        queues, first, second, lenders = files_of("three-teams")
        await admin.create(*objects_in(queues))
        await admin.create(*objects_in(first, lasting))
        await starts(admin, "train-llm", "team-research", 16)
        await eventually(
            lambda: held_for(admin, "train-llm", "team-research"), lambda seconds: seconds >= 1, "a second"
        )
        await admin.create(*objects_in(second, lasting))
        await starts(admin, "fine-tune", "team-research", 8)
        await admin.create(*objects_in(lenders, lasting))
        await starts(admin, "detector", "team-vision", 16)
        await starts(admin, "voices", "team-speech", 16)
        evicted = await admin.workload_of("fine-tune", "team-research")
        assert condition(evicted, "Preempted") == ("True", "InCohortReclamation")
        assert running(await admin.pods_of("train-llm", "team-research")) == 16
        assert await diagnosis(environment, "three-teams") == set()


async def held_for(user: UserClient, job: str, namespace: str) -> float:
    """How long it has had quota; of two that got it in the same second, neither is the newer one that has to end."""
    found = await user.workload_of(job, namespace)
    conditions = (found or {})["status"]["conditions"]
    since = next(each["lastTransitionTime"] for each in conditions if each["type"] == "QuotaReserved")
    return (user.client.clock.wall() - parse_time(since)).total_seconds()


async def test_ml_teams_lend_a_quarter_and_put_training_first() -> None:
    taints = parse_taints("nvidia.com/gpu=present:NoSchedule")
    nodes = [
        DeclaredNode(f"h100-{n}", {"pods": "110", GPU: "8"}, labels={"accelerator": "h100-sxm"}, taints=taints)
        for n in range(8)
    ]
    async with running_environment(nodes) as environment:
        admin = environment.user()
        await apply(admin, "ml-teams", "1-flavors.yaml", "2-queues.yaml", "3-preprocessing.yaml")
        await starts(admin, "preprocessing", "ml-training", 5)
        queue = await eventually(
            lambda: admin.get(KUEUE, "ClusterQueue", "ml-training"), lambda found: usage(found)[0] == "40", "40 in use"
        )
        assert usage(queue) == ("40", "8"), "its own 32, and a quarter of the other's"
        await apply(admin, "ml-teams", "4-training.yaml")
        await starts(admin, "foundation-model", "ml-training", 4)
        evicted = await admin.workload_of("preprocessing", "ml-training")
        assert condition(evicted, "Preempted") == ("True", "InClusterQueue")
        assert await diagnosis(environment, "ml-teams") == {"flavor-without-nodes"}


def usage(queue: Object | None) -> tuple[str, str]:
    used = ((queue or {}).get("status", {}).get("flavorsUsage") or [{"resources": [{}]}])[0]["resources"][0]
    return str(used.get("total", "")), str(used.get("borrowed", ""))


async def test_a_lab_has_a_default_queue_and_notebooks_that_stay() -> None:
    nodes = [DeclaredNode("big", {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110"})]
    async with running_environment(nodes) as environment:
        admin, mia = environment.user(), environment.user(environment.as_user("mia"))
        await admin.create(*user_roles(built_in_frameworks()))
        await apply(admin, "lab-roles", "1-queues.yaml", "2-people.yaml")
        job, notebook = objects_in(files_of("lab-roles")[2])
        await mia.create(job)
        await admin.create(notebook)
        await finishes(mia, "evaluate", "lab")
        await eventually(lambda: of_app(admin, "notebook", "lab"), lambda found: running(found) == 1, "it runs")
        assert await diagnosis(environment, "lab-roles") == set()
        with pytest.raises(StatusError, match="forbidden"):
            await mia.create(next(iter(objects_in(files_of("lab-roles")[0]))))


async def of_app(user: UserClient, app: str, namespace: str = "default") -> list[Object]:
    return await user.all_of("v1", "Pod", namespace, f"app={app}")


async def test_spot_nodes_take_pods_that_tolerate_them() -> None:
    nodes = [
        DeclaredNode("steady", {"cpu": "8", "pods": "110"}, labels={"node-type": "on-demand"}),
        DeclaredNode(
            "spot",
            {"cpu": "16", "pods": "110"},
            labels={"node-type": "spot"},
            taints=parse_taints("spot=true:NoSchedule"),
        ),
    ]
    async with running_environment(nodes) as environment:
        admin = environment.user()
        await apply(admin, "node-types")
        await starts(admin, "steady", "default", 8)
        await starts(admin, "sweep", "default", 8)
        assert {each["spec"]["nodeName"] for each in await admin.pods_of("sweep", "default")} == {"spot"}
        await waits(admin, "patient", "default", "insufficient unused quota for cpu in flavor on-demand, 8 more needed")
        assert await diagnosis(environment, "node-types") == set()


async def test_every_kind_is_queued() -> None:
    async with running_environment([DeclaredNode("node", {"cpu": "32", "pods": "110"})]) as environment:
        admin = environment.user()
        await apply(admin, "every-kind")
        await finishes(admin, "a-job", "default")
        await finishes(admin, "a-pod", "default")
        await eventually(
            lambda: admin.get(KUEUE, "Workload", "a-group", "default"),
            lambda found: condition_status(found, "Finished") == "True",
            "the group runs to its end",
        )
        await eventually(lambda: of_app(admin, "a-deployment"), lambda found: running(found) == 2, "both replicas run")
        await eventually(lambda: of_app(admin, "a-statefulset"), lambda found: running(found) == 2, "both members run")
        await _all_workloads_were_admitted(environment)
        assert await diagnosis(environment, "every-kind") == set()


async def _all_workloads_were_admitted(environment: Environment) -> None:
    found = await environment.user().all_of(KUEUE, "Workload", "default")
    assert len(found) >= 6, "a Job, a pod, a group, two pods of a Deployment, a StatefulSet"
    assert {
        condition_status(each, "QuotaReserved") or "True" for each in found if not condition_status(each, "Finished")
    } == {"True"}
