"""Users of a shared cluster: one installs, a batch administrator runs the queues, an engineer submits."""

from collections.abc import Awaitable
from typing import Any

import pytest

from e2e.environment import QUEUE_NAME, Environment, UserClient, condition, message
from kit.builders.core import make_namespace
from kit.virtual_time import eventually
from kohort.install.roles import user_roles
from kohort.jobs.builtin import built_in_frameworks
from kohort.kube.errors import StatusError

KUEUE = "kueue.x-k8s.io/v1beta2"
RBAC = "rbac.authorization.k8s.io"
LAB, ELSEWHERE = "lab", "elsewhere"

Object = dict[str, Any]


def binding(kind: str, role: str, user: str, namespace: str = "") -> Object:
    """Binds a ClusterRole to a user, cluster-wide or in a namespace."""
    metadata = {"name": f"{user}-{role}", **({"namespace": namespace} if namespace else {})}
    subject = {"kind": "User", "apiGroup": RBAC, "name": user}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "subjects": [subject], "roleRef": reference}


def cluster_queue(*resources: str) -> Object:
    """A queue with a quota of four for each resource."""
    quotas = [{"name": name, "nominalQuota": "4" if name == "cpu" else "4Gi"} for name in resources]
    group = {"coveredResources": list(resources), "flavors": [{"name": "nodes", "resources": quotas}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [group]}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "lab"}, "spec": spec}


def job(name: str, namespace: str = LAB, queue: str = "", **requests: str) -> Object:
    """A job of one pod."""
    container = {"name": "main", "image": "registry.example/main:1", "resources": {"requests": requests}}
    labels = {QUEUE_NAME: queue} if queue else {}
    template = {
        "metadata": {"annotations": {"kohort.dev/run-seconds": "1"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"template": template},
    }


async def run_three_roles(environment: Environment) -> None:
    """The three users, one after the other."""
    admin, bea, mia = (
        environment.user(),
        environment.user(environment.as_user("bea")),
        environment.user(environment.as_user("mia")),
    )
    await _the_administrator_installs(admin)
    await _the_batch_administrator_opens_queues(bea)
    await _the_engineer_submits(mia)
    await _a_job_without_a_queue_bypasses_quota(admin)
    await _a_job_with_an_uncovered_resource_stays_pending(mia, bea)
    await _a_queue_is_held_and_resumed(mia, bea)


async def _the_administrator_installs(admin: UserClient) -> None:
    await admin.create(
        *user_roles(built_in_frameworks()),
        *(make_namespace(name) for name in (LAB, ELSEWHERE)),
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "nodes"}, "spec": {}},
        binding("ClusterRoleBinding", "kueue-batch-admin-role", "bea"),
        binding("RoleBinding", "kueue-batch-user-role", "mia", LAB),
    )


async def _the_batch_administrator_opens_queues(bea: UserClient) -> None:
    default = {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": "default", "namespace": LAB},
        "spec": {"clusterQueue": "lab"},
    }
    await _once_allowed(bea.create, cluster_queue("cpu"))
    await bea.create(default)
    await _is_refused(bea.get("v1", "Secret", "any", LAB))
    found = await eventually(
        lambda: bea.get(KUEUE, "LocalQueue", "default", LAB),
        lambda queue: condition(queue, "Active") == ("True", "Ready"),
        "the LocalQueue is active",
    )
    assert found is not None
    assert found["status"]["pendingWorkloads"] == 0


async def _the_engineer_submits(mia: UserClient) -> None:
    """Without a label: the namespace has a default queue."""
    await _once_allowed(mia.create, job("first", cpu="1"))
    assert (await mia.job("first", LAB))["metadata"]["labels"][QUEUE_NAME] == "default"
    await eventually(
        lambda: mia.workload_of("first", LAB),
        lambda found: condition(found, "Finished") == ("True", "Succeeded"),
        "the job finishes",
    )
    await _is_refused(mia.create(cluster_queue("cpu", "memory")))
    await _is_refused(mia.create(job("abroad", ELSEWHERE, cpu="1")))
    await _is_refused(mia.patch(KUEUE, "LocalQueue", "default", LAB, {"spec": {"stopPolicy": "Hold"}}))


async def _a_job_without_a_queue_bypasses_quota(admin: UserClient) -> None:
    """No label, and no default queue in its namespace: the job is not suspended."""
    await admin.create(job("free", ELSEWHERE, cpu="1"))
    made = await admin.job("free", ELSEWHERE)
    assert not made["spec"].get("suspend")
    assert await admin.workload_of("free", ELSEWHERE) is None


async def _a_job_with_an_uncovered_resource_stays_pending(mia: UserClient, bea: UserClient) -> None:
    await mia.create(job("hungry", cpu="1", memory="1Gi"))
    waiting = await eventually(
        lambda: mia.workload_of("hungry", LAB),
        lambda found: message(found, "QuotaReserved"),
        "the condition has a message",
    )
    assert condition(waiting, "QuotaReserved")[0] == "False"
    assert "resource memory unavailable in ClusterQueue" in message(waiting, "QuotaReserved")
    assert (await mia.job("hungry", LAB))["spec"]["suspend"] is True
    await bea.patch(KUEUE, "ClusterQueue", "lab", "", {"spec": cluster_queue("cpu", "memory")["spec"]})
    await eventually(
        lambda: mia.workload_of("hungry", LAB),
        lambda found: condition(found, "Finished") == ("True", "Succeeded"),
        "covered, it runs",
    )


async def _a_queue_is_held_and_resumed(mia: UserClient, bea: UserClient) -> None:
    await bea.patch(KUEUE, "LocalQueue", "default", LAB, {"spec": {"stopPolicy": "Hold"}})
    await mia.create(job("patient", cpu="1"))
    await eventually(
        lambda: mia.workload_of("patient", LAB),
        lambda found: condition(found, "QuotaReserved") == ("False", "Suspended"),
        "it stays pending in a held queue",
    )
    await bea.patch(KUEUE, "LocalQueue", "default", LAB, {"spec": {"stopPolicy": "None"}})
    await eventually(
        lambda: mia.workload_of("patient", LAB),
        lambda found: condition(found, "Finished") == ("True", "Succeeded"),
        "it runs in a resumed queue",
    )


async def _is_refused(attempt: Awaitable[object]) -> None:
    with pytest.raises(StatusError) as refused:
        await attempt
    assert refused.value.code == 403


async def _once_allowed(create: Any, *objects: Object) -> None:
    """A real API server takes a moment to apply new roles."""

    async def attempt() -> bool:
        try:
            await create(*objects)
        except StatusError as error:
            if error.code != 403:
                raise
            return False
        return True

    await eventually(attempt, bool, "the role is in force")
