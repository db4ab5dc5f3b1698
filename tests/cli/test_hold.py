"""`kohort hold` and `kohort resume`: jobs that rest, queues that admit nothing."""

from pathlib import Path

from cli.clusters import JOB, Cluster
from kit.commands import CommandResult
from kohort.cli.targets import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD


def workload_of(queues: Cluster, job: str) -> str:
    """The name of its Workload, once it is there."""

    def look() -> list[str]:
        return [name for name in queues.names(WORKLOAD) if name.startswith(f"job-{job}-")]

    return queues.until(look, bool)[0]


def waiting(queues: Cluster, name: str, queue: str = "team-b") -> str:
    """A Job that waits for quota; the name of its Workload."""
    answer = queues.kohort("submit", "-q", queue, "--cpu", "1", "--name", name, "--", "true")
    assert answer.code == 0, answer
    return workload_of(queues, name)


def test_a_job_that_waits_rests_and_waits_again(queues: Cluster, fresh: str) -> None:
    workload = waiting(queues, fresh)
    assert queues.kohort("hold", fresh) == CommandResult(0, f"job.batch/{fresh} held\n", "")
    assert queues.get(WORKLOAD, workload)["spec"]["active"] is False
    assert queues.kohort("hold", fresh).out == f"job.batch/{fresh} is already held\n"
    assert queues.kohort("resume", fresh) == CommandResult(0, f"job.batch/{fresh} resumed in queue team-b\n", "")
    assert queues.get(WORKLOAD, workload)["spec"]["active"] is True
    assert queues.kohort("resume", fresh).out == f"job.batch/{fresh} is not held\n"


def test_a_workload_may_be_named_instead_of_its_job(queues: Cluster, fresh: str) -> None:
    workload = waiting(queues, fresh)
    assert queues.kohort("hold", f"workload/{workload}").out == f"job.batch/{fresh} held\n"
    assert queues.kohort("resume", workload).out == f"job.batch/{fresh} resumed in queue team-b\n"


def test_follow_shows_the_eviction_of_a_job_and_its_second_start(queues: Cluster, fresh: str, tmp_path: Path) -> None:
    script = "echo begun; while ! test -e go; do sleep 0.05; done; echo done"
    arguments = ("-q", "team-a", "--cpu", "1", "--name", fresh, "--workdir", str(tmp_path), "--follow")
    with queues.apart("submit", *arguments, "--", "sh", "-c", script) as follower:
        queues.until(lambda: fresh in queues.names(JOB) and queues.get(JOB, fresh).get("status", {}).get("ready"), bool)
        assert queues.kohort("hold", fresh).out == f"job.batch/{fresh} held: its pods are terminated\n"
        queues.until(lambda: queues.get(JOB, fresh).get("status", {}).get("active", 0), lambda active: not active)
        queues.kohort("resume", fresh)
        queues.until(lambda: queues.get(JOB, fresh).get("status", {}).get("ready"), bool)
        (tmp_path / "go").touch()
        out, err = follower.communicate(timeout=60)
    assert (follower.returncode, out) == (0, "begun\nbegun\ndone\n"), err
    held = f"held: resume it with `kohort resume {fresh}`"
    changes = ["running: 1 pod", "evicted because Deactivated", held, "running: 1 pod"]
    assert [line for line in changes if line in err] == changes, err
    assert err.index("held: ") < err.rindex("admitted by") < err.index("succeeded")


def test_what_has_finished_is_not_held(queues: Cluster, fresh: str) -> None:
    queues.kohort("submit", "-q", "team-a", "--cpu", "1", "--name", fresh, "--wait", "--", "true")
    queues.until(lambda: queues.kohort("hold", fresh), lambda answer: "has finished" in answer.err)


def test_a_job_without_a_queue_is_reported(queues: Cluster, fresh: str) -> None:
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none", "command": ["true"]}]}
    }
    metadata = {"name": fresh, "namespace": "default"}
    queues.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": template}})
    answer = queues.kohort("hold", fresh)
    assert (answer.code, answer.err) == (
        2,
        f"kohort: error: job.batch/{fresh}: not queued: it has no queue-name label\n",
    )


# Queues


def test_a_local_queue_is_stopped_and_resumed(queues: Cluster) -> None:
    assert queues.kohort("hold", "queue", "team-c").out == (
        "localqueue.kueue.x-k8s.io/team-c held: running workloads continue, no new admissions\n"
    )
    assert queues.get(LOCAL_QUEUE, "team-c")["spec"]["stopPolicy"] == "Hold"
    queues.kohort("hold", "lq/team-c", "--drain")
    assert queues.get(LOCAL_QUEUE, "team-c")["spec"]["stopPolicy"] == "HoldAndDrain"
    assert queues.kohort("resume", "queue", "team-c").out == "localqueue.kueue.x-k8s.io/team-c resumed\n"
    assert queues.get(LOCAL_QUEUE, "team-c")["spec"]["stopPolicy"] == "None"


def test_a_cluster_queue_stops_only_when_it_is_called_one(queues: Cluster) -> None:
    answer = queues.kohort("hold", "queue", "nothing")
    assert (answer.code, answer.err) == (
        2,
        "kohort: error: LocalQueue 'nothing' not found in namespace default:"
        " for the ClusterQueue use `clusterqueue nothing`\n",
    )
    queues.kohort("hold", "clusterqueue", "nothing")
    assert queues.get(CLUSTER_QUEUE, "nothing", "")["spec"]["stopPolicy"] == "Hold"
    queues.kohort("resume", "cq", "nothing")
    assert queues.get(CLUSTER_QUEUE, "nothing", "")["spec"]["stopPolicy"] == "None"


def test_draining_is_for_queues(queues: Cluster) -> None:
    answer = queues.kohort("hold", "train", "--drain")
    assert (answer.code, "--drain requires a queue" in answer.err) == (2, True)


def test_unknown_names(queues: Cluster, fresh: str) -> None:
    waiting(queues, f"{fresh}-training")
    answer = queues.kohort("hold", f"{fresh}-trainin")
    assert answer.code == 2
    assert answer.err == (
        f"kohort: error: Job or Workload '{fresh}-trainin' not found in namespace default:"
        f" did you mean {fresh}-training?\n"
    )
    assert "unknown kind 'jbo': did you mean job?" in queues.kohort("hold", "jbo/x").err
    assert "LocalQueue team-a is a queue, not a job" in queues.kohort("cancel", "queue", "team-a").err
