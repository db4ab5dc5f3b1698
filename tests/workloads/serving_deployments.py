"""Cases of Deployments: each function acts and returns what it observes."""

from workloads.serving_builders import (
    NEVER,
    NEVER_READY,
    Observed,
    conditions,
    counts,
    deployment,
    image,
    masked,
    rolled_out,
    template,
)
from workloads.serving_harness import DEPLOYMENTS, PODS, QUOTAS, REPLICA_SETS, Object, ServingCaseRunner


async def at_rest(harness: ServingCaseRunner) -> Observed:
    """The state of a complete Deployment."""

    async def is_done() -> bool:
        found = await harness.get(DEPLOYMENTS, "web")
        pods = await harness.items(PODS)
        status = found["status"]
        reported = {c["type"]: c["reason"] for c in status.get("conditions", ())}
        return (
            status.get("observedGeneration") == found["metadata"]["generation"]
            and len(pods) == found["spec"]["replicas"] == status.get("availableReplicas", 0)
            and status.get("terminatingReplicas") == 0
            and reported.get("Progressing") in ("NewReplicaSetAvailable", None)
        )

    await harness.until("an end of the rollout", is_done)
    found = await harness.get(DEPLOYMENTS, "web")
    return {
        "counts": counts(found),
        "conditions": conditions(found),
        "annotations": found["metadata"]["annotations"],
        "generation": (found["metadata"]["generation"], found["status"]["observedGeneration"]),
        "sets": sorted([set_of(each) for each in await harness.items(REPLICA_SETS)], key=str),
        "images": sorted(pod["spec"]["containers"][0]["image"] for pod in await harness.items(PODS)),
    }


def set_of(found: Object) -> Observed:
    labels = sorted(found["spec"]["selector"]["matchLabels"])
    return {
        "name": masked(found["metadata"]["name"]),
        "annotations": found["metadata"].get("annotations"),
        "labels": sorted(found["metadata"]["labels"]),
        "selector": labels,
        "wanted": found["spec"]["replicas"],
        "counts": counts(found),
    }


async def scalings(harness: ServingCaseRunner) -> list[str]:
    return sorted(masked(text) for _, _, text in await harness.events("ScalingReplicaSet"))


async def a_deployment_comes_up(harness: ServingCaseRunner) -> Observed:
    await harness.create(DEPLOYMENTS, deployment())
    output = await rolled_out(harness)
    rest = await at_rest(harness)
    pod = (await harness.items(PODS))[0]
    owner = pod["metadata"]["ownerReferences"][0]
    return {
        "said": output,
        **rest,
        "events": await scalings(harness),
        "made": {masked(text) for _, _, text in await harness.events("SuccessfulCreate")},
        "pod": (masked(pod["metadata"]["generateName"]), sorted(pod["metadata"]["labels"]), owner["kind"]),
    }


async def a_new_image_rolls_out_and_back(harness: ServingCaseRunner) -> Observed:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    await harness.create(DEPLOYMENTS, deployment(4, strategy=strategy))
    await rolled_out(harness)
    await harness.kubectl("set", "image", "deployment/web", "main=two")
    await harness.kubectl("annotate", "deployment/web", "kubernetes.io/change-cause=two")
    forth = {"said": await rolled_out(harness), **await at_rest(harness)}
    history = masked((await harness.kubectl("rollout", "history", "deployment/web")).out)
    undone = masked((await harness.kubectl("rollout", "undo", "deployment/web")).out)
    back = {"said": await rolled_out(harness), **await at_rest(harness)}
    after = masked((await harness.kubectl("rollout", "history", "deployment/web")).out)
    return {"forth": forth, "history": history, "undone": undone, "back": back, "after": after}


async def recreate_replaces_all_at_once(harness: ServingCaseRunner) -> Observed:
    await harness.create(DEPLOYMENTS, deployment(2, strategy={"type": "Recreate"}))
    await rolled_out(harness)
    await harness.merge(DEPLOYMENTS, "web", image("two"))
    return {"said": await rolled_out(harness), **await at_rest(harness), "events": await scalings(harness)}


async def a_paused_deployment_waits(harness: ServingCaseRunner) -> Observed:
    await harness.create(DEPLOYMENTS, deployment(2))
    await rolled_out(harness)
    await harness.kubectl("rollout", "pause", "deployment/web")
    await harness.kubectl("set", "image", "deployment/web", "main=two")
    await harness.kubectl("scale", "deployment/web", "--replicas=3")

    async def is_scaled() -> bool:
        status = (await harness.get(DEPLOYMENTS, "web"))["status"]
        return bool(status.get("availableReplicas") == 3 and status["replicas"] == 3)

    await harness.until("three pods", is_scaled)
    found = await harness.get(DEPLOYMENTS, "web")
    paused = {"counts": counts(found), "conditions": conditions(found), "sets": len(await harness.items(REPLICA_SETS))}
    await harness.kubectl("rollout", "resume", "deployment/web")
    return {"paused": paused, "said": await rolled_out(harness), **await at_rest(harness)}


