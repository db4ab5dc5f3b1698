"""Workloads by the hosts of their assignments (TAS-100)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controllers.topologies import admission, assignment, condition
from kit.builders.kueue import make_workload
from kohort.api.codec import from_json
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectKey
from kohort.controllers.topology.host_index import HostIndex

HOSTS = ("a", "b", "c", "d")


def admitted(*hosts: str, level: str = "kubernetes.io/hostname", without: str = "", also: str = "") -> Workload:
    """A Workload with one pod on each host, and its conditions."""
    types = [each for each in ("QuotaReserved", "Admitted", also) if each and each != without]
    status: Any = {"conditions": [condition(each) for each in types]}
    if hosts:
        status["admission"] = admission(assignment(*hosts, level=level))
    return from_json({**make_workload("w", "lq"), "status": status}, Workload)


KEY = ObjectKey("default", "w")


def test_a_workload_is_found_by_each_of_its_hosts() -> None:
    index = HostIndex()
    assert index.put(KEY, admitted("a", "b")) == {"a", "b"}
    assert [index.on(host) for host in HOSTS] == [[KEY], [KEY], [], []]


def test_only_admitted_workloads_are_found_that_are_neither_evicted_nor_finished() -> None:
    for found in (admitted("a", without="Admitted"), admitted("a", also="Evicted"), admitted("a", also="Finished")):
        assert HostIndex().put(KEY, found) == set()


def test_topologies_with_another_lowest_level_are_left_out() -> None:
    assert HostIndex().put(KEY, admitted("a", level="rack")) == set()


def test_an_assignment_that_can_not_be_expanded_is_left_out() -> None:
    (part,) = assignment("a", "b")["slices"]
    broken = {**assignment("a", "b"), "slices": [{**part, "domainCount": 3}]}
    status = {"conditions": [condition("Admitted")], "admission": admission(broken)}
    assert HostIndex().put(KEY, from_json({**make_workload("w", "lq"), "status": status}, Workload)) == set()


def test_a_replaced_host_is_reported_with_its_replacement() -> None:
    index = HostIndex()
    index.put(KEY, admitted("a", "b"))
    assert index.put(KEY, admitted("a", "b")) == set(), "nothing changed"
    assert index.put(KEY, admitted("a", "c")) == {"b", "c"}
    assert index.put(KEY, None) == {"a", "c"}


STATES = st.none() | st.tuples(st.lists(st.sampled_from(HOSTS), unique=True, max_size=4), st.booleans())


@given(st.lists(st.tuples(st.integers(0, 2), STATES), max_size=25))
def test_the_index_equals_a_new_computation_after_any_changes(
    changes: list[tuple[int, tuple[list[str], bool] | None]],
) -> None:
    index, expected = HostIndex(), dict[ObjectKey, set[str]]()
    for number, state in changes:
        key = ObjectKey("default", f"w{number}")
        hosts, is_running = state or ([], False)
        found = None if state is None else admitted(*hosts, also="" if is_running else "Evicted")
        now = set(hosts) if is_running else set()
        assert index.put(key, found) == now ^ expected.get(key, set())
        expected[key] = now
    for host in HOSTS:
        assert index.on(host) == sorted(key for key, hosts in expected.items() if host in hosts)
