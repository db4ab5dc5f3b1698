"""`kohort move`: pending jobs are moved to another queue, jobs with quota stay."""

from pathlib import Path

from cli.clusters import JOB, Cluster
from cli.test_hold import waiting, workload_of
from kit.commands import CommandResult
from kohort.cli.targets import WORKLOAD
from kohort.jobs.keys import QUEUE_NAME_LABEL


def test_a_job_that_waits_moves_with_its_workload(queues: Cluster, fresh: str) -> None:
    workload = waiting(queues, fresh)
    assert queues.kohort("move", fresh, "--to", "team-c") == CommandResult(
        0, f"job.batch/{fresh} moved from team-b to team-c\n", ""
    )
    assert queues.get(JOB, fresh)["metadata"]["labels"][QUEUE_NAME_LABEL] == "team-c"
    queues.until(lambda: queues.get(WORKLOAD, workload)["spec"]["queueName"], lambda queue: queue == "team-c")
    assert queues.kohort("move", fresh, "--to", "team-c").out == f"job.batch/{fresh} is already in team-c\n"


def test_a_job_moves_into_quota_and_runs(queues: Cluster, fresh: str) -> None:
    waiting(queues, fresh)
    queues.kohort("move", fresh, "--to", "team-a")
    queues.until(lambda: queues.get(JOB, fresh).get("status", {}).get("succeeded"), bool)


def test_a_running_job_stays_and_the_remedy_is_printed(queues: Cluster, fresh: str, tmp_path: Path) -> None:
    script = f"while ! test -e {tmp_path}/go; do sleep 0.05; done"
    queues.kohort("submit", "-q", "team-a", "--cpu", "100m", "--name", fresh, "--", "sh", "-c", script)
    queues.until(lambda: queues.get(JOB, fresh)["spec"]["suspend"], lambda suspended: not suspended)
    answer = queues.kohort("move", fresh, "--to", "team-b")
    assert (answer.code, answer.err) == (
        2,
        f"kohort: error: job.batch/{fresh} has reserved quota in two-cpus: stop it first with"
        f" `kohort hold {fresh}`, then run `kohort move {fresh} --to team-b` and `kohort resume {fresh}`\n",
    )
    (tmp_path / "go").touch()


def test_the_printed_remedy_works(queues: Cluster, fresh: str) -> None:
    queues.kohort("submit", "-q", "team-a", "--cpu", "100m", "--name", fresh, "--", "sleep", "1000")
    queues.until(lambda: queues.get(JOB, fresh).get("status", {}).get("ready"), bool)
    queues.kohort("hold", fresh)
    moved = queues.until(lambda: queues.kohort("move", fresh, "--to", "team-b"), lambda answer: answer.code == 0)
    assert moved.out == f"job.batch/{fresh} moved from team-a to team-b\n"
    assert queues.kohort("resume", fresh).out == f"job.batch/{fresh} resumed in queue team-b\n"
    assert queues.get(WORKLOAD, workload_of(queues, fresh))["spec"]["queueName"] == "team-b"


def test_the_queue_must_be_there(queues: Cluster, fresh: str) -> None:
    answer = queues.kohort("move", fresh, "--to", "team-x")
    assert (answer.code, "LocalQueue 'team-x' not found in namespace default: did you mean team-" in answer.err) == (
        2,
        True,
    )
