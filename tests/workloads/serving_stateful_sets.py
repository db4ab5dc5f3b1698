"""Cases of StatefulSets: each function acts and returns what it observes."""

from workloads.serving_builders import Observed, conditions, counts, image, masked, rolled_out, stateful_set
from workloads.serving_harness import CLAIMS, PODS, STATEFUL_SETS, ServingCaseRunner


async def numbered(harness: ServingCaseRunner, replicas: int) -> Observed:
    """The state of a complete StatefulSet."""

    async def is_done() -> bool:
        found = await harness.get(STATEFUL_SETS, "db")
        status = found["status"]
        pods = await harness.items(PODS)
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and len(pods) == replicas == status.get("availableReplicas")
            and status["replicas"] == replicas
            and not any(pod["metadata"].get("deletionTimestamp") for pod in pods)
        )

    await harness.until("an end of the rollout", is_done)
    found = await harness.get(STATEFUL_SETS, "db")
    status = found["status"]
    pods = sorted(await harness.items(PODS), key=lambda pod: str(pod["metadata"]["name"]))
    return {
        "counts": counts(found),
        "conditions": conditions(found),
        "same": status["currentRevision"] == status["updateRevision"],
        "revision": masked(status["updateRevision"]),
        "pods": [
            (
                pod["metadata"]["name"],
                masked(pod["metadata"]["generateName"]),
                {key: masked(value) for key, value in pod["metadata"]["labels"].items()},
                (pod["spec"]["hostname"], pod["spec"]["subdomain"]),
                pod["spec"]["containers"][0]["image"],
                pod["metadata"]["labels"]["controller-revision-hash"] == status["updateRevision"],
            )
            for pod in pods
        ],
    }


async def replaced(harness: ServingCaseRunner, name: str) -> None:
    """Delete a pod, and wait until there is another of its name and the StatefulSet has counted it."""
    before = (await harness.get(PODS, name))["metadata"]["uid"]
    await harness.delete(PODS, name)

    async def is_counted() -> bool:
        status = (await harness.get(STATEFUL_SETS, "db"))["status"]
        pods = await harness.items(PODS)
        revisions = [pod["metadata"]["labels"]["controller-revision-hash"] for pod in pods]
        is_new = any(pod["metadata"]["name"] == name and pod["metadata"]["uid"] != before for pod in pods)
        counted = (status.get("currentReplicas", 0), status.get("updatedReplicas", 0))
        return is_new and counted == (
            revisions.count(status["currentRevision"]),
            revisions.count(status["updateRevision"]),
        )

    await harness.until("a pod in its place", is_counted)


async def a_stateful_set_comes_up_in_order(harness: ServingCaseRunner) -> Observed:
    await harness.create(STATEFUL_SETS, stateful_set())
    output = await rolled_out(harness, "statefulset/db")
    rest = await numbered(harness, 3)
    pods = sorted(await harness.items(PODS), key=lambda pod: int(pod["metadata"]["resourceVersion"]))
    born = sorted(pods, key=lambda pod: str(pod["status"]["startTime"]))
    reported = await harness.events("SuccessfulCreate")
    return {"said": output, **rest, "order": [pod["metadata"]["name"] for pod in born], "events": reported}


async def a_stateful_set_is_updated_and_undone(harness: ServingCaseRunner) -> Observed:
    await harness.create(STATEFUL_SETS, stateful_set(2))
    await numbered(harness, 2)
    await harness.merge(STATEFUL_SETS, "db", image("two"))
    forth = {"said": await rolled_out(harness, "statefulset/db"), **await numbered(harness, 2)}
    history = (await harness.kubectl("rollout", "history", "statefulset/db")).out
    undone = (await harness.kubectl("rollout", "undo", "statefulset/db")).out
    back = {"said": await rolled_out(harness, "statefulset/db"), **await numbered(harness, 2)}
    after = (await harness.kubectl("rollout", "history", "statefulset/db")).out
    reported = await harness.events("SuccessfulDelete")
    return {"forth": forth, "history": history, "undone": undone, "back": back, "after": after, "events": reported}


async def a_partition_keeps_lower_pods(harness: ServingCaseRunner) -> Observed:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    await harness.create(STATEFUL_SETS, stateful_set(3, updateStrategy=strategy))
    await numbered(harness, 3)
    await harness.merge(STATEFUL_SETS, "db", image("two"))
    output = await rolled_out(harness, "statefulset/db")
    first = await numbered(harness, 3)
    await replaced(harness, "db-0")
    return {"said": output, "first": first, "second": await numbered(harness, 3)}


async def a_parallel_stateful_set_starts_elsewhere_and_shrinks(harness: ServingCaseRunner) -> Observed:
    spec = {"podManagementPolicy": "Parallel", "ordinals": {"start": 3}}
    await harness.create(STATEFUL_SETS, stateful_set(3, **spec))
    first = await numbered(harness, 3)
    await harness.kubectl("scale", "statefulset/db", "--replicas=1")
    return {"first": first, "second": await numbered(harness, 1), "events": await harness.events("SuccessfulDelete")}


async def on_delete_waits(harness: ServingCaseRunner) -> Observed:
    await harness.create(STATEFUL_SETS, stateful_set(2, updateStrategy={"type": "OnDelete"}))
    await numbered(harness, 2)
    await harness.merge(STATEFUL_SETS, "db", image("two"))

    async def is_noticed() -> bool:
        status = (await harness.get(STATEFUL_SETS, "db"))["status"]
        return bool(status["currentRevision"] != status["updateRevision"])

    await harness.until("a second revision", is_noticed)
    before = await numbered(harness, 2)
    await replaced(harness, "db-1")
    return {"before": before, "after": await numbered(harness, 2)}


async def claims_come_with_their_pods(harness: ServingCaseRunner) -> Observed:
    disk = {
        "metadata": {"name": "disk", "labels": {"x": "y"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    spec = {"volumeClaimTemplates": [disk], "persistentVolumeClaimRetentionPolicy": policy}
    await harness.create(STATEFUL_SETS, stateful_set(2, **spec))

    async def is_owned() -> bool:
        return any(claim["metadata"].get("ownerReferences") for claim in await harness.items(CLAIMS))

    async def is_reported() -> bool:
        return bool((await harness.get(STATEFUL_SETS, "db"))["status"].get("updatedReplicas") == 1)

    await harness.until("a claim with its owner", is_owned)
    await harness.until("a pod that is counted", is_reported)
    (claim,), (pod,) = await harness.items(CLAIMS), await harness.items(PODS)
    (owner,) = claim["metadata"]["ownerReferences"]
    return {
        "claim": (claim["metadata"]["name"], claim["metadata"]["labels"], claim["spec"]["resources"]),
        "owner": {key: value for key, value in owner.items() if key != "uid"},
        "volumes": [each for each in pod["spec"]["volumes"] if "persistentVolumeClaim" in each],
        "events": await harness.events("SuccessfulCreate"),
        "counts": counts(await harness.get(STATEFUL_SETS, "db")),
    }
