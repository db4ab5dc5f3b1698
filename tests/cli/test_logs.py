"""`kohort logs`: all pods of a job together, each under its name; and new lines while following."""

from pathlib import Path

import pytest

from cli.clusters import JOB, Cluster
from cli.test_hold import waiting, workload_of
from kit.builders.kueue import make_kueue_object
from kit.commands import CommandResult
from kohort.api.core.pods import Pod
from kohort.api.meta import ObjectMeta
from kohort.cli.log_streams import Prefixes
from kohort.cli.logs import pods_of
from kohort.cli.targets import CommandTarget, TargetObject
from kohort.jobs.frameworks.jobset import JobSet
from kohort.terminal.style import COLOURED, PLAIN


def run_job(queues: Cluster, name: str, script: str, *options: str) -> None:
    """A Job that has run to its end."""
    amounts = ("-q", "team-a", "--cpu", "500m")
    queues.kohort("submit", *amounts, "--name", name, *options, "--wait", "--", "sh", "-c", script)


def pod_of(queues: Cluster, job: str) -> str:
    return next(name for name in queues.names(Pod.resource) if name.startswith(f"{job}-"))


def test_one_pod_shows_its_lines_bare(queues: Cluster, fresh: str) -> None:
    run_job(queues, fresh, "echo one; echo two")
    assert queues.kohort("logs", fresh) == CommandResult(0, "one\ntwo\n", "")


def test_a_workload_and_a_pod_lead_to_the_same_lines(queues: Cluster, fresh: str) -> None:
    run_job(queues, fresh, "echo hello")
    assert queues.kohort("logs", workload_of(queues, fresh)).out == "hello\n"
    assert queues.kohort("logs", f"pod/{pod_of(queues, fresh)}").out == "hello\n"
    assert queues.kohort("logs", "-f", pod_of(queues, fresh)).out == "hello\n"


def test_lines_of_several_pods_are_prefixed_with_their_index(queues: Cluster, fresh: str) -> None:
    run_job(queues, fresh, "echo $JOB_COMPLETION_INDEX", "--parallel", "2", "--indexed")
    assert sorted(queues.kohort("logs", fresh).out.splitlines()) == ["[0] 0", "[1] 1"]
    assert queues.kohort("logs", fresh, "--index", "1").out == "1\n"


def test_lines_of_pods_without_an_index_are_prefixed_with_the_end_of_their_names(queues: Cluster, fresh: str) -> None:
    run_job(queues, fresh, "echo hello", "--parallel", "2")
    lines = queues.kohort("logs", fresh).out.splitlines()
    pods = sorted(name for name in queues.names(Pod.resource) if name.startswith(f"{fresh}-"))
    assert sorted(lines) == [f"[{name.removeprefix(f'{fresh}-')}] hello" for name in pods]


def test_only_the_last_lines(queues: Cluster, fresh: str) -> None:
    run_job(queues, fresh, "seq 10; printf unfinished")
    assert queues.kohort("logs", fresh, "--tail", "2").out == "10\nunfinished\n"
    assert queues.kohort("logs", fresh, "--since", "1h", "--tail", "1").out == "unfinished\n"


def test_bytes_go_through_as_they_are(queues: Cluster, fresh: str) -> None:
    run_job(queues, fresh, r"printf '\033[31mred\033[0m 50%%\r100%%\n'")
    assert queues.kohort("logs", fresh).out == "\033[31mred\033[0m 50%\r100%\n"


@pytest.mark.parametrize("follow", [(), ("-f",)], ids=["once", "followed"])
def test_a_missing_container_is_reported(queues: Cluster, fresh: str, follow: tuple[str, ...]) -> None:
    run_job(queues, fresh, "true")
    answer = queues.kohort("logs", fresh, "-c", "sidecar", *follow)
    assert "container 'sidecar' not found in pod" in answer.err


def test_an_index_without_a_pod_is_reported(queues: Cluster, fresh: str) -> None:
    run_job(queues, fresh, "true", "--parallel", "2", "--indexed")
    answer = queues.kohort("logs", fresh, "--index", "2")
    assert (answer.code, f"index 2 of job.batch/{fresh} not found: available: 0 to 1" in answer.err) == (2, True)


