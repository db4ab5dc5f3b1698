"""What happens to StatefulSets: each story does something and tells what can be observed of it."""

from workloads.serving_builders import Observed, conditions, counts, image, masked, rolled_out, stateful_set
from workloads.serving_planes import CLAIMS, PODS, STATEFUL_SETS, Stage


async def numbered(stage: Stage, replicas: int) -> Observed:
    """What a StatefulSet looks like when it is done."""

    async def is_done() -> bool:
        found = await stage.get(STATEFUL_SETS, "db")
        status = found["status"]
        pods = await stage.items(PODS)
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and len(pods) == replicas == status.get("availableReplicas")
            and status["replicas"] == replicas
            and not any(pod["metadata"].get("deletionTimestamp") for pod in pods)
        )

    await stage.until("an end of the rollout", is_done)
    found = await stage.get(STATEFUL_SETS, "db")
    status = found["status"]
    pods = sorted(await stage.items(PODS), key=lambda pod: str(pod["metadata"]["name"]))
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


async def replaced(stage: Stage, name: str) -> None:
    """Delete a pod, and wait until there is another of its name and the StatefulSet has counted it."""
    before = (await stage.get(PODS, name))["metadata"]["uid"]
    await stage.delete(PODS, name)

    async def is_counted() -> bool:
        status = (await stage.get(STATEFUL_SETS, "db"))["status"]
        pods = await stage.items(PODS)
        revisions = [pod["metadata"]["labels"]["controller-revision-hash"] for pod in pods]
        is_new = any(pod["metadata"]["name"] == name and pod["metadata"]["uid"] != before for pod in pods)
        return is_new and revisions.count(status["updateRevision"]) == status.get("updatedReplicas", 0)

    await stage.until("a pod in its place", is_counted)


async def a_stateful_set_comes_up_in_order(stage: Stage) -> Observed:
    await stage.create(STATEFUL_SETS, stateful_set())
    said = await rolled_out(stage, "statefulset/db")
    rest = await numbered(stage, 3)
    pods = sorted(await stage.items(PODS), key=lambda pod: int(pod["metadata"]["resourceVersion"]))
    born = sorted(pods, key=lambda pod: str(pod["status"]["startTime"]))
    told = await stage.events("SuccessfulCreate")
    return {"said": said, **rest, "order": [pod["metadata"]["name"] for pod in born], "events": told}


async def a_stateful_set_is_updated_and_undone(stage: Stage) -> Observed:
    await stage.create(STATEFUL_SETS, stateful_set(2))
    await numbered(stage, 2)
    await stage.merge(STATEFUL_SETS, "db", image("two"))
    forth = {"said": await rolled_out(stage, "statefulset/db"), **await numbered(stage, 2)}
    history = (await stage.kubectl("rollout", "history", "statefulset/db")).out
    undone = (await stage.kubectl("rollout", "undo", "statefulset/db")).out
    back = {"said": await rolled_out(stage, "statefulset/db"), **await numbered(stage, 2)}
    after = (await stage.kubectl("rollout", "history", "statefulset/db")).out
    told = await stage.events("SuccessfulDelete")
    return {"forth": forth, "history": history, "undone": undone, "back": back, "after": after, "events": told}


async def a_partition_keeps_lower_pods(stage: Stage) -> Observed:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    await stage.create(STATEFUL_SETS, stateful_set(3, updateStrategy=strategy))
    await numbered(stage, 3)
    await stage.merge(STATEFUL_SETS, "db", image("two"))
    said = await rolled_out(stage, "statefulset/db")
    first = await numbered(stage, 3)
    await replaced(stage, "db-0")
    return {"said": said, "first": first, "second": await numbered(stage, 3)}


async def a_parallel_stateful_set_starts_elsewhere_and_shrinks(stage: Stage) -> Observed:
    spec = {"podManagementPolicy": "Parallel", "ordinals": {"start": 3}}
    await stage.create(STATEFUL_SETS, stateful_set(3, **spec))
    first = await numbered(stage, 3)
    await stage.kubectl("scale", "statefulset/db", "--replicas=1")
    return {"first": first, "second": await numbered(stage, 1), "events": await stage.events("SuccessfulDelete")}


async def on_delete_waits(stage: Stage) -> Observed:
    await stage.create(STATEFUL_SETS, stateful_set(2, updateStrategy={"type": "OnDelete"}))
    await numbered(stage, 2)
    await stage.merge(STATEFUL_SETS, "db", image("two"))

    async def is_noticed() -> bool:
        status = (await stage.get(STATEFUL_SETS, "db"))["status"]
        return bool(status["currentRevision"] != status["updateRevision"])

    await stage.until("a second revision", is_noticed)
    before = await numbered(stage, 2)
    await replaced(stage, "db-1")
    return {"before": before, "after": await numbered(stage, 2)}


async def claims_come_with_their_pods(stage: Stage) -> Observed:
    disk = {
        "metadata": {"name": "disk", "labels": {"x": "y"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    spec = {"volumeClaimTemplates": [disk], "persistentVolumeClaimRetentionPolicy": policy}
    await stage.create(STATEFUL_SETS, stateful_set(2, **spec))

    async def is_owned() -> bool:
        return any(claim["metadata"].get("ownerReferences") for claim in await stage.items(CLAIMS))

    async def is_told() -> bool:
        return bool((await stage.get(STATEFUL_SETS, "db"))["status"].get("updatedReplicas") == 1)

    await stage.until("a claim with its owner", is_owned)
    await stage.until("a pod that is counted", is_told)
    (claim,), (pod,) = await stage.items(CLAIMS), await stage.items(PODS)
    (owner,) = claim["metadata"]["ownerReferences"]
    return {
        "claim": (claim["metadata"]["name"], claim["metadata"]["labels"], claim["spec"]["resources"]),
        "owner": {key: value for key, value in owner.items() if key != "uid"},
        "volumes": [each for each in pod["spec"]["volumes"] if "persistentVolumeClaim" in each],
        "events": await stage.events("SuccessfulCreate"),
        "counts": counts(await stage.get(STATEFUL_SETS, "db")),
    }