async def pods_that_do_not_get_ready_hold_up_a_rollout(harness: ServingCaseRunner) -> Observed:
    await harness.create(DEPLOYMENTS, deployment(3))
    await rolled_out(harness)
    await harness.merge(DEPLOYMENTS, "web", {"spec": {"template": template("web", NEVER_READY)}})

    async def is_held() -> bool:
        status = (await harness.get(DEPLOYMENTS, "web"))["status"]
        phases = [pod["status"].get("phase") for pod in await harness.items(PODS)]
        return status.get("updatedReplicas") == 1 and phases == ["Running"] * 4

    await harness.until("a new pod that runs and is not ready", is_held)
    found = await harness.get(DEPLOYMENTS, "web")
    # Why it progresses depends on whether a controller looked between the creation of the set and that of its pod.
    states = [each[:2] for each in conditions(found)]
    return {"counts": counts(found), "conditions": states, "events": await scalings(harness)}


async def a_rollout_that_stands_still_is_reported(harness: ServingCaseRunner) -> Observed:
    body = deployment(2, NEVER, progressDeadlineSeconds=4)
    await harness.create(DEPLOYMENTS, body)
    output = await harness.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
    found = await harness.get(DEPLOYMENTS, "web")
    return {"said": (output.code, output.err), "counts": counts(found), "conditions": conditions(found)}


async def a_quota_stands_in_the_way(harness: ServingCaseRunner) -> Observed:
    await harness.create(QUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}})

    async def is_counted() -> bool:
        return bool((await harness.get(QUOTAS, "few")).get("status", {}).get("hard"))

    await harness.until("the quota's own count", is_counted)
    await harness.create(DEPLOYMENTS, deployment(3))

    async def has_failed() -> bool:
        found = await harness.get(DEPLOYMENTS, "web")
        return len(conditions(found)) == 3 and found["status"].get("availableReplicas") == 1

    await harness.until("a failure", has_failed)
    found = await harness.get(DEPLOYMENTS, "web")
    return {"conditions": conditions(found), "counts": counts(found)}


async def a_deployment_is_scaled(harness: ServingCaseRunner) -> Observed:
    await harness.create(DEPLOYMENTS, deployment(1))
    await rolled_out(harness)
    reported = []
    for size in (4, 2, 0):
        output = await harness.kubectl("scale", "deployment/web", f"--replicas={size}")
        reported.append((output.out, await rolled_out(harness), await at_rest(harness)))
    return {"told": reported, "events": await scalings(harness)}


async def old_revisions_go(harness: ServingCaseRunner) -> Observed:
    await harness.create(DEPLOYMENTS, deployment(1, revisionHistoryLimit=1))
    for name in ("two", "three", "four"):
        await rolled_out(harness)
        await at_rest(harness)
        await harness.merge(DEPLOYMENTS, "web", image(name))
    await rolled_out(harness)

    async def is_trimmed() -> bool:
        return len(await harness.items(REPLICA_SETS)) == 2

    await harness.until("two ReplicaSets", is_trimmed)
    return await at_rest(harness)


async def sets_and_pods_are_orphaned_and_adopted(harness: ServingCaseRunner) -> Observed:
    await harness.create(DEPLOYMENTS, deployment(2))
    await rolled_out(harness)
    before = sorted(pod["metadata"]["uid"] for pod in await harness.items(PODS))
    await harness.kubectl("delete", "deployment/web", "--cascade=orphan")
    await harness.create(DEPLOYMENTS, deployment(2))
    output = await rolled_out(harness)
    rest = await at_rest(harness)
    after = sorted(pod["metadata"]["uid"] for pod in await harness.items(PODS))
    return {"said": output, **rest, "same": before == after}


async def a_pod_is_released_by_its_labels(harness: ServingCaseRunner) -> Observed:
    await harness.create(DEPLOYMENTS, deployment(2))
    await rolled_out(harness)
    name = (await harness.items(PODS))[0]["metadata"]["name"]
    await harness.merge(PODS, name, {"metadata": {"labels": {"app": "else"}}})

    async def is_released() -> bool:
        pods = await harness.items(PODS)
        free = [pod for pod in pods if not pod["metadata"].get("ownerReferences")]
        return len(pods) == 3 and [pod["metadata"]["name"] for pod in free] == [name]

    await harness.until("a pod of its own and another in its place", is_released)
    return {"said": await rolled_out(harness)}