def test_a_job_without_numbers_has_no_index(queues: Cluster, fresh: str) -> None:
    run_job(queues, fresh, "true")
    answer = queues.kohort("logs", fresh, "--index", "0")
    assert (answer.code, "is not an Indexed Job: omit --index" in answer.err) == (2, True)


def test_following_prints_lines_as_they_come_and_ends_with_the_job(queues: Cluster, fresh: str, tmp_path: Path) -> None:
    script = f"echo before; while ! test -e {tmp_path}/go; do sleep 0.05; done; echo after"
    queues.kohort("submit", "-q", "team-a", "--cpu", "500m", "--name", fresh, "--", "sh", "-c", script)
    with queues.apart("logs", "-f", fresh) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "before\n"
        (tmp_path / "go").touch()
        out, err = follower.communicate(timeout=60)
    assert (follower.returncode, out, err) == (0, "after\n", "")


def test_what_waits_has_no_pods_and_leads_to_its_explanation(queues: Cluster, fresh: str) -> None:
    waiting(queues, fresh)
    answer = queues.kohort("logs", fresh)
    message = f"job.batch/{fresh} has no pods yet: pending (see `kohort explain {fresh}`)\n"
    assert answer == CommandResult(0, "", message)


def test_pods_of_a_deployment_by_its_selector(queues: Cluster, fresh: str) -> None:
    container = {"name": "main", "image": "none", "command": ["sh", "-c", "echo serving; sleep 1000"]}
    template = {"metadata": {"labels": {"app": fresh}}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": fresh}}, "template": template}
    metadata = {"name": fresh, "namespace": "default"}
    queues.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    queues.until(lambda: queues.kohort("logs", f"deploy/{fresh}").out, lambda out: out.endswith("serving\n"))


def test_pods_of_a_custom_job_are_found_by_the_labels_of_its_operator() -> None:
    job_set = TargetObject(JobSet.resource, {"metadata": {"name": "sweep", "namespace": "lab"}})
    assert pods_of(CommandTarget((job_set,), ())).labels == "jobset.sigs.k8s.io/jobset-name=sweep"


def test_a_workload_without_an_owner_has_no_pods_to_show(queues: Cluster, fresh: str) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    pod_sets = [{"name": "main", "count": 1, "template": template}]
    queues.create(make_kueue_object("Workload", fresh, {"queueName": "team-b", "podSets": pod_sets}, "default"))
    answer = queues.kohort("logs", fresh)
    assert (answer.code, "has no pod selector" in answer.err) == (2, True)


def test_unknown_names_are_reported(queues: Cluster, fresh: str) -> None:
    assert fresh not in queues.names(JOB)
    answer = queues.kohort("logs", f"{fresh}-nothing-like-it")
    assert (answer.code, answer.err.count("\n")) == (2, 1)


# Prefixes


def pod(name: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=name))


def test_pods_that_come_after_each_other_differ_in_colour() -> None:
    prefixes = Prefixes(COLOURED, "train")
    first, second = prefixes.of(pod("train-a")), prefixes.of(pod("train-b"))
    assert first.replace(b"a]", b"b]") != second
    assert prefixes.of(pod("train-a")) == first


def test_pods_of_several_jobs_are_named_by_their_job() -> None:
    labels = {"batch.kubernetes.io/job-completion-index": "0", "batch.kubernetes.io/job-name": "sweep-w-1"}
    found = Pod(metadata=ObjectMeta(name="sweep-w-1-0-abcde", labels=labels))
    assert Prefixes(PLAIN, "sweep").of(found) == b"[w-1-0-abcde] "
    assert Prefixes(PLAIN, "sweep-w-1").of(found) == b"[0] "


def test_lines_of_a_single_pod_have_no_prefix() -> None:
    assert Prefixes(PLAIN, "train", is_shown=False).of(pod("train-a")) == b""
    assert Prefixes(PLAIN, "train").of(pod("train-a")) == b"[a] "
