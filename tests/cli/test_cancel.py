"""`kohort cancel`: names are cancelled without a prompt, a whole queue only after confirmation."""

from cli.clusters import JOB, Cluster
from cli.test_hold import waiting
from kit.builders.kueue import make_local_queue
from kit.commands import CommandResult
from kohort.api.core.pods import Pod
from kohort.cli.targets import WORKLOAD
from kohort.jobs.keys import POD_GROUP_NAME, POD_GROUP_TOTAL_COUNT_ANNOTATION, QUEUE_NAME_LABEL

GATED = {"schedulingGates": [{"name": "tests.example/never"}]}


def test_a_job_is_deleted_with_its_dependents(queues: Cluster, fresh: str) -> None:
    waiting(queues, fresh)
    assert queues.kohort("cancel", fresh) == CommandResult(0, f"job.batch/{fresh} deleted\n", "")
    assert fresh not in queues.names(JOB)


def test_a_workload_is_resolved_to_its_job(queues: Cluster, fresh: str) -> None:
    workload = waiting(queues, fresh)
    assert queues.kohort("cancel", "workload", workload, "-o", "name").out == f"job.batch/{fresh}\n"
    assert fresh not in queues.names(JOB)


def test_one_name_that_is_wrong_keeps_all(queues: Cluster, fresh: str) -> None:
    waiting(queues, fresh)
    assert queues.kohort("cancel", fresh, "no-such-job").code == 2
    assert fresh in queues.names(JOB)


def test_a_dry_run_deletes_nothing(queues: Cluster, fresh: str) -> None:
    waiting(queues, fresh)
    assert queues.kohort("cancel", fresh, "--dry-run").out == f"job.batch/{fresh} deleted (dry run)\n"
    assert fresh in queues.names(JOB)


def test_a_finished_job_is_called_so(queues: Cluster, fresh: str) -> None:
    queues.kohort("submit", "-q", "team-a", "--cpu", "1", "--name", fresh, "--wait", "--", "true")
    assert queues.kohort("cancel", fresh).out == f"job.batch/{fresh} deleted (already finished)\n"


def test_a_pod_of_a_job_is_not_what_is_meant(queues: Cluster, fresh: str) -> None:
    queues.kohort("submit", "-q", "team-a", "--cpu", "1", "--name", fresh, "--wait", "--", "true")
    pod = next(name for name in queues.names(Pod.resource) if name.startswith(f"{fresh}-"))
    answer = queues.kohort("cancel", pod)
    assert (answer.code, f"pod/{pod} belongs to Job {fresh}: specify that" in answer.err) == (2, True)


def test_deleting_a_whole_queue_requires_confirmation(queues: Cluster, fresh: str) -> None:
    queues.create(make_local_queue(f"q-{fresh}", "nothing"))
    names = [f"{fresh}-a", f"{fresh}-b"]
    for name in names:
        waiting(queues, name, f"q-{fresh}")
    asked = queues.kohort("cancel", "--all", "-q", f"q-{fresh}", typed="n\n")
    assert asked.code == 130
    assert f"Delete 2 Jobs of queue q-{fresh} ({fresh}-a, {fresh}-b)? [y/N]:" in asked.err
    assert set(names) <= set(queues.names(JOB))
    done = queues.kohort("cancel", "--all", "-q", f"q-{fresh}", "--yes")
    assert sorted(done.out.splitlines()) == [f"job.batch/{name} deleted" for name in names]
    nothing = queues.kohort("cancel", "--all", "-q", f"q-{fresh}")
    assert nothing == CommandResult(0, "", f"no unfinished Jobs in queue q-{fresh}\n")


def test_names_and_all_of_them_contradict_each_other(queues: Cluster) -> None:
    assert "specify names or --all" in queues.kohort("cancel").err
    assert "names and --all are mutually exclusive" in queues.kohort("cancel", "a", "--all").err
    assert "-q requires --all" in queues.kohort("cancel", "a", "-q", "team-a").err
    assert "LocalQueue 'team-aa' not found" in queues.kohort("cancel", "--all", "-q", "team-aa").err


def test_a_group_of_pods_is_deleted_as_a_whole(queues: Cluster, fresh: str) -> None:
    names = [f"{fresh}-a", f"{fresh}-b"]
    for name in names:
        labels = {POD_GROUP_NAME: fresh, QUEUE_NAME_LABEL: "team-b"}
        annotations = {POD_GROUP_TOTAL_COUNT_ANNOTATION: "2"}
        metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": annotations}
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
        queues.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **GATED}}
        )
    queues.until(lambda: fresh in queues.names(WORKLOAD), bool)
    assert queues.kohort("cancel", f"{fresh}-b").out.splitlines() == [f"pod/{name} deleted" for name in names]
    queues.until(lambda: set(names) & set(queues.names(Pod.resource)), lambda left: not left)
