"""The stand-in for LeaderWorkerSet."""

from typing import Any

from kit.apiserver import Object
from operators.harness import OperatorHarness, container, running_operator_harness, variables

GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"


def make_set(replicas: int = 2, size: int = 2, **spec: Any) -> Object:
    template = {"spec": {"containers": [container()]}}
    groups = {"size": size, "workerTemplate": template, **spec.pop("template", {})}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "serve", "namespace": "default"},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": groups, **spec},
    }


async def by_name(harness: OperatorHarness) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in await harness.run_all()}


def labels_of(pod: Object) -> dict[str, str]:
    return dict(pod["metadata"]["labels"])


async def test_groups_have_the_names_labels_and_variables_of_the_operator() -> None:
    async with running_operator_harness("lws") as harness:
        found = await harness.create(make_set(2, 3))
        pods = await by_name(harness)
        assert set(pods) == {f"serve-{group}{worker}" for group in (0, 1) for worker in ("", "-1", "-2")}
        leader, worker = pods["serve-1"], pods["serve-1-2"]
        assert (labels_of(leader)[GROUP_INDEX], labels_of(leader)[WORKER_INDEX]) == ("1", "0")
        assert (labels_of(worker)[GROUP_INDEX], labels_of(worker)[WORKER_INDEX]) == ("1", "2")
        key = "leaderworkerset.sigs.k8s.io/group-key"
        assert labels_of(leader)[key] == labels_of(worker)[key] != labels_of(pods["serve-0"])[key]
        assert worker["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/leader-name"] == "serve-1"
        assert worker["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/size"] == "3"
        assert variables(worker) == {
            "LWS_LEADER_ADDRESS": "serve-1.serve.default",
            "LWS_GROUP_SIZE": "3",
            "LWS_WORKER_INDEX": "",
        }
        index = next(each for each in worker["spec"]["containers"][0]["env"] if each["name"] == "LWS_WORKER_INDEX")
        assert index["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['apps.kubernetes.io/pod-index']"
        assert labels_of(worker)["apps.kubernetes.io/pod-index"] == "2"
        assert variables(leader)["LWS_LEADER_ADDRESS"] == "$(LWS_POD_NAME).serve.default"
        assert (worker["spec"]["hostname"], worker["spec"]["subdomain"]) == ("serve-1-2", "serve")
        status = await harness.status(found)
        assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (2, 2, 2)
        assert (await harness.condition_statuses(found))["Available"] == "True"


async def test_a_leader_template_and_a_subdomain_of_each_group() -> None:
    async with running_operator_harness("lws") as harness:
        leader = {"leaderTemplate": {"spec": {"containers": [container(image="leader:1")]}}}
        network = {"subdomainPolicy": "UniquePerReplica"}
        await harness.create(make_set(1, 2, template=leader, networkConfig=network))
        pods = await by_name(harness)
        assert pods["serve-0"]["spec"]["containers"][0]["image"] == "leader:1"
        assert variables(pods["serve-0-1"])["LWS_LEADER_ADDRESS"] == "serve-0.serve-0.default"
        services = await harness.objects("v1/services")
        assert "serve-0" in services
        assert "serve" not in services


async def test_workers_may_wait_for_their_leader() -> None:
    async with running_operator_harness("lws") as harness:
        await harness.create(make_set(1, 2, startupPolicy="LeaderReady"))
        await harness.settle()
        assert await harness.names() == ["serve-0"]
        assert set(await by_name(harness)) == {"serve-0", "serve-0-1"}


async def test_a_set_is_scaled_by_groups() -> None:
    async with running_operator_harness("lws") as harness:
        found = await harness.create(make_set(2, 2))
        await by_name(harness)
        await harness.change(found, {"spec": {"replicas": 1}})
        for _ in range(3):
            await harness.remove_terminating_pods()
        assert set(await by_name(harness)) == {"serve-0", "serve-0-1"}


async def test_a_group_restarts_as_a_whole() -> None:
    async with running_operator_harness("lws") as harness:
        await harness.create(make_set(2, 2))
        first = await by_name(harness)
        statuses = [{"name": "main", "image": "i", "imageID": "", "ready": True, "restartCount": 1}]
        worker = {"apiVersion": "v1", "kind": "Pod", **first["serve-0-1"]}
        await harness.set_status(worker, containerStatuses=statuses)
        for _ in range(3):
            await harness.remove_terminating_pods()
        second = await by_name(harness)
        renewed = {name for name, each in second.items() if each["metadata"]["uid"] != first[name]["metadata"]["uid"]}
        assert renewed == {"serve-0", "serve-0-1"}


async def test_a_pod_with_the_labels_of_a_set_is_not_taken_for_its_own() -> None:
    async with running_operator_harness("lws") as harness:
        labels = {"leaderworkerset.sigs.k8s.io/name": "serve", WORKER_INDEX: "0", GROUP_INDEX: "7"}
        metadata = {"name": "unrelated", "namespace": "default", "labels": labels}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        unrelated = await harness.create({**pod, "spec": {"containers": [container()]}})
        found = await harness.create(make_set(1, 1))
        await harness.settle()
        assert (await harness.status(found))["replicas"] == 1
        assert labels_of(await harness.get(unrelated))[GROUP_INDEX] == "7"


async def test_rollout_settings_are_reported() -> None:
    async with running_operator_harness("lws") as harness:
        rollout = {"rollingUpdateConfiguration": {"maxSurge": 1}}
        await harness.create(make_set(1, 1, rolloutStrategy=rollout))
        await harness.settle()
        assert (await harness.warnings())["UnsupportedField"] == (
            "the stand-in for the LeaderWorkerSet operator ignores spec.rolloutStrategy"
        )
