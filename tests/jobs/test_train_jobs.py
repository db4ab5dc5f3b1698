"""TrainJobs: their pods come from a runtime, and a start writes runtime patches (JOB-137 to JOB-140)."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.actions import admit, newest_workload, pass_harness, preempt, run_until_settled
from jobs.golden_jobs import harness_of
from jobs.pass_harness import PassHarness, PassResult
from jobs.replica_jobs import make_condition_status
from jobs.train_jobs import (
    TRAIN,
    make_jobs_status,
    make_replicated_job,
    make_runtime,
    make_train_job,
)
from kit.golden.recordings import job_recording
from kohort.api.codec import JsonObject
from kohort.api.merge import merge
from kohort.api.meta import ObjectKey
from kohort.engine.lifecycle.conditions import is_finished, is_reserved
from kohort.jobs.conformance import Samples, check_framework
from kohort.jobs.contract import JobKey
from kohort.jobs.effects import PatchObject
from kohort.jobs.errors import PermanentError, UnretryableError
from kohort.jobs.frameworks.kubeflow.trainjob.job_sets import JOB_SETS, train_jobs_of
from kohort.jobs.frameworks.kubeflow.trainjob.runtimes import CLUSTER_RUNTIMES
from kohort.jobs.podsets import PodSetInfo

KEY, OBJECT = JobKey("ns", "llm"), ObjectKey("ns", "llm")
SPOT = {"key": "spot", "operator": "Exists"}
RACK = {"kueue.x-k8s.io/podset-required-topology": "rack"}


def train_stage(*runtimes: JsonObject) -> PassHarness:
    harness = pass_harness(TRAIN)
    harness.registry = type(harness.registry)(harness.registry.frameworks, frozenset({TRAIN.name}), frozenset())
    for each in runtimes or (make_runtime(),):
        harness.put(each)
    return harness


def queued(**spec: Any) -> JsonObject:
    """A TrainJob as the webhook stores it."""
    obj = make_train_job(**spec)
    TRAIN.suspend(obj)
    TRAIN.default(obj, pass_harness(TRAIN))
    return obj


def running(**status: Any) -> JsonObject:
    return {**merge(queued(), {"spec": {"suspend": False}}), "status": status}


def pods(obj: JsonObject, *runtimes: JsonObject) -> list[tuple[str, int]]:
    return [(each.name, each.count) for each in TRAIN.pod_sets(obj, train_stage(*runtimes))]


def templates(obj: JsonObject, *runtimes: JsonObject) -> list[JsonObject]:
    return [each.template for each in TRAIN.pod_sets(obj, train_stage(*runtimes))]


def test_it_keeps_the_contract() -> None:
    active = make_jobs_status(node={"active": 1})
    samples = Samples(
        suspended=queued(trainer={"numNodes": 4}),
        running=running(jobsStatus=active),
        succeeded=running(**make_condition_status("Suspended", "Complete")),
        failed=running(**make_condition_status("Failed")),
    )
    check_framework(TRAIN, samples, train_stage(make_runtime(make_replicated_job(nodeSelector={"disk": "ssd"}))))


# What runs


@pytest.mark.parametrize(
    ("policy", "trainer", "expected"),
    [
        ({"numNodes": 3}, None, [("node", 3)]),
        ({"torch": {}}, None, [("node", 1)]),
        ({"numNodes": 3}, {"numNodes": 5}, [("node", 5)]),
        ({"torch": {}, "numNodes": 3}, {"numNodes": 5}, [("node", 5)]),
    ],
)
def test_the_number_of_nodes(policy: Any, trainer: Any, expected: Any) -> None:
    obj = queued() if trainer is None else queued(trainer=trainer)
    assert pods(obj, make_runtime(policy=policy)) == expected


@pytest.mark.parametrize(("with_launcher", "nodes"), [(False, 6), (True, 5)])
def test_the_launcher_of_an_mpi_runtime_may_be_one_of_the_nodes(with_launcher: bool, nodes: int) -> None:
    policy = {"numNodes": 1, "mpi": {"runLauncherAsNode": with_launcher}}
    jobs = make_replicated_job("launcher"), make_replicated_job("node", "")
    found = pods(queued(trainer={"numNodes": 6}), make_runtime(*jobs, policy=policy))
    assert found == [("launcher", 1), ("node", nodes)]


def test_other_replicated_jobs_have_their_own_parallelism() -> None:
    job = make_replicated_job("data", "")
    job["replicas"], job["template"]["spec"]["parallelism"] = 2, 3
    assert pods(queued(trainer={"numNodes": 4}), make_runtime(job, make_replicated_job())) == [("data", 6), ("node", 4)]


def test_a_runtime_of_the_namespace() -> None:
    assert pods(queued(kind="TrainingRuntime"), make_runtime(namespace="ns")) == [("node", 1)]


def test_the_trainer_changes_its_container_only() -> None:
    job = make_replicated_job()
    containers = job["template"]["spec"]["template"]["spec"]["containers"]
    containers[0] |= {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}
    containers.append({"name": "sidecar", "image": "s:1"})
    trainer = {
        "image": "own:2",
        "command": ["run"],
        "env": [{"name": "A", "value": "3"}],
        "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}, "requests": {"memory": "1Gi"}},
    }
    (template,) = templates(queued(trainer=trainer), make_runtime(job))
    node, sidecar = template["spec"]["containers"]
    assert sidecar == {"name": "sidecar", "image": "s:1"}
    assert node == {
        "name": "node",
        "image": "own:2",
        "command": ["run"],
        "env": [{"name": "A", "value": "3"}, {"name": "B", "value": "2"}],
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"nvidia.com/gpu": "8"}},
    }


def test_an_initializer_gets_its_source() -> None:
    jobs = make_replicated_job("dataset-initializer", "dataset-initializer"), make_replicated_job()
    dataset = {"storageUri": "hf://x", "secretRef": {"name": "token"}, "env": [{"name": "A", "value": "1"}]}
    initializer, _ = templates(queued(initializer={"dataset": dataset}), make_runtime(*jobs))
    (container,) = initializer["spec"]["containers"]
    assert container["env"] == [{"name": "STORAGE_URI", "value": "hf://x"}, {"name": "A", "value": "1"}]
    assert container["envFrom"] == [{"secretRef": {"name": "token"}}]


def test_patches_of_others_change_the_templates() -> None:
    template = {
        "metadata": {"annotations": RACK},
        "spec": {
            "nodeSelector": {"zone": "z"},
            "tolerations": [SPOT],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{"name": "node", "env": [{"name": "A", "value": "1"}]}],
        },
    }
    changes = {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": template}}}]}
    patch = {"manager": "example.com/mine", "trainingRuntimeSpec": {"template": {"spec": changes}}}
    own = make_replicated_job(nodeSelector={"disk": "ssd"}, tolerations=[{"key": "own"}])
    harness = train_stage(make_runtime(own))
    (found,) = TRAIN.pod_sets(queued(runtimePatches=[patch]), harness)
    spec = found.template["spec"]
    assert spec["nodeSelector"] == {"disk": "ssd", "zone": "z"}
    assert spec["tolerations"] == [SPOT], "a list without a merge key is replaced"
    assert [(each["name"], each["env"], each["image"]) for each in spec["containers"]] == [
        ("node", [{"name": "A", "value": "1"}], "i:1")
    ]
    assert found.topology_request is not None
    assert (found.topology_request.required, found.topology_request.sub_group_count) == ("rack", 1)
    assert own == make_replicated_job(nodeSelector={"disk": "ssd"}, tolerations=[{"key": "own"}])


def test_a_patch_of_an_unknown_replicated_job_is_ignored() -> None:
    """As Kubeflow Trainer does when it creates the JobSet."""
    changes = {"replicatedJobs": [{"name": "other", "template": {"spec": {"parallelism": 3}}}]}
    patch = {"manager": "example.com/mine", "trainingRuntimeSpec": {"template": {"spec": changes}}}
    harness = train_stage(make_runtime())
    assert TRAIN.pod_sets(queued(runtimePatches=[patch]), harness) == TRAIN.pod_sets(queued(), harness)


# Starting and stopping


async def started(harness: PassHarness) -> JsonObject:
    """A running TrainJob, and how it was before."""
    harness.put(queued(trainer={"numNodes": 2}))
    await run_until_settled(harness, TRAIN, KEY)
    before = deepcopy(the_job(harness))
    admit(harness, newest_workload(harness))
    await run_until_settled(harness, TRAIN, KEY)
    assert the_job(harness)["spec"]["suspend"] is False
    return before


def the_job(harness: PassHarness) -> JsonObject:
    found = deepcopy(harness.objects["TrainJob", OBJECT])
    found["metadata"].pop("resourceVersion")
    return found


def report(harness: PassHarness, **status: Any) -> None:
    harness.patch("TrainJob", OBJECT, {"status": status})


def reasons(seen: PassResult) -> list[str]:
    return [reason for _, reason, _, _ in seen.events]


async def test_a_stop_waits_for_pods_before_it_empties_the_patch() -> None:
    harness = train_stage()
    before = await started(harness)
    report(harness, jobsStatus=make_jobs_status(node={"active": 1}))
    preempt(harness, newest_workload(harness))
    seen = await harness.reconcile(TRAIN, KEY)
    assert [patch for _, kind, _, patch in seen.writes if kind == "TrainJob"] == [{"spec": {"suspend": True}}]
    assert reasons(seen) == []
    assert is_reserved(newest_workload(harness))
    assert (await harness.reconcile(TRAIN, KEY)).writes == []
    report(harness, jobsStatus=make_jobs_status(node={"active": 0}))
    seen = await harness.reconcile(TRAIN, KEY)
    assert reasons(seen) == ["Stopped"]
    assert not is_reserved(newest_workload(harness))
    assert {**the_job(harness), "status": {}} == {**before, "status": {}}


@pytest.mark.parametrize("crash_after", range(4))
async def test_a_crash_during_a_stop_is_made_up_for(crash_after: int) -> None:
    harness = train_stage()
    before = await started(harness)
    preempt(harness, newest_workload(harness))
    await harness.reconcile(TRAIN, KEY, most=crash_after)
    await run_until_settled(harness, TRAIN, KEY)
    assert not is_reserved(newest_workload(harness))
    assert the_job(harness) == before


async def test_a_job_starts_again_after_a_stop() -> None:
    harness = train_stage()
    await started(harness)
    first = the_job(harness)
    preempt(harness, newest_workload(harness))
    await run_until_settled(harness, TRAIN, KEY)
    admit(harness, newest_workload(harness))
    await run_until_settled(harness, TRAIN, KEY)
    assert the_job(harness) == first


@pytest.mark.parametrize("condition", ["Complete", "Failed"])
async def test_a_job_that_ended_frees_its_quota(condition: str) -> None:
    harness = train_stage()
    await started(harness)
    report(harness, jobsStatus=make_jobs_status(node={"active": 1}), **make_condition_status(condition))
    await run_until_settled(harness, TRAIN, KEY)
    assert is_finished(newest_workload(harness))


def test_tolerations_of_the_runtime_are_kept_beside_those_of_a_flavor() -> None:
    own = {"key": "own", "operator": "Exists"}
    harness = train_stage(make_runtime(make_replicated_job(tolerations=[own])))
    obj = queued()
    patch, _ = TRAIN.run(obj, [PodSetInfo("node", 1, tolerations=(SPOT,))], "", harness)
    assert isinstance(patch, PatchObject)
    (found,) = TRAIN.pod_sets(patch.after, harness)
    assert found.template["spec"]["tolerations"] == [own, SPOT]


def test_infos_that_contradict_the_runtime_are_refused() -> None:
    harness = train_stage(make_runtime(make_replicated_job(nodeSelector={"tier": "b"})))
    with pytest.raises(PermanentError, match="conflict for nodeSelector"):
        TRAIN.run(queued(), [PodSetInfo("node", 1, node_selector={"tier": "a"})], "", harness)


INFOS = st.builds(
    PodSetInfo,
    st.just("node"),
    st.just(1),
    labels=st.dictionaries(st.sampled_from("ab"), st.just("x")),
    annotations=st.dictionaries(st.sampled_from("ab"), st.just("x")),
    node_selector=st.dictionaries(st.sampled_from("ab"), st.just("x")),
    tolerations=st.sampled_from([(), (SPOT,)]),
    scheduling_gates=st.sampled_from([(), ("example.com/g",)]),
)
PATCHES = st.lists(st.sampled_from(["example.com/a", "example.com/b"]), unique=True)


@given(INFOS, PATCHES, st.booleans())
def test_a_start_and_a_stop_leave_the_object_of_the_user(info: PodSetInfo, managers: list[str], is_first: bool) -> None:
    others = [{"manager": each, "trainingRuntimeSpec": {"template": {"spec": {}}}} for each in managers]
    obj = queued(runtimePatches=others)
    if is_first:
        obj["spec"]["runtimePatches"].reverse()
    before = deepcopy(obj)
    patch, _ = TRAIN.run(obj, [info], "", train_stage())
    assert isinstance(patch, PatchObject)
    after = patch.after
    assert not TRAIN.is_suspended(after)
    TRAIN.suspend(after)
    assert TRAIN.is_suspended(after)
    assert after == before


# Runtimes that change or are missing


async def test_a_changed_runtime_stops_no_job_that_has_quota() -> None:
    harness = train_stage()
    await started(harness)
    other = make_replicated_job()
    other["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "9"}}
    harness.put(make_runtime(other, make_replicated_job("more", "")))
    assert await harness.reconcile(TRAIN, KEY) == PassResult()


async def test_a_pending_job_follows_its_runtime() -> None:
    harness = train_stage()
    harness.put(queued())
    await run_until_settled(harness, TRAIN, KEY)
    harness.put(make_runtime(policy={"numNodes": 7}))
    await run_until_settled(harness, TRAIN, KEY)
    assert [each.count for each in newest_workload(harness).spec.pod_sets] == [7]


def make_job_set(jobs: list[JsonObject], parallelism: int, owner: str = "uid-llm") -> JsonObject:
    """The JobSet that Kubeflow Trainer has created for a TrainJob."""
    reference = {"kind": "TrainJob", "name": "llm", "uid": owner, "controller": True}
    for each in jobs:
        each["template"]["spec"] |= {"parallelism": parallelism, "completions": parallelism}
        (container,) = each["template"]["spec"]["template"]["spec"]["containers"]
        container["env"] = [{"name": "PET_NNODES", "value": str(parallelism)}]
    metadata = {"name": "llm", "namespace": "ns", "ownerReferences": [reference]}
    return {
        "apiVersion": JOB_SETS.api_version,
        "kind": "JobSet",
        "metadata": metadata,
        "spec": {"replicatedJobs": jobs},
    }


async def test_a_pending_job_has_the_sizes_of_its_job_set() -> None:
    harness = train_stage()
    harness.put(queued())
    await run_until_settled(harness, TRAIN, KEY)
    job_set = make_job_set([make_replicated_job()], 1)
    harness.put(job_set)
    assert await harness.reconcile(TRAIN, KEY) == PassResult(), "what the operator adds for torch is of no account"
    assert list(train_jobs_of(job_set, harness)) == [KEY]
    harness.put(make_runtime(make_replicated_job("other"), policy={"numNodes": 7}))
    assert await harness.reconcile(TRAIN, KEY) == PassResult(), "a changed runtime is not for this job"
    created = make_job_set([make_replicated_job()], 3)
    (container,) = created["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": "8"}}
    harness.put(created)
    await run_until_settled(harness, TRAIN, KEY)
    (pod_set,) = newest_workload(harness).spec.pod_sets
    assert (pod_set.name, pod_set.count) == ("node", 3)
    assert b'"cpu":"8"' in bytes(pod_set.template)


async def test_a_started_job_does_not_depend_on_its_runtime() -> None:
    """JOB-140: readiness and reclaimable pods follow from the JobSet."""
    harness = train_stage()
    await started(harness)
    harness.put(make_job_set([make_replicated_job()], 1))
    harness.delete("ClusterTrainingRuntime", ObjectKey("", "torch"))
    obj = harness.get(TRAIN.resource, OBJECT)
    assert obj is not None
    ready = {**obj, "status": {"jobsStatus": [{"name": "node", "ready": 1, "active": 1, "succeeded": 0}]}}
    harness.put(ready)
    seen = await harness.reconcile(TRAIN, KEY)
    assert [each for each in seen.events if each[0] == "Warning"] == []
    assert TRAIN.pods_ready(ready, harness)
    assert TRAIN.reclaimable({**obj, "status": {"jobsStatus": [{"name": "node", "succeeded": 1}]}}, harness) == {
        "node": 1
    }


def test_a_job_set_of_another_job_is_of_no_account() -> None:
    harness = train_stage()
    harness.put(make_job_set([make_replicated_job()], 9, owner="uid-of-its-predecessor"))
    assert [each.count for each in TRAIN.pod_sets(queued(), harness)] == [1]


async def test_a_job_without_runtime_gets_an_event_and_is_queued_as_soon_as_there_is_one() -> None:
    harness = pass_harness(TRAIN)
    harness.registry = type(harness.registry)(harness.registry.frameworks, frozenset({TRAIN.name}), frozenset())
    harness.put(queued())
    seen = await harness.reconcile(TRAIN, KEY)
    assert seen.events == [("Warning", "ErrWorkloadCompose", "runtime 'torch' not found", "ns/llm")]
    (watch,) = (each for each in TRAIN.watches if each.resource == CLUSTER_RUNTIMES)
    assert list(watch.jobs(make_runtime(), harness)) == [KEY]
    harness.put(make_runtime())
    await run_until_settled(harness, TRAIN, KEY)
    assert newest_workload(harness).metadata.name.startswith("trainjob-llm-")


def test_kueue_refuses_a_job_without_runtime_and_we_report_the_same() -> None:
    """A deviation: the operator's own webhook refuses it, with a cache that is as old."""
    (case,) = (each for each in job_recording("trainjob") if "rejected" in each)
    with pytest.raises(UnretryableError) as caught:
        TRAIN.pod_sets(case["object"], harness_of(case, TRAIN))
    assert str(caught.value) == case["rejected"]


