"""Who does what on a shared cluster: one installs, a batch administrator runs the queues, an engineer submits."""

from collections.abc import Awaitable
from typing import Any

import pytest

from journeys.houses import QUEUE_NAME, House, Person, comes_true, condition, message
from kohort.install.roles import user_roles
from kohort.kube.errors import StatusError

KUEUE = "kueue.x-k8s.io/v1beta2"
RBAC = "rbac.authorization.k8s.io"
LAB, ELSEWHERE = "lab", "elsewhere"

Object = dict[str, Any]


def binding(kind: str, role: str, user: str, namespace: str = "") -> Object:
    """A user gets a ClusterRole, everywhere or in a namespace."""
    metadata = {"name": f"{user}-{role}", **({"namespace": namespace} if namespace else {})}
    subject = {"kind": "User", "apiGroup": RBAC, "name": user}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "subjects": [subject], "roleRef": reference}


def cluster_queue(*resources: str) -> Object:
    """A queue of four of everything that it covers."""
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


async def play(house: House) -> None:
    """All three, one after the other."""
    admin, bea, mia = house.at(), house.at(house.as_user("bea")), house.at(house.as_user("mia"))
    await _the_administrator_installs(admin)
    await _the_batch_administrator_opens_queues(bea)
    await _the_engineer_submits(mia)
    await _what_no_queue_knows_bypasses_it(admin)
    await _what_is_not_covered_waits_and_says_so(mia, bea)
    await _a_queue_is_held_and_let_go(mia, bea)


async def _the_administrator_installs(admin: Person) -> None:
    await admin.create(
        *user_roles(),
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (LAB, ELSEWHERE)),
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "nodes"}, "spec": {}},
        binding("ClusterRoleBinding", "kueue-batch-admin-role", "bea"),
        binding("RoleBinding", "kueue-batch-user-role", "mia", LAB),
    )


async def _the_batch_administrator_opens_queues(bea: Person) -> None:
    default = {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": "default", "namespace": LAB},
        "spec": {"clusterQueue": "lab"},
    }
    await _once_allowed(bea.create, cluster_queue("cpu"))
    await bea.create(default)
    await _is_refused(bea.get("v1", "Secret", "any", LAB))
    found = await comes_true(
        lambda: bea.get(KUEUE, "LocalQueue", "default", LAB),
        lambda queue: condition(queue, "Active") == ("True", "Ready"),
        "the LocalQueue is open",
    )
    assert found["status"]["pendingWorkloads"] == 0


async def _the_engineer_submits(mia: Person) -> None:
    """Without a label, as a namespace with a default queue allows."""
    await _once_allowed(mia.create, job("first", cpu="1"))
    assert (await mia.job("first", LAB))["metadata"]["labels"][QUEUE_NAME] == "default"
    await comes_true(
        lambda: mia.workload_of("first", LAB),
        lambda found: condition(found, "Finished") == ("True", "Succeeded"),
        "the job ran to its end",
    )
    await _is_refused(mia.create(cluster_queue("cpu", "memory")))
    await _is_refused(mia.create(job("abroad", ELSEWHERE, cpu="1")))
    await _is_refused(mia.patch(KUEUE, "LocalQueue", "default", LAB, {"spec": {"stopPolicy": "Hold"}}))


async def _what_no_queue_knows_bypasses_it(admin: Person) -> None:
    """No label, and no default queue in its namespace: nobody holds the job."""
    await admin.create(job("free", ELSEWHERE, cpu="1"))
    made = await admin.job("free", ELSEWHERE)
    assert not made["spec"].get("suspend")
    assert await admin.workload_of("free", ELSEWHERE) is None


async def _what_is_not_covered_waits_and_says_so(mia: Person, bea: Person) -> None:
    await mia.create(job("hungry", cpu="1", memory="1Gi"))
    waiting = await comes_true(
        lambda: mia.workload_of("hungry", LAB), lambda found: message(found, "QuotaReserved"), "it is told why it waits"
    )
    assert condition(waiting, "QuotaReserved")[0] == "False"
    assert "resource memory unavailable in ClusterQueue" in message(waiting, "QuotaReserved")
    assert (await mia.job("hungry", LAB))["spec"]["suspend"] is True
    await bea.patch(KUEUE, "ClusterQueue", "lab", "", {"spec": cluster_queue("cpu", "memory")["spec"]})
    await comes_true(
        lambda: mia.workload_of("hungry", LAB),
        lambda found: condition(found, "Finished") == ("True", "Succeeded"),
        "covered, it runs",
    )


async def _a_queue_is_held_and_let_go(mia: Person, bea: Person) -> None:
    await bea.patch(KUEUE, "LocalQueue", "default", LAB, {"spec": {"stopPolicy": "Hold"}})
    await mia.create(job("patient", cpu="1"))
    await comes_true(
        lambda: mia.workload_of("patient", LAB),
        lambda found: condition(found, "QuotaReserved") == ("False", "Suspended"),
        "a held queue holds it",
    )
    await bea.patch(KUEUE, "LocalQueue", "default", LAB, {"spec": {"stopPolicy": "None"}})
    await comes_true(
        lambda: mia.workload_of("patient", LAB),
        lambda found: condition(found, "Finished") == ("True", "Succeeded"),
        "let go, it runs",
    )


async def _is_refused(attempt: Awaitable[object]) -> None:
    with pytest.raises(StatusError) as refused:
        await attempt
    assert refused.value.code == 403


async def _once_allowed(create: Any, *objects: Object) -> None:
    """A real API server takes a moment to know of new roles."""

    async def attempt() -> bool:
        try:
            await create(*objects)
        except StatusError as error:
            if error.code != 403:
                raise
            return False
        return True

    await comes_true(attempt, bool, "the role is in force")
