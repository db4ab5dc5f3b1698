"""`kohort submit`: what it creates and rejects, and what it prints while it waits."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from cli.clusters import JOB, Cluster
from kit.builders.core import make_namespace
from kit.builders.kueue import make_local_queue
from kit.commands import CommandResult, run_command
from kohort.api.names import check_label
from kohort.cli.job_builder import (
    MAX_NAME,
    JobArguments,
    JobShape,
    PodResources,
    SubmitError,
    build_job,
    name_after,
    seconds_of,
)
from kohort.cli.main import main
from kohort.embedded.runtimes.environment import expand
from kohort.jobs.keys import MAX_EXEC_TIME_LABEL, PRIORITY_CLASS_LABEL, QUEUE_NAME_LABEL


def made(*arguments: str) -> dict[str, Any]:
    """The Job of a client-side dry run."""
    answer = run_command(main, ["submit", "--dry-run=client", "-o", "yaml", *arguments])
    assert answer.code == 0, answer
    found: dict[str, Any] = yaml.safe_load(answer.out)
    return found


def container(job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = job["spec"]["template"]["spec"]["containers"][0]
    return found


# What it makes


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python train.py", "train"),
        ("python3.11 -u ./src/Train_Model.py --lr 3", "train-model"),
        ("python -m research.models.llm", "llm"),
        ("torchrun --nproc-per-node 8 finetune.py", "finetune"),
        ("/opt/bin/simulate", "simulate"),
        ("OMP_NUM_THREADS=1 ./run.sh", "run"),
        ("bash", "bash"),
        ("env", "env"),
        ("--", "job"),
        (f"./{'a' * 100}", "a" * 52),
    ],
)
def test_a_job_is_called_after_its_command(command: str, name: str) -> None:
    assert name_after(command.split()) == name


def test_a_script_in_quotes_is_called_after_its_shell() -> None:
    assert name_after(["bash", "-c", "echo hello; sleep 5"]) == "bash"


@given(st.lists(st.text()))
def test_the_name_derived_from_any_command_is_valid(command: list[str]) -> None:
    name = name_after(command)
    assert check_label(name) is None
    assert len(name) <= MAX_NAME


def test_a_manifest_does_not_set_suspend() -> None:
    """Applied again, as GitOps does, it would restart the running Job (JOB-24)."""
    assert "suspend" not in made("--cpu", "1", "--", "true")["spec"]


def test_a_job_waits_suspended_under_the_label_of_its_queue() -> None:
    assert build_job(JobArguments(("true",), "default"))["spec"]["suspend"] is True
    job = made("-q", "team-a", "--priority", "high", "--max-time", "1h30m", "--cpu", "1", "--", "python", "train.py")
    assert job["metadata"]["generateName"] == "train-"
    assert job["metadata"]["labels"] == {
        QUEUE_NAME_LABEL: "team-a",
        PRIORITY_CLASS_LABEL: "high",
        MAX_EXEC_TIME_LABEL: "5400",
    }


def test_each_pod_gets_its_requests_and_memory_and_gpus_are_limits_too() -> None:
    job = made("--gpus", "2", "--cpu", "8", "--memory", "32Gi", "--", "true")
    assert container(job)["resources"] == {
        "requests": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "2"},
        "limits": {"memory": "32Gi", "nvidia.com/gpu": "2"},
    }
    other = made("--gpus", "1", "--gpu-resource", "amd.com/gpu", "--", "true")
    assert container(other)["resources"]["limits"] == {"amd.com/gpu": "1"}


def test_pods_side_by_side_all_have_to_succeed() -> None:
    spec = made("--cpu", "1", "--parallel", "16", "--indexed", "--retries", "3", "--", "true")["spec"]
    assert (spec["parallelism"], spec["completions"], spec["completionMode"], spec["backoffLimit"]) == (
        16,
        16,
        "Indexed",
        3,
    )
    assert made("--cpu", "1", "--parallel", "2", "--completions", "9", "--", "true")["spec"]["completions"] == 9


def test_pods_that_are_pushed_aside_do_not_count_as_failures() -> None:
    rules = made("--cpu", "1", "--", "true")["spec"]["podFailurePolicy"]["rules"]
    assert rules == [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]


def test_the_command_keeps_its_own_options() -> None:
    job = made("--cpu", "1", "python", "train.py", "--cpu", "9", "-q", "x")
    assert container(job)["command"] == ["python", "train.py", "--cpu", "9", "-q", "x"]


@example("$($$)")
@given(st.text(alphabet="$()A ", max_size=12))
def test_pods_get_dollars_as_they_were_typed(text: str) -> None:
    job = build_job(JobArguments(("echo", text), "default", env={"PRICE": text}))
    found = container(job)
    assert [expand(word, {}) for word in found["command"]] == ["echo", text]
    assert expand(found["env"][0]["value"], {}) == text


def test_variables_come_from_files_the_line_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    file = tmp_path / "env"
    file.write_text("# a comment\n\nEPOCHS=1\nNAME=two words\n")
    job = made("--cpu", "1", "--env-from-file", str(file), "--env", "EPOCHS=3", "--env", "TOKEN", "--", "true")
    assert {each["name"]: each["value"] for each in container(job)["env"]} == {
        "EPOCHS": "3",
        "NAME": "two words",
        "TOKEN": "secret",
    }


def test_labels_annotations_nodes_and_the_rest_go_where_they_belong() -> None:
    job = made(
        *("--cpu", "1", "--name", "fixed", "-n", "lab", "--image", "python:3", "--workdir", "/src"),
        *("--label", "team=a", "--annotation", "note=a b", "--node-selector", "gpu=a100", "--", "true"),
    )
    assert job["metadata"] == {
        "name": "fixed",
        "namespace": "lab",
        "labels": {"team": "a"},
        "annotations": {"note": "a b"},
    }
    assert job["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "a100"}
    assert (container(job)["image"], container(job)["workingDir"]) == ("python:3", "/src")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("4h", 14400), ("2d", 172800), ("1d12h", 129600)]
)
def test_durations_are_accepted_in_common_notations(text: str, seconds: int) -> None:
    assert seconds_of(text, "--max-time") == seconds


def test_a_job_without_requests_is_reported_as_not_counted_in_quota() -> None:
    answer = run_command(main, ["submit", "--dry-run=client", "--image", "x", "--", "true"])
    assert answer == CommandResult(
        0,
        "job.batch/true-… created (client dry run)\n",
        "no resources requested, so no quota is used: set --cpu, --memory or --gpus\n",
    )


# What it refuses


@pytest.mark.parametrize(
    ("job_arguments", "why"),
    [
        (JobArguments((), "default"), "no command specified: append it after --"),
        (JobArguments(("true",), "default", name="Bad_Name"), "--name 'Bad_Name' is malformed"),
        (
            JobArguments(("true",), "default", amounts=PodResources(cpu="lots")),
            "--cpu: invalid quantity 'lots': use 8, 0.5 or 500m",
        ),
        (JobArguments(("true",), "default", amounts=PodResources(memory="8 GB")), "--memory: invalid quantity '8 GB'"),
        (JobArguments(("true",), "default", amounts=PodResources(gpu_resource="a b")), "--gpu-resource 'a b'"),
        (JobArguments(("true",), "default", max_seconds=0), "--max-time must be greater than 0"),
        (JobArguments(("true",), "default", shape=JobShape(4, 2)), "--completions 2 is less than --parallel 4"),
        (JobArguments(("true",), "default", labels={"a b": "c"}), "--label 'a b'"),
    ],
)
def test_arguments_that_make_no_job_are_reported_by_their_option(job_arguments: JobArguments, why: str) -> None:
    with pytest.raises(SubmitError) as lines:
        build_job(job_arguments)
    assert str(lines.value).startswith(why)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--max-time", "soon", "--", "true"), "--max-time: invalid duration 'soon': use 90s, 30m, 4h or 2d"),
        (("--env", "UNSET_VARIABLE", "--", "true"), "--env UNSET_VARIABLE: variable not set"),
        (("--label", "team", "--", "true"), "--label: invalid value 'team': use KEY=VALUE"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], why: str) -> None:
    answer = run_command(main, ["submit", "--dry-run=client", *arguments])
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert why in answer.err


def test_a_misspelt_queue_is_reported_before_anything_is_created(queues: Cluster) -> None:
    before = queues.names(JOB)
    answer = queues.kohort("submit", "-q", "taem-a", "--cpu", "1", "--", "true")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == "kohort: error: LocalQueue 'taem-a' not found in namespace default: did you mean team-a?\n"
    assert queues.names(JOB) == before


def test_without_a_queue_the_default_one_must_be_there(queues: Cluster) -> None:
    answer = queues.kohort("submit", "--cpu", "1", "--", "true")
    assert answer.code == 2
    assert "LocalQueue `default` not found in namespace default: set --queue; available: " in answer.err
    assert "team-a, team-b" in answer.err


def test_a_misspelt_priority_class_is_reported(queues: Cluster) -> None:
    answer = queues.kohort("submit", "-q", "team-a", "--priority", "hihg", "--cpu", "1", "--", "true")
    assert (answer.code, "WorkloadPriorityClass 'hihg' not found: did you mean high?" in answer.err) == (2, True)


def test_a_name_in_use_is_reported(queues: Cluster, fresh: str) -> None:
    asked = ("submit", "-q", "team-b", "--cpu", "1", "--name", fresh, "--", "true")
    assert queues.kohort(*asked).out == f"job.batch/{fresh} created\n"
    answer = queues.kohort(*asked)
    assert (answer.code, answer.err) == (
        2,
        f"kohort: error: Job {fresh} already exists: choose another --name\n",
    )


# On a cluster


def test_a_dry_run_on_the_server_creates_nothing(queues: Cluster, fresh: str) -> None:
    answer = queues.kohort("submit", "-q", "team-a", "--name", fresh, "--dry-run=server", "-o", "json", "--", "true")
    metadata = json.loads(answer.out)["metadata"]
    assert (metadata["labels"], "managedFields" in metadata) == ({QUEUE_NAME_LABEL: "team-a"}, False)
    assert fresh not in queues.names(JOB)


def test_where_pods_are_processes_a_job_needs_no_image_and_runs_in_this_directory(
    queues: Cluster, fresh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = queues.kohort("submit", "-q", "team-a", "--cpu", "1", "--follow", "--name", fresh, "--", "pwd")
    assert (answer.code, answer.out) == (0, f"{tmp_path}\n"), answer
    assert container(queues.get(JOB, fresh))["image"] == "none"


def test_follow_prints_the_logs_and_the_state_changes_of_the_job(queues: Cluster, fresh: str) -> None:
    script = "echo hello; echo you"
    answer = queues.kohort(
        "submit", "-q", "team-a", "--cpu", "1", "--name", fresh, "--follow", "--", "sh", "-c", script
    )
    assert (answer.code, answer.out) == (0, "hello\nyou\n"), answer
    lines = answer.err.splitlines()
    assert lines[0] == f"job.batch/{fresh} created"
    assert "admitted by ClusterQueue two-cpus on default" in answer.err
    assert lines[-1].endswith("succeeded: 1 pod")


def test_lines_of_several_pods_have_prefixes(queues: Cluster, fresh: str) -> None:
    answer = queues.kohort(
        *("submit", "-q", "team-a", "--cpu", "500m", "--parallel", "2", "--indexed", "--name", fresh, "--follow"),
        *("--", "sh", "-c", "echo I am $JOB_COMPLETION_INDEX"),
    )
    assert sorted(answer.out.splitlines()) == ["[0] I am 0", "[1] I am 1"], answer


def test_waiting_ends_with_the_exit_code_of_the_job(queues: Cluster, fresh: str) -> None:
    answer = queues.kohort(
        "submit", "-q", "team-a", "--cpu", "1", "--wait", "--name", fresh, "--", "sh", "-c", "exit 7"
    )
    assert (answer.code, answer.out) == (7, f"job.batch/{fresh} created\n"), answer
    assert "failed: Job has reached the specified backoff limit" in answer.err


def test_a_held_queue_is_reported(queues: Cluster, fresh: str) -> None:
    queues.kohort("hold", "queue", "team-c")
    answer = queues.kohort("submit", "-q", "team-c", "--cpu", "1", "--name", fresh, "--", "true")
    assert answer.code == 0
    assert answer.err == "LocalQueue team-c is held: the job stays pending until `kohort resume queue team-c`\n"
    queues.kohort("resume", "queue", "team-c")


def read_until(process: "subprocess.Popen[str]", words: str) -> str:
    """The first line with these words on standard error."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line
    raise AssertionError(f"ended without {words!r}")