def test_a_runtime_with_impossible_topology_requests_is_named() -> None:
    job = make_replicated_job()
    job["template"]["spec"]["template"]["metadata"]["annotations"] = {**RACK, "kueue.x-k8s.io/podset-group-name": "g"}
    other = deepcopy(job)
    other["name"] = "other"
    assert len(pods(queued(), make_runtime(job, other))) == 2
    with pytest.raises(UnretryableError, match=r"spec\.runtimeRef\[node\].*exactly 2 pod sets"):
        pods(queued(), make_runtime(job, make_replicated_job("other", "")))


@pytest.mark.parametrize("spec", [None, {}, {"runtimeRef": {}}], ids=["no spec", "empty spec", "no name"])
def test_a_job_without_specs_is_reported(spec: Any) -> None:
    obj = make_train_job()
    obj.pop("spec")
    if spec is not None:
        obj["spec"] = spec
    TRAIN.suspend(obj)
    TRAIN.default(obj, pass_harness(TRAIN))
    assert TRAIN.is_suspended(obj)
    with pytest.raises(UnretryableError, match="runtime '' not found"):
        TRAIN.pod_sets(obj, train_stage())


def test_a_runtime_without_replicated_jobs_is_reported() -> None:
    empty = make_runtime()
    empty["spec"]["template"]["spec"] = {}
    with pytest.raises(UnretryableError, match="has no replicated jobs"):
        pods(queued(), empty)


def test_a_manifest_of_a_running_job_starts_anew() -> None:
    harness = train_stage()
    patch, _ = TRAIN.run(queued(), [PodSetInfo("node", 1, labels={"a": "b"})], "", harness)
    assert isinstance(patch, PatchObject)
    TRAIN.suspend(patch.after)
    TRAIN.default(patch.after, harness)
    assert patch.after == queued()
