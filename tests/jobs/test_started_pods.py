"""What is kept of pods that Workloads started: what ungaters read, and no more (TAS-93)."""

from copy import deepcopy

from jobs.topology_builders import GATE, K, hosts, placed_set, placed_workload, started_pod
from kit.fake_apiserver import FakeApiServer
from kohort.api.codec import JsonObject, encode
from kohort.api.core.pods import Pod
from kohort.jobs.effect_executor import merge_patch
from kohort.jobs.effects import PatchObject
from kohort.jobs.ungating.started_pods import PodChange, StartedPodResource, StartedPods
from kohort.jobs.ungating.topology_pods import TopologyGatePolicy
from kohort.kube.client import Client
from kohort.kube.informer import SharedInformerFactory

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


def changes_of(old: JsonObject | None, new: JsonObject | None) -> list[tuple[str, str, bool]]:
    """Workload, UID, and whether it is gated, of each change that subscribers get."""
    found: list[PodChange] = []
    pods = StartedPods(SharedInformerFactory(Client(FakeApiServer())))
    pods.subscribe(found.append)
    pods._changed(*(None if each is None else KIND.read(encode(each)) for each in (old, new)))
    return [(each.workload.name, each.uid, bool(each.gates)) for each in found]


def test_a_pod_that_is_deleted_or_changes_its_workload_has_no_gates_there() -> None:
    gated, free = started_pod("a"), started_pod("a", on={})
    again = started_pod("a", metadata={"uid": "again"})
    moved = started_pod("a", annotations={f"{K}workload": "other"})
    assert changes_of(None, gated) == [("wl", "uid-a", True)]
    assert changes_of(gated, free) == [("wl", "uid-a", False)]
    assert changes_of(gated, None) == [("wl", "uid-a", False)]
    assert changes_of(gated, again) == [("wl", "uid-a", False), ("wl", "again", True)]
    assert changes_of(gated, moved) == [("wl", "uid-a", False), ("other", "uid-a", True)]
    assert changes_of(None, started_pod("a", annotations={f"{K}workload": ""})) == []