def test_ctrl_c_leaves_the_job_and_prints_how_to_cancel_it(queues: Cluster, fresh: str) -> None:
    asked = ("submit", "-q", "team-b", "--cpu", "1", "--name", fresh, "--wait", "--", "true")
    with queues.apart(*asked) as process:
        read_until(process, "queued in team-b")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, f"\njob {fresh} keeps running (cancel it with `kohort cancel {fresh}`)\n")
    assert fresh in queues.names(JOB)


def test_a_pending_job_is_reported_with_its_position_and_what_it_waits_for(queues: Cluster, fresh: str) -> None:
    # An amount of its own: what is like another that has been looked at waits without being looked at again.
    asked = ("submit", "-q", "team-b", "--cpu", "1234m", "--name", fresh, "--wait", "--", "true")
    with queues.apart(*asked) as process:
        assert "queued in team-b at position" in read_until(process, "quota for cpu in flavor default")
        queues.kohort("cancel", fresh)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip().endswith("deleted before completion")) == (1, True)


def test_a_job_that_runs_too_long_is_given_up(queues: Cluster, fresh: str) -> None:
    answer = queues.kohort(
        *(
            "submit",
            "-q",
            "team-a",
            "--cpu",
            "500m",
            "--name",
            fresh,
            "--max-time",
            "1s",
            "--wait",
            "--",
            "sleep",
            "1000",
        )
    )
    assert answer.code == 1, answer
    assert answer.err.splitlines()[-1].endswith(
        f"deactivated: MaximumExecutionTimeExceeded (resume it with `kohort resume {fresh}`)"
    )


def test_without_a_queue_a_job_gets_the_default_one_of_its_namespace(queues: Cluster, fresh: str) -> None:
    queues.create(
        make_namespace(fresh),
        make_local_queue("default", "two-cpus", fresh),
    )
    answer = queues.kohort("submit", "-n", fresh, "--cpu", "500m", "--name", "train", "--wait", "--", "true")
    assert (answer.code, answer.out) == (0, "job.batch/train created\n"), answer
    assert queues.get(JOB, "train", fresh)["metadata"]["labels"][QUEUE_NAME_LABEL] == "default"
