"""What is kept of pods that Workloads started: what ungaters read, and no more (TAS-93)."""

from copy import deepcopy

from jobs.topology_builders import GATE, hosts, placed_set, placed_workload, started_pod
from kohort.api.codec import encode
from kohort.api.core.pods import Pod
from kohort.jobs.effect_executor import merge_patch
from kohort.jobs.effects import PatchObject
from kohort.jobs.ungating.started_pods import StartedPodResource
from kohort.jobs.ungating.topology_pods import TopologyGatePolicy

KIND = StartedPodResource(Pod.resource)
CONTAINERS = [{"name": "c", "image": "i", "env": [{"name": f"e{number}", "value": "x"} for number in range(50)]}]


def test_large_members_of_pods_are_not_kept() -> None:
    whole = started_pod("a", 0, spec={"schedulingGates": [GATE], "containers": CONTAINERS, "volumes": CONTAINERS})
    kept = KIND.read(encode(whole))
    assert len(kept.raw) < 500 < len(encode(whole))
    assert kept.identity.uid == "uid-a"


def test_a_patch_of_the_kept_state_is_that_of_the_whole_pod() -> None:
    policy, workload = TopologyGatePolicy(), placed_workload(placed_set("main", hosts(h1=1)))
    gated = [{"name": "mine"}, GATE]
    whole = started_pod("a", spec={"schedulingGates": gated, "containers": CONTAINERS, "nodeSelector": {"tier": "a"}})
    kept = KIND.read(encode(whole)).json()
    patches = []
    for pod in (deepcopy(whole), kept):
        (patch,) = policy.ungate(workload, [pod])
        assert isinstance(patch, PatchObject)
        patches.append(merge_patch(patch, "7"))
    assert patches[0] == patches[1]
