"""Which domain each gated pod gets (TAS-94 to TAS-99)."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jobs.topology_builders import (
    GATE,
    HOST,
    INDEX,
    as_slice,
    evicted,
    hosts,
    placed_set,
    placed_workload,
    started_pod,
)
from kohort.api.codec import JsonObject
from kohort.api.kueue.slices import Domain, compress
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import OwnerReference
from kohort.jobs.effects import PatchObject, RecordEvent
from kohort.jobs.errors import RetryError
from kohort.jobs.ungating.chains import serving_slice
from kohort.jobs.ungating.topology_pods import TopologyGatePolicy

RACK = "cloud/rack"
ELASTIC = {"name": "kueue.x-k8s.io/elastic-job"}
OFFSET = "kueue.x-k8s.io/pod-index-offset"


def patches(workload: Workload, pods: list[JsonObject]) -> list[PatchObject]:
    return [each for each in TopologyGatePolicy().ungate(workload, pods) if isinstance(each, PatchObject)]


def ungated(workload: Workload, *pods: JsonObject, level: str = HOST) -> dict[str, str]:
    """The pods that are ungated, and their domains."""
    found = patches(workload, list(pods))
    assert all(not each.after["spec"].get("schedulingGates") for each in found)
    return {each.after["metadata"]["name"]: each.after["spec"]["nodeSelector"][level] for each in found}


def ranked(**counts: int) -> Workload:
    return placed_workload(placed_set("main", hosts(**counts), pod_index_label=INDEX))


def test_pods_with_ranks_get_the_domains_of_their_ranks() -> None:
    """TAS-95, TAS-97."""
    pods = [started_pod("d", 3), started_pod("a", 0), started_pod("c", 2), started_pod("b", 1)]
    assert ungated(ranked(h1=2, h2=2), *pods) == {"a": "h1", "b": "h1", "c": "h2", "d": "h2"}


def test_some_pods_with_ranks_get_theirs_before_the_others_exist() -> None:
    """TAS-97."""
    assert ungated(ranked(h1=2, h2=2), started_pod("c", 2)) == {"c": "h2"}


def test_a_recreated_pod_returns_to_the_domain_of_its_rank() -> None:
    failed = started_pod("b", 1, on={HOST: "h1"}, phase="Failed")
    pods = (started_pod("a", 0, on={HOST: "h1"}), failed, started_pod("b2", 1), started_pod("c", 2, on={HOST: "h2"}))
    assert ungated(ranked(h1=2, h2=2), *pods) == {"b2": "h1"}


@pytest.mark.parametrize(
    ("pods", "why"),
    [
        ([started_pod("a", 1), started_pod("b")], "a pod without a label"),
        ([started_pod("a", 1), started_pod("b", 1)], "two pods with one rank"),
        ([started_pod("a", 1), started_pod("b", 4)], "an index beyond the pod set"),
        ([started_pod("a", 1), started_pod("b", "x")], "no number"),
        ([started_pod("x", 0, on={HOST: "h2"}), started_pod("a", 1), started_pod("b", 2)], "a pod in another domain"),
    ],
)
def test_without_valid_ranks_of_all_pods_domains_are_filled_in_order(pods: list[JsonObject], why: str) -> None:
    """TAS-97, TAS-98."""
    assert ungated(ranked(h1=2, h2=2), *pods) == {"a": "h1", "b": "h1"}, why


def test_an_assignment_for_fewer_pods_than_there_are_ranks_is_filled_in_order() -> None:
    """TAS-97."""
    workload = placed_workload(placed_set("main", hosts(h1=1, h2=1), count=4, pod_index_label=INDEX))
    assert ungated(workload, started_pod("a", 3), started_pod("b", 2), started_pod("c", 1)) == {"a": "h1", "b": "h2"}


def test_greedy_counts_the_pods_that_are_in_a_domain_already() -> None:
    """TAS-98."""
    workload = placed_workload(placed_set("main", hosts(h1=2, h2=2)))
    running = [started_pod("r", on={HOST: "h1"}), started_pod("s", on={HOST: "h2"}, phase="Succeeded")]
    waiting = [started_pod(name) for name in "abcd"]
    assert ungated(workload, *running, *waiting) == {"a": "h1", "b": "h2", "c": "h2"}


def test_a_terminating_pod_keeps_its_domain_until_it_has_ended() -> None:
    workload = placed_workload(placed_set("main", hosts(h1=1)))
    leaving = started_pod("r", on={HOST: "h1"}, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert ungated(workload, leaving, started_pod("a")) == {}


def test_a_gated_pod_that_is_deleted_needs_no_domain() -> None:
    leaving = started_pod("a", 0, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert ungated(ranked(h1=1, h2=1), leaving, started_pod("b", 0)) == {"b": "h1"}


def test_ex_19_ranks_in_a_group_of_leader_and_workers() -> None:
    """EX-19; TAS-96, TAS-97."""
    shared: dict[str, Any] = {"required": RACK, "pod_set_group_name": "g"}
    workload = placed_workload(
        placed_set("leader", hosts(h2=1), **shared),
        placed_set("workers", hosts(h1=2, h2=1), pod_index_label=INDEX, **shared),
    )
    leader = started_pod("leader", pod_set="leader")
    workers = [started_pod(f"w{index}", index, pod_set="workers") for index in (3, 2, 1)]
    assert ungated(workload, leader, *workers) == {"leader": "h2", "w1": "h1", "w2": "h1", "w3": "h2"}
    moved = started_pod("w2", 2, pod_set="workers", on={HOST: "h2"})
    assert ungated(workload, workers[0], moved, workers[2]) == {"w3": "h1", "w1": "h1"}, "greedy, in the given order"


def test_an_offset_of_the_template_is_taken_off_the_index() -> None:
    pods = [started_pod(f"w{index}", index, annotations={OFFSET: "1"}) for index in (2, 1)]
    assert ungated(ranked(h1=1, h2=1), *pods) == {"w1": "h1", "w2": "h2"}


def test_an_offset_that_is_no_number_is_an_error() -> None:
    """TAS-99."""
    pods = [started_pod("a", 0, annotations={OFFSET: "one"})]
    with pytest.raises(RetryError, match=r"pod ns/a: annotation kueue.x-k8s.io/pod-index-offset is 'one'"):
        ungated(ranked(h1=1), *pods)


def test_an_offset_does_not_matter_once_no_pod_is_gated() -> None:
    assert ungated(ranked(h1=1), started_pod("a", 0, on={HOST: "h1"}, annotations={OFFSET: "one"})) == {}


def test_no_pod_is_sent_to_an_unhealthy_node() -> None:
    workload = placed_workload(placed_set("main", hosts(h1=1, h2=1), pod_index_label=INDEX), unhealthy=["h1"])
    assert ungated(workload, started_pod("a", 0), started_pod("b", 1)) == {"b": "h2"}


def test_node_names_do_not_matter_for_a_topology_without_hosts() -> None:
    racks = compress((RACK,), [Domain(("r1",), 1)])
    workload = placed_workload(placed_set("main", racks), unhealthy=["r1"])
    assert ungated(workload, started_pod("a"), level=RACK) == {"a": "r1"}


def test_a_pod_gets_a_selector_for_every_level_and_keeps_its_own() -> None:
    levels = ("cloud/block", RACK)
    workload = placed_workload(placed_set("main", compress(levels, [Domain(("b1", "r2"), 1)])))
    pod = started_pod("a", spec={"schedulingGates": [{"name": "mine"}, GATE], "nodeSelector": {"tier": "a"}})
    (patch,) = patches(workload, [pod])
    assert patch.after["spec"]["nodeSelector"] == {"tier": "a", "cloud/block": "b1", RACK: "r2"}
    assert patch.after["spec"]["schedulingGates"] == [{"name": "mine"}]
    assert pod["spec"] == {"schedulingGates": [{"name": "mine"}, GATE], "nodeSelector": {"tier": "a"}}


def test_a_pod_that_selects_another_domain_stays_gated_with_an_event() -> None:
    workload = placed_workload(placed_set("main", compress((RACK,), [Domain(("r1",), 2)])))
    stuck = started_pod("a", spec={"nodeSelector": {RACK: "r2"}})
    effects = TopologyGatePolicy().ungate(workload, [stuck, started_pod("b")])
    (event,) = (each for each in effects if isinstance(each, RecordEvent))
    assert (event.about.name, event.note.type, event.note.reason) == ("a", "Warning", "TopologyDomainConflict")
    assert "its node selector has cloud/rack=r2, but its topology domain is cloud/rack=r1" in event.note.message
    assert ungated(workload, stuck, started_pod("b"), level=RACK) == {"b": "r1"}


def test_pods_of_a_slice_that_is_not_admitted_wait_for_it_first() -> None:
    pod = started_pod("a", spec={"schedulingGates": [ELASTIC, GATE]})
    assert ungated(placed_workload(placed_set("main", hosts(h1=1))), pod, started_pod("b")) == {"b": "h1"}


def test_only_a_workload_with_an_assignment_concerns_the_ungater() -> None:
    policy = TopologyGatePolicy()
    placed = placed_workload(placed_set("main", hosts(h1=1)))
    assert policy.applies(placed)
    assert not policy.applies(placed_workload(placed_set("main", None, 1)))
    parent = OwnerReference(api_version="kueue.x-k8s.io/v1beta2", kind="Workload", name="p", uid="p")
    assert not policy.applies(replace(placed, metadata=replace(placed.metadata, owner_references=(parent,))))


def test_an_evicted_workload_ungates_nothing_and_of_slices_the_newest_does() -> None:
    first = as_slice(placed_workload(placed_set("main", hosts(h1=1))), "one", "one")
    second = as_slice(placed_workload(placed_set("main", hosts(h1=2))), "two", "one")
    assert serving_slice([first, second]) is second
    assert serving_slice([first, evicted(second)]) is first
    assert serving_slice([evicted(first)]) is None


# Laws

COUNTS = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@st.composite
def situations(draw: st.DrawFn) -> tuple[dict[str, int], list[JsonObject], list[str]]:
    """Counts of hosts, pods in any state that earlier patches may have left, and unhealthy nodes."""
    counts = {f"h{number}": count for number, count in enumerate(draw(COUNTS))}
    total, has_ranks = sum(counts.values()), draw(st.booleans())
    expected = [host for host, count in counts.items() for _ in range(count)]
    pods: list[JsonObject] = []
    for number in range(draw(st.integers(0, total + 2))):
        index = draw(st.sampled_from([number, number, number, 0, 99])) if has_ranks else None
        free = [host for host in counts if _on(pods, host) < counts[host]]
        own = expected[number] if number < total and expected[number] in free else ""
        places = [None, None, *([own] if own else []), *(free[:1] if draw(st.booleans()) else [])]
        place = draw(st.sampled_from(places))
        phase = draw(st.sampled_from(["Pending", "Running", "Failed"]))
        pods.append(started_pod(f"p{number}", index, on=None if place is None else {HOST: place}, phase=phase))
    unhealthy = draw(st.lists(st.sampled_from([*counts]), max_size=1))
    return counts, pods, unhealthy


def _on(pods: list[JsonObject], host: str) -> int:
    return sum(pod["spec"].get("nodeSelector", {}).get(HOST) == host for pod in pods)


@given(situations())
def test_no_domain_gets_more_pods_than_its_count_and_no_pod_another_domain(
    found: tuple[dict[str, int], list[JsonObject], list[str]],
) -> None:
    counts, pods, unhealthy = found
    workload = placed_workload(placed_set("main", hosts(**counts), pod_index_label=INDEX), unhealthy=unhealthy)
    given_domains = ungated(workload, *pods)
    living = [pod for pod in pods if pod["status"]["phase"] != "Failed"]
    present = Counter(pod["spec"]["nodeSelector"][HOST] for pod in living if "nodeSelector" in pod["spec"])
    after = present + Counter(given_domains.values())
    assert all(after[host] <= counts.get(host, 0) for host in after)
    assert not set(given_domains.values()) & set(unhealthy)
    gated = sum("schedulingGates" in pod["spec"] for pod in living)
    if not unhealthy and not _is_ranked(living, counts):
        assert len(given_domains) == min(gated, sum(counts.values()) - present.total()), "every free place is used"


@given(situations())
def test_after_an_ungating_nothing_is_left_to_do(found: tuple[dict[str, int], list[JsonObject], list[str]]) -> None:
    counts, pods, unhealthy = found
    workload = placed_workload(placed_set("main", hosts(**counts), pod_index_label=INDEX), unhealthy=unhealthy)
    after = {each.before["metadata"]["name"]: each.after for each in patches(workload, pods)}
    assert ungated(workload, *(after.get(pod["metadata"]["name"], pod) for pod in pods)) == {}


@given(situations())
def test_with_valid_ranks_each_rank_is_in_its_domain(
    found: tuple[dict[str, int], list[JsonObject], list[str]],
) -> None:
    counts, pods, _ = found
    living = [pod for pod in pods if pod["status"]["phase"] != "Failed"]
    if not _is_ranked(living, counts):
        return
    expected = [host for host, count in counts.items() for _ in range(count)]
    domains = ungated(ranked(**counts), *pods)
    gated = {pod["metadata"]["name"]: pod for pod in living if "schedulingGates" in pod["spec"]}
    assert domains == {name: expected[int(pod["metadata"]["labels"][INDEX])] for name, pod in gated.items()}


def _is_ranked(living: list[JsonObject], counts: dict[str, int]) -> bool:
    """Whether every pod has a rank of its own and is where that rank belongs."""
    expected = [host for host, count in counts.items() for _ in range(count)]
    texts = [pod["metadata"]["labels"].get(INDEX) for pod in living]
    if None in texts or len({*texts}) < len(texts) or any(int(text or 0) >= len(expected) for text in texts):
        return False
    places = [pod["spec"].get("nodeSelector", {}).get(HOST) for pod in living]
    return all(place in (None, expected[int(text or 0)]) for place, text in zip(places, texts, strict=True))
