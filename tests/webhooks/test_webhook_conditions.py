"""What the API server keeps back from the webhooks would have passed them (API-55 to API-70)."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.webhooks import mutate_on_create, webhook_errors
from kohort.embedded.cel import CostBudget, compile_expression
from kohort.webhooks.conditions import match_conditions
from kohort.webhooks.registrations import KUEUE, WebhookType

Json = Any
USER = "system:serviceaccount:kueue-system:kueue-controller-manager"
WORKLOADS = {each.act: each for each in KUEUE if each.resource.kind == "Workload"}
SPEC = {
    "podSets": [
        {"name": "main", "count": 4, "template": {"spec": {"containers": []}}},
        {"name": "other", "count": 2, "template": {"spec": {"containers": []}}},
    ]
}
STATUS_WRITE: dict[str, Json] = {
    "operation": "UPDATE",
    "subResource": "status",
    "userInfo": {"username": "somebody"},
    "options": {},
}
NOW = "2026-01-01T00:00:00Z"
WITHOUT_PARTIAL_ADMISSION = FeatureGates(DEFAULT_GATES.on - {Gate.PartialAdmission})
VARIABLES = ("object", "oldObject", "request")


def is_shown(old: Json, new: Json, request: Json = STATUS_WRITE, user: str = USER) -> bool:
    """Whether a change of a Workload is shown to the webhook that may refuse it."""
    return all(
        compile_expression(each["expression"], VARIABLES).evaluate(CostBudget(), new, old, request) is True
        for each in match_conditions(WORKLOADS[WebhookType.VALIDATE], user)
    )


def workload(status: Json) -> Json:
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "w"}, "spec": SPEC}
    return head if status is None else {**head, "status": status}


def condition(kind: str, status: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": kind,
        "message": "",
        "lastTransitionTime": NOW,
    }


def assignment(name: str, cpu: str, count: int) -> Json:
    return {"name": name, "count": count, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": cpu}}


def admission(queue: str, name: str, cpu: str) -> Json:
    return {"clusterQueue": queue, "podSetAssignments": [assignment(name, cpu, 4)]}


def checks(state: str, name: str, label: str) -> Json:
    updates = [{"name": name, "labels": {"a": label}}]
    return [{"name": "check", "state": state, "message": "", "lastTransitionTime": NOW, "podSetUpdates": updates}]


def parts(names: list[str], labels: list[str], amounts: list[str]) -> dict[str, st.SearchStrategy[Json]]:
    """What a status may consist of, made from these."""
    named = st.sampled_from(names)
    conditions = st.builds(
        condition, st.sampled_from(["QuotaReserved", "Finished"]), st.sampled_from(["True", "False"])
    )
    reclaimable = st.builds(lambda name, count: [{"name": name, "count": count}], named, st.integers(0, 4))
    return {
        "conditions": st.lists(conditions, max_size=2, unique_by=lambda each: each["type"]),
        "admission": st.builds(admission, st.sampled_from(["a", "b"]), named, st.sampled_from(amounts)),
        "admissionChecks": st.builds(checks, st.sampled_from(["Ready", "Pending"]), named, st.sampled_from(labels)),
        "reclaimablePods": reclaimable,
        "clusterName": st.sampled_from(["one", "two"]),
        "nominatedClusterNames": st.lists(st.sampled_from(["one", "two"]), unique=True),
        "requeueState": st.builds(lambda count: {"count": count}, st.integers(1, 3)),
    }


RESERVED = st.just([condition("QuotaReserved", "True")])
SOUND = parts(["main"], ["b"], ["4"])
ANY = parts(["main", "lost"], ["b", "c", "/"], ["3", "4"])


@given(
    old=st.fixed_dictionaries({}, optional=SOUND) | st.fixed_dictionaries({**SOUND, "conditions": RESERVED}),
    other=st.fixed_dictionaries(ANY),
    exchanged=st.sets(st.sampled_from(sorted(ANY)), max_size=2),
    removed=st.sets(st.sampled_from(sorted(ANY)), max_size=1),
)
@settings(max_examples=400)
def test_what_is_not_shown_would_have_been_allowed(
    old: Json, other: Json, exchanged: set[str], removed: set[str]
) -> None:
    mixed = old | {name: other[name] for name in exchanged}
    new = {name: part for name, part in mixed.items() if name not in removed}
    before, after = workload(old), workload(new)
    assume(not webhook_errors(before, before, DEFAULT_GATES))
    assert is_shown(before, after) or not webhook_errors(after, before, DEFAULT_GATES)


ADMITTED: dict[str, Json] = {
    "conditions": [condition("QuotaReserved", "True"), condition("Admitted", "True")],
    "admission": {"clusterQueue": "a", "podSetAssignments": [assignment("main", "4", 4)]},
}


def test_status_changes_that_the_rules_do_not_read_are_filtered() -> None:
    ended = {**ADMITTED, "conditions": [*ADMITTED["conditions"], condition("Finished", "True")]}
    assert not is_shown(workload(ADMITTED), workload(ended))
    assert not is_shown(workload({"requeueState": {"count": 1}}), workload({"conditions": []}))


@pytest.mark.parametrize(
    "changed",
    [
        {"admission": {**ADMITTED["admission"], "clusterQueue": "b"}},
        {"admissionChecks": [{"name": "check", "state": "Pending"}]},
        {"reclaimablePods": [{"name": "main", "count": 1}]},
        {"clusterName": "one"},
        {"conditions": [condition("QuotaReserved", "False")]},
    ],
)
def test_status_changes_that_the_rules_read_pass_the_filter(changed: Json) -> None:
    assert is_shown(workload(ADMITTED), workload({**ADMITTED, **changed}))


def test_the_first_status_and_other_writes_are_shown() -> None:
    assert is_shown(workload(None), workload(ADMITTED))
    assert is_shown(workload(ADMITTED), workload(ADMITTED), {**STATUS_WRITE, "subResource": ""})


def test_a_managers_own_status_is_kept_back_where_its_name_is_known() -> None:
    own = {**STATUS_WRITE, "userInfo": {"username": USER}, "options": {"fieldManager": "kueue-admission"}}
    assert not is_shown(workload(None), workload(ADMITTED), own)
    assert is_shown(workload(None), workload(ADMITTED), own, user="")
    assert is_shown(workload(None), workload(ADMITTED), {**own, "options": {"fieldManager": "kubectl-edit"}})


def test_writes_of_other_kinds_are_all_shown() -> None:
    assert {each.resource.kind for each in KUEUE if match_conditions(each, USER)} == {"Workload"}


# What a new Workload is refused for

CREATION: dict[str, Json] = {"operation": "CREATE", "userInfo": {"username": "somebody"}, "options": {}}
ALL_GATES = FeatureGates(frozenset(Gate))


def is_creation_shown(new: Json, request: Json = CREATION, user: str = USER) -> bool:
    return is_shown(None, new, request, user)


def container(resources: Json) -> Json:
    return {"name": "c", "image": "i", "resources": resources}


def pod_set(*containers: Json, **members: Json) -> Json:
    return {"name": "main", "count": 1, "template": {"spec": {"containers": list(containers)}}, **members}


def new_workload(*pod_sets: Json, **metadata: Json) -> Json:
    head = workload(None)
    return {**head, "metadata": {**head["metadata"], **metadata}, "spec": {"podSets": list(pod_sets)}}


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "example.com/gpu"]),
    st.sampled_from(["1", "-1", "1Gi", "-1Gi", "0", "-0", "+1", "250m", 1, -1, 0]),
    max_size=3,
)
RESOURCES = st.fixed_dictionaries({}, optional={"requests": AMOUNTS, "limits": AMOUNTS})
CONTAINERS = st.lists(st.builds(container, RESOURCES), min_size=1, max_size=2)
NOTES = st.dictionaries(st.sampled_from(["a", "example.com/b", "c d"]), st.sampled_from(["", "x", "/"]), max_size=2)
TEMPLATES = st.fixed_dictionaries(
    {
        "spec": st.fixed_dictionaries(
            {"containers": CONTAINERS}, optional={"initContainers": CONTAINERS, "resources": RESOURCES}
        )
    },
    optional={"metadata": st.fixed_dictionaries({}, optional={"labels": NOTES, "annotations": NOTES})},
)
TOPOLOGY_REQUESTS = st.sampled_from([{"podSetSliceRequiredTopology": "rack"}, {"podSetSliceSize": 2}, {}])
NEW_POD_SETS = st.fixed_dictionaries(
    {"name": st.sampled_from(["main", "other"]), "count": st.just(2), "template": TEMPLATES},
    optional={"minCount": st.just(1), "topologyRequest": TOPOLOGY_REQUESTS},
)
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "kueue.x-k8s.io/admission-gated-by": st.sampled_from(["example.com/gate", "gate", ""]),
        "kueue.x-k8s.io/priority-boost": st.sampled_from(["1", "many"]),
        "kueue.x-k8s.io/elastic-job": st.sampled_from(["true", "false"]),
    },
)


@given(
    pod_sets=st.lists(NEW_POD_SETS, min_size=1, max_size=2),
    metadata=st.fixed_dictionaries({}, optional={"annotations": ANNOTATIONS}),
)
@settings(max_examples=400)
def test_new_workloads_that_are_not_shown_would_have_been_allowed(pod_sets: Json, metadata: Json) -> None:
    """API-56 to API-65, with any gates."""
    new = new_workload(*pod_sets, **metadata)
    assert is_creation_shown(new) or not webhook_errors(new, None, ALL_GATES)


SOUND_AMOUNTS = {"requests": {"cpu": "1", "example.com/gpu": 8}, "limits": {"memory": "1Gi"}}


def test_plain_new_workloads_are_kept_back() -> None:
    assert not is_creation_shown(new_workload(pod_set(container(SOUND_AMOUNTS)), pod_set(container({}))))
    assert not is_creation_shown(new_workload(pod_set({"name": "c"}), annotations={"example.com/note": "plain"}))


MANY_AMOUNTS = {f"example.com/{number}": "1" for number in range(20)}


@pytest.mark.parametrize(
    "shown",
    [
        new_workload(pod_set(container({"requests": {"cpu": "-1"}}))),
        new_workload(pod_set(container({"limits": {"cpu": -1}}))),
        new_workload(pod_set(container({"requests": {"pods": "1"}}))),
        new_workload(pod_set(container({})), pod_set(container({}), minCount=1)),
        new_workload(pod_set(container({}), topologyRequest={"required": "rack"})),
        new_workload(pod_set(template={"metadata": {"labels": {"a": "b"}}, "spec": {"containers": []}})),
        new_workload(
            pod_set(template={"spec": {"containers": [], "initContainers": [container({"limits": {"pods": 1}})]}})
        ),
        new_workload(pod_set(template={"spec": {"containers": [], "resources": {"requests": {"cpu": "1"}}}})),
        new_workload(pod_set(container({})), annotations={"kueue.x-k8s.io/priority-boost": "1"}),
        new_workload(pod_set(*([container({})] * 20))),
        new_workload(pod_set(container({"requests": MANY_AMOUNTS}))),
        {**new_workload(), "spec": {}},
        {name: member for name, member in new_workload().items() if name != "spec"},
        {**new_workload(pod_set(container({}))), "status": {}},
    ],
)
def test_new_workloads_with_something_to_judge_are_shown(shown: Json) -> None:
    assert is_creation_shown(shown)


def test_a_change_is_shown_however_plain() -> None:
    plain = new_workload(pod_set(container(SOUND_AMOUNTS)))
    assert is_shown(plain, plain, {**CREATION, "operation": "UPDATE"})


def test_what_the_manager_creates_is_kept_back_where_its_name_is_known() -> None:
    made = new_workload(pod_set(container({}), topologyRequest={"required": "rack"}))
    own = {**CREATION, "userInfo": {"username": USER}, "options": {"fieldManager": "kueue-job-controller"}}
    assert not is_creation_shown(made, own)
    assert is_creation_shown(made, own, user="")
    assert is_creation_shown(made, {**own, "operation": "UPDATE"})
    assert is_creation_shown(made, {**own, "options": {"fieldManager": "kubectl-create"}})


# What a new Workload is changed in


def is_shown_to_be_changed(value: Json) -> bool:
    [only] = match_conditions(WORKLOADS[WebhookType.MUTATE], USER)
    return compile_expression(only["expression"], VARIABLES).evaluate(CostBudget(), value, None, {}) is True


POD_SETS = st.lists(
    st.fixed_dictionaries({"name": st.just("main")}, optional={"minCount": st.integers(1, 3), "count": st.just(3)})
    | st.sampled_from(["main", None, 1]),
    max_size=3,
)


@given(spec=st.fixed_dictionaries({}, optional={"podSets": POD_SETS | st.none() | st.just("")}) | st.none())
def test_what_is_not_shown_on_creation_would_have_stayed_as_it_is(spec: Json) -> None:
    """API-55, with and without the gate."""
    value = {**workload(None), "spec": spec}
    assert is_shown_to_be_changed(value) or mutate_on_create(value, WITHOUT_PARTIAL_ADMISSION) == value


def test_of_new_workloads_only_those_with_a_smallest_count_are_shown() -> None:
    some = [{**SPEC["podSets"][0]}, {**SPEC["podSets"][1], "minCount": 1}]
    assert not is_shown_to_be_changed(workload(None))
    assert is_shown_to_be_changed({**workload(None), "spec": {"podSets": some}})


@pytest.mark.parametrize("spec", [None, "", [], {"podSets": ""}, {"podSets": [""]}, {"podSets": {"a": 1}}])
def test_what_has_not_the_form_of_a_workload_is_shown(spec: Json) -> None:
    """API-9: a rejection of a webhook has a message."""
    assert is_shown_to_be_changed({**workload(None), "spec": spec})
