"""`kubectl kueue`: Kueue's own plugin by its commands, on a cluster (docs/spec/api-config-metrics.md §14)."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli.clusters import JOB, Cluster
from cli.test_hold import waiting, workload_of
from kit.builders.kueue import make_kueue_object, make_local_queue
from kit.commands import CommandResult, run_command
from kohort import __version__
from kohort.api.kueue.v1beta2 import ResourceFlavor
from kohort.cli.kueuectl.main import main
from kohort.cli.targets import CLUSTER_QUEUE, LOCAL_QUEUE, WORKLOAD

FLAVOR = ResourceFlavor.info.resource


def kueuectl(queues: Cluster, *arguments: str, typed: str | None = None) -> CommandResult:
    """A command, with the connection in front of it."""
    return run_command(main, [f"--kubeconfig={queues.kubeconfig}", *arguments], typed)


def columns(header: str) -> list[str]:
    return re.split(r" {2,}", header)


# create


def test_create_a_cluster_queue_with_quota(queues: Cluster, fresh: str) -> None:
    answer = kueuectl(
        *(queues, "create", "cq", fresh, "--cohort", "lab", "--queuing-strategy", "StrictFIFO"),
        *("--namespace-selector", "team=a,env=b", "--reclaim-within-cohort", "Any"),
        *("--preemption-within-cluster-queue", "LowerPriority"),
        *("--nominal-quota", "alpha:cpu=9;memory=36Gi,beta:cpu=18;memory=72Gi"),
        *("--borrowing-limit", "alpha:cpu=1;memory=1Gi", "--lending-limit", "beta:cpu=2;memory=2Gi"),
    )
    assert answer == CommandResult(0, f"clusterqueue.kueue.x-k8s.io/{fresh} created\n", "")
    spec = queues.get(CLUSTER_QUEUE, fresh, "")["spec"]
    assert (spec["cohortName"], spec["queueingStrategy"]) == ("lab", "StrictFIFO")
    assert spec["namespaceSelector"] == {"matchLabels": {"team": "a", "env": "b"}}
    assert spec["preemption"]["reclaimWithinCohort"] == "Any"
    assert spec["preemption"]["withinClusterQueue"] == "LowerPriority"
    assert spec["resourceGroups"] == [
        {
            "coveredResources": ["cpu", "memory"],
            "flavors": [
                {
                    "name": "alpha",
                    "resources": [
                        {"name": "cpu", "nominalQuota": "9", "borrowingLimit": "1"},
                        {"name": "memory", "nominalQuota": "36Gi", "borrowingLimit": "1Gi"},
                    ],
                },
                {
                    "name": "beta",
                    "resources": [
                        {"name": "cpu", "nominalQuota": "18", "lendingLimit": "2"},
                        {"name": "memory", "nominalQuota": "72Gi", "lendingLimit": "2Gi"},
                    ],
                },
            ],
        }
    ]


def test_a_cluster_queue_takes_all_namespaces_by_default(queues: Cluster, fresh: str) -> None:
    answer = kueuectl(queues, "create", "clusterqueue", fresh, "--dry-run", "client", "-o", "yaml")
    spec = yaml.safe_load(answer.out)["spec"]
    assert spec == {
        "queueingStrategy": "BestEffortFIFO",
        "namespaceSelector": {},
        "preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"},
    }
    assert fresh not in queues.names(CLUSTER_QUEUE)


def test_a_local_queue_needs_its_cluster_queue_unless_that_is_ignored(queues: Cluster, fresh: str) -> None:
    refused = kueuectl(queues, "create", "lq", fresh, "-c", "two-cpsu")
    assert (refused.code, refused.err) == (
        2,
        "kubectl kueue: error: ClusterQueue 'two-cpsu' not found: did you mean two-cpus?\n",
    )
    assert kueuectl(queues, "create", "lq", fresh, "-c", "later", "-i").code == 0
    assert queues.get(LOCAL_QUEUE, fresh)["spec"]["clusterQueue"] == "later"
    rehearsed = kueuectl(queues, "create", "localqueue", f"{fresh}-x", "-c", "two-cpus", "--dry-run=server")
    assert rehearsed.out == f"localqueue.kueue.x-k8s.io/{fresh}-x created (server dry run)\n"
    assert f"{fresh}-x" not in queues.names(LOCAL_QUEUE)


def test_create_a_flavor(queues: Cluster, fresh: str) -> None:
    answer = kueuectl(
        *(queues, "create", "rf", fresh, "--node-labels", "gpu=a100,zone=b"),
        *("--node-taints", "spot=true:NoSchedule,dedicated:NoExecute"),
        *("--tolerations", "spot=true:NoSchedule,any,:NoExecute"),
    )
    assert answer.out == f"resourceflavor.kueue.x-k8s.io/{fresh} created\n"
    assert queues.get(FLAVOR, fresh, "")["spec"] == {
        "nodeLabels": {"gpu": "a100", "zone": "b"},
        "nodeTaints": [
            {"key": "spot", "value": "true", "effect": "NoSchedule"},
            {"key": "dedicated", "effect": "NoExecute"},
        ],
        "tolerations": [
            {"key": "spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"},
            {"key": "any", "operator": "Exists"},
            {"operator": "Exists", "effect": "NoExecute"},
        ],
    }


# list


def test_list_cluster_queues(queues: Cluster) -> None:
    header, *lines = kueuectl(queues, "list", "clusterqueue").out.splitlines()
    assert columns(header) == ["NAME", "COHORT", "PENDING WORKLOADS", "ADMITTED WORKLOADS", "ACTIVE", "AGE"]
    found = {line.split()[0]: line for line in lines}
    assert "true" in found["two-cpus"]
    assert "two-cpus" not in kueuectl(queues, "list", "cq", "--active=false").out
    assert "two-cpus" in kueuectl(queues, "list", "cq", "--active=true").out
    assert "--active can be used only once" in kueuectl(queues, "list", "cq", "--active=true", "--active=false").err


def test_list_local_queues(queues: Cluster, fresh: str) -> None:
    queues.create(make_local_queue(fresh, "two-cpus"))
    header, line = kueuectl(queues, "list", "lq", "--field-selector", f"metadata.name={fresh}").out.splitlines()
    assert columns(header) == ["NAME", "CLUSTERQUEUE", "PENDING WORKLOADS", "ADMITTED WORKLOADS", "AGE"]
    assert line.split()[:4] == [fresh, "two-cpus", "0", "0"]
    everywhere = kueuectl(queues, "list", "lq", "-A", "-c", "two-cpus").out.splitlines()
    assert everywhere[0].startswith("NAMESPACE")
    assert {each.split()[2] for each in everywhere[1:]} == {"two-cpus"}


def test_list_flavors_with_their_labels_in_order(queues: Cluster, fresh: str) -> None:
    queues.create(make_kueue_object("ResourceFlavor", fresh, {"nodeLabels": {"z": "1", "a": "2"}}))
    found = kueuectl(queues, "list", "rf").out.splitlines()
    assert "NODE LABELS" in found[0]
    assert any("a=2, z=1" in line for line in found)


def test_list_workloads_with_their_jobs(queues: Cluster, fresh: str) -> None:
    workload = waiting(queues, fresh)
    header, line = queues.until(
        lambda: kueuectl(queues, "list", "workload", "--for", f"job/{fresh}").out.splitlines(),
        lambda found: len(found) == 2,
    )
    assert columns(header) == [
        *(
            "NAME",
            "JOB TYPE",
            "JOB NAME",
            "LOCALQUEUE",
            "CLUSTERQUEUE",
            "STATUS",
            "POSITION IN QUEUE",
            "EXEC TIME",
            "AGE",
        )
    ]
    cells = line.split()
    assert cells[:6] == [workload, "job.batch", fresh, "team-b", "nothing", "PENDING"]
    assert cells[6].isdigit()


def test_list_workloads_by_status_and_queue(queues: Cluster, fresh: str) -> None:
    workload = waiting(queues, fresh)
    assert workload in kueuectl(queues, "list", "kwl", "--status", "Pending", "-q", "team-b").out
    assert workload not in kueuectl(queues, "list", "kwl", "--status", "admitted", "--status", "finished").out
    assert workload not in kueuectl(queues, "list", "kwl", "-q", "team-a").out
    assert workload not in kueuectl(queues, "list", "kwl", "-c", "nothing").out
    assert workload in kueuectl(queues, "list", "kwl", "--status", "all", "-o", "name").out
    assert "one of all, pending" in kueuectl(queues, "list", "kwl", "--status", "lost").err


def test_list_pods_of_a_job_as_the_server_shows_them(queues: Cluster, fresh: str) -> None:
    queues.kohort("submit", "-q", "team-a", "--cpu", "500m", "--name", fresh, "--wait", "--", "true")
    header, line = kueuectl(queues, "list", "pods", "--for", f"jobs.batch/{fresh}").out.splitlines()
    assert header.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert line.split()[2] == "Completed"
    pod = line.split()[0]
    assert kueuectl(queues, "list", "po", "--for", f"pod/{pod}", "-o", "name").out == f"pod/{pod}\n"
    assert "NODE" in kueuectl(queues, "list", "po", "--for", f"job/{fresh}", "-o", "wide").out
    refused = kueuectl(queues, "list", "pods", "--for", "localqueue/team-a")
    assert (refused.code, "unsupported kind: LocalQueue" in refused.err) == (2, True)


def test_an_empty_result_is_reported_on_standard_error(queues: Cluster, fresh: str) -> None:
    assert kueuectl(queues, "list", "lq", "-n", "kube-system") == CommandResult(
        0, "", "No resources found in kube-system namespace.\n"
    )
    assert kueuectl(queues, "list", "rf", "-l", f"x={fresh}") == CommandResult(0, "", "No resources found\n")
    assert kueuectl(queues, "list", "pods", "--for", f"job/{fresh}").err == "No resources found in default namespace.\n"


def test_the_page_size_is_taken_from_the_environment(queues: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kueuectl(queues, "list", "lq", "-o", "name").out
    monkeypatch.setenv("KUEUECTL_LIST_REQUEST_LIMIT", "1")
    assert kueuectl(queues, "list", "lq", "-o", "name").out == whole
    monkeypatch.setenv("KUEUECTL_LIST_REQUEST_LIMIT", "many")
    assert "invalid KUEUECTL_LIST_REQUEST_LIMIT 'many': must be an integer" in kueuectl(queues, "list", "lq").err


def test_other_forms_of_a_list(queues: Cluster) -> None:
    found = json.loads(kueuectl(queues, "list", "cq", "-o", "json").out)
    assert (found["kind"], found["apiVersion"]) == ("ClusterQueueList", "kueue.x-k8s.io/v1beta2")
    names = kueuectl(queues, "list", "lq", "-o", 'jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}').out
    assert {"team-a", "team-b"} <= set(names.split())
    assert (
        kueuectl(queues, "stop", "lq", "team-c", "--dry-run=client", "-o", "jsonpath={.metadata.name}").out == "team-c"
    )
    refused = kueuectl(queues, "list", "lq", "-o", "go-template={{.}}")
    assert (refused.code, "use -o jsonpath=TEMPLATE" in refused.err) == (2, True)


# stop, resume, delete


def test_stop_and_resume_queues(queues: Cluster) -> None:
    assert kueuectl(queues, "stop", "lq", "team-c").out == "localqueue.kueue.x-k8s.io/team-c\n"
    assert queues.get(LOCAL_QUEUE, "team-c")["spec"]["stopPolicy"] == "HoldAndDrain"
    kueuectl(queues, "stop", "localqueue", "team-c", "--keep-already-running")
    assert queues.get(LOCAL_QUEUE, "team-c")["spec"]["stopPolicy"] == "Hold"
    rehearsed = kueuectl(queues, "resume", "lq", "team-c", "--dry-run=client", "-o", "json")
    assert json.loads(rehearsed.out)["spec"]["stopPolicy"] == "None"
    assert queues.get(LOCAL_QUEUE, "team-c")["spec"]["stopPolicy"] == "Hold"
    kueuectl(queues, "resume", "lq", "team-c")
    assert queues.get(LOCAL_QUEUE, "team-c")["spec"]["stopPolicy"] == "None"
    assert kueuectl(queues, "stop", "cq", "nothing", "--keep-already-running").code == 0
    assert kueuectl(queues, "resume", "cq", "nothing").out == "clusterqueue.kueue.x-k8s.io/nothing\n"


def test_stop_and_resume_a_workload(queues: Cluster, fresh: str) -> None:
    workload = waiting(queues, fresh)
    assert kueuectl(queues, "stop", "workload", workload).out == f"workload.kueue.x-k8s.io/{workload} stopped\n"
    assert queues.get(WORKLOAD, workload)["spec"]["active"] is False
    assert kueuectl(queues, "resume", "kwl", workload).out == f"workload.kueue.x-k8s.io/{workload} resumed\n"
    assert queues.get(WORKLOAD, workload)["spec"]["active"] is True


def test_deleting_a_workload_deletes_its_job_after_a_question(queues: Cluster, fresh: str) -> None:
    workload = waiting(queues, fresh)
    asked = kueuectl(queues, "delete", "workload", workload, typed="n\n")
    assert f"  - jobs.batch/{fresh} associated with the default/{workload} workload\n" in asked.out
    assert asked.out.endswith("Deletion is canceled\n")
    rehearsed = kueuectl(queues, "delete", "workload", workload, "--dry-run=client")
    assert rehearsed.out == f"jobs.batch/{fresh} deleted (client dry run)\n"
    assert fresh in queues.names(JOB)
    assert kueuectl(queues, "delete", "kwl", workload, "-y").out == f"jobs.batch/{fresh} deleted\n"
    assert fresh not in queues.names(JOB)


def test_a_workload_without_an_owner_is_deleted_itself(queues: Cluster, fresh: str) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    pod_sets = [{"name": "main", "count": 1, "template": template}]
    queues.create(make_kueue_object("Workload", fresh, {"queueName": "team-b", "podSets": pod_sets}, "default"))
    answer = kueuectl(queues, "delete", "workload", fresh, "no-such-one")
    assert answer.out == f"workload.kueue.x-k8s.io/{fresh} deleted\n"
    assert 'workloads.kueue.x-k8s.io "no-such-one" not found' in answer.err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "specify names or --all"),
        (("a", "--all"), "names and --all are mutually exclusive"),
        (("a", "-A"), "-A cannot be combined with names"),
    ],
)
def test_what_is_to_be_deleted_must_be_clear(queues: Cluster, arguments: tuple[str, ...], why: str) -> None:
    answer = kueuectl(queues, "delete", "workload", *arguments)
    assert (answer.code, why in answer.err) == (2, True)


# The rest


def test_version_of_the_client_and_image_of_the_manager(queues: Cluster) -> None:
    assert kueuectl(queues, "version").out == f"Client Version: v{__version__}\n"


def test_commands_of_kubectl_are_passed_to_kubectl_unchanged(tmp_path: Path) -> None:
    fake = tmp_path / "kubectl"
    fake.write_text('#!/bin/sh\necho "$0: $@"\n')
    fake.chmod(0o755)
    code = "from kohort.cli.kueuectl.main import main; main()"
    words = ["get", "kwl", "-n", "lab", "-o", "wide", "--watch"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout.endswith(f": {' '.join(words)}\n"), done


def test_a_missing_kubectl_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    answer = run_command(main, ["describe", "cq", "a"])
    assert (answer.code, "kubectl not found" in answer.err) == (2, True)


def test_flags_are_accepted_before_and_after_the_command(queues: Cluster) -> None:
    behind = run_command(main, ["list", "lq", "-n", "kube-system", f"--kubeconfig={queues.kubeconfig}"])
    assert behind.err == "No resources found in kube-system namespace.\n"
    before = run_command(main, ["-n", "kube-system", f"--kubeconfig={queues.kubeconfig}", "list", "lq"])
    assert before == behind
    assert "team-a" in kueuectl(queues, "-n", "kube-system", "list", "lq", "-n", "default").out


def test_an_impersonated_user_has_that_users_permissions(queues: Cluster) -> None:
    answer = kueuectl(queues, "list", "cq", "--as", "unprivileged", "--as-group", "nothing")
    assert answer.code == 2
    assert 'User "unprivileged" cannot list' in answer.err


def test_a_cluster_and_a_user_may_be_named_one_by_one(queues: Cluster) -> None:
    config = yaml.safe_load(queues.kubeconfig.read_text())
    cluster, user = config["clusters"][0]["name"], config["users"][0]["name"]
    assert "team-a" in kueuectl(queues, "list", "lq", "--cluster", cluster, "--user", user).out
    assert "user 'x' of context" in kueuectl(queues, "list", "lq", "--user", "x").err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("lsit", "cq"), "Did you mean 'list'?"),
        (("list", "clusterqueu"), "Did you mean 'clusterqueue'?"),
        (("list", "lq", "--token", "wrong"), "not authenticated at"),
        (("list", "lq", "--client-key", "x"), "--client-certificate and --client-key must be used together"),
        (("list", "lq", "--as-group", "x"), "--as-group and --as-uid require --as"),
        (("list", "kwl", "--for", "train"), "use TYPE[.GROUP]/NAME"),
        (("list", "kwl", "--for", "nonsense/train"), "the server has no resource type 'nonsense'"),
        (("stop", "workload", "no-such-one"), "Workload 'no-such-one' not found in namespace default"),
    ],
)
def test_mistakes_are_reported(queues: Cluster, arguments: tuple[str, ...], why: str) -> None:
    answer = kueuectl(queues, *arguments)
    assert (answer.code, why in answer.err) == (2, True), answer.err


def test_workloads_of_jobs_are_found_by_any_name_of_their_kind(queues: Cluster, fresh: str) -> None:
    workload = waiting(queues, fresh)
    for whose in (f"job/{fresh}", f"jobs/{fresh}", f"job.batch/{fresh}", f"Jobs.batch/{fresh}"):
        assert workload in kueuectl(queues, "list", "kwl", "--for", whose).out
    assert workload_of(queues, fresh) == workload
