"""A Job that did not run is never Complete: it fails, and its events name the remedy."""

from pathlib import Path
from typing import Any

from e2e.environment import UserClient, condition
from examples.example_environment import running_environment
from kit.virtual_time import eventually
from kohort.cli.runtimes import RuntimeChoice, RuntimeName
from kohort.embedded.nodes.declared import DeclaredNode
from kohort.embedded.runtimes.settings import AtStop

REMEDY = 'set "command", or run the node with --runtime podman (or docker)'
KUEUE = "kueue.x-k8s.io/v1beta2"

Object = dict[str, Any]


def queues() -> list[Object]:
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": 4}]}],
    }
    return [
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
        {
            "apiVersion": KUEUE,
            "kind": "ClusterQueue",
            "metadata": {"name": "cq"},
            "spec": {"namespaceSelector": {}, "resourceGroups": [group]},
        },
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "lq", "namespace": "default"},
            "spec": {"clusterQueue": "cq"},
        },
    ]


def job_without_command(name: str, queue: str, restart: str) -> Object:
    container = {"name": "main", "image": "busybox:1.37", "resources": {"requests": {"cpu": "100m"}}}
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": restart, "containers": [container]}}},
    }


async def fails(user: UserClient, name: str) -> Object:
    return await eventually(
        lambda: user.job(name, "default"), lambda job: condition(job, "Failed")[0] == "True", f"{name} fails"
    )


async def remedies_in_events(user: UserClient) -> set[str]:
    """The Jobs whose pods have an Event that names the remedy."""
    events = await user.all_of("events.k8s.io/v1", "Event", "default")
    named = [each for each in events if each["reason"] == "Failed" and REMEDY in each["note"]]
    return {each["regarding"]["name"].rpartition("-")[0] for each in named}


async def test_a_job_without_a_command_fails_on_the_process_runtime(tmp_path: Path) -> None:
    offered = {"cpu": "2", "memory": "4Gi", "pods": "110"}
    choice = RuntimeChoice(RuntimeName.PROCESS, tmp_path, offered, at_stop=AtStop.END)
    async with running_environment([DeclaredNode("machine", offered)], choice.make) as environment:
        admin = environment.user()
        await admin.create(*queues())
        await admin.create(
            job_without_command("queued", "lq", "Never"),
            job_without_command("plain", "", "Never"),
            job_without_command("again", "lq", "OnFailure"),
        )
        for name in ("queued", "plain", "again"):
            failed = await fails(admin, name)
            assert condition(failed, "Failed") == ("True", "BackoffLimitExceeded")
            assert condition(failed, "Complete") == ("", "")
            assert failed["status"].get("succeeded") is None
        (pod,) = await admin.pods_of("queued", "default")
        ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        assert (ended["reason"], ended["exitCode"]) == ("StartError", 128)
        assert ended["message"].endswith(REMEDY)
        await eventually(
            lambda: remedies_in_events(admin), lambda found: found == {"queued", "plain", "again"}, "an Event each"
        )
        workload = await eventually(
            lambda: admin.workload_of("queued", "default"),
            lambda found: condition(found, "Finished")[0] == "True",
            "its Workload is finished",
        )
        assert condition(workload, "Finished")[1] == "Failed"
