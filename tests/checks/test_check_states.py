"""Results of checks as the status of a Workload, and the pure parts of the ProvisioningRequest check."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kit.builders.kueue import make_pod_set, make_workload
from kohort.api.codec import from_json, to_json
from kohort.api.kueue.v1beta2 import ResourceFlavor, Workload
from kohort.api.kueue.v1beta2.checks import ProvisioningRequestConfigSpec, ProvisioningRetryStrategy
from kohort.api.kueue.v1beta2.workload import PodSetUpdate
from kohort.checks.contract import CheckResult, CheckState
from kohort.checks.provisioning.names import request_name, template_name
from kohort.checks.provisioning.pod_sets import requested_pod_sets
from kohort.checks.provisioning.states import retry_delay
from kohort.checks.states import may_be_checked, transitions, with_results

Json = Any
BEFORE, NOW = "2026-01-01T00:00:00Z", datetime(2026, 1, 1, 0, 1, 0, 500, tzinfo=UTC)
UPDATE = PodSetUpdate(name="main", annotations={"a": "b"})


def checked(*conditions: str, **entry: Json) -> Workload:
    found = make_workload("w", "lq")
    state = {"name": "c", "state": "Pending", "message": "", "lastTransitionTime": BEFORE, **entry}
    other = {**state, "name": "d", "state": "Pending"}
    held = [
        {"type": each, "status": "True", "reason": "R", "message": "", "lastTransitionTime": BEFORE}
        for each in conditions
    ]
    found["status"] = {"admissionChecks": [state, other], "conditions": held}
    return from_json(found, Workload)


def shown(workload: Workload) -> Json:
    return to_json(workload)["status"]["admissionChecks"][0]


def test_a_changed_state_gets_a_new_transition_time_and_an_event() -> None:
    """MK-14."""
    before = checked("QuotaReserved", retryCount=2)
    result = CheckResult(CheckState.RETRY, "later", requeue_after=timedelta(seconds=30))
    after = with_results(before, {"c": result}, NOW)
    assert shown(after) == {
        "name": "c",
        "state": "Retry",
        "message": "later",
        "lastTransitionTime": "2026-01-01T00:01:00Z",
        "requeueAfterSeconds": 30,
        "retryCount": 2,
    }
    (event,) = transitions(before, after)
    assert event.note == "Admission check c updated state from Pending to Retry with message later"


def test_a_message_changes_without_a_transition() -> None:
    """MK-14."""
    before = checked("QuotaReserved")
    after = with_results(before, {"c": CheckResult(CheckState.PENDING, "soon")}, NOW)
    assert (shown(after)["message"], shown(after)["lastTransitionTime"]) == ("soon", BEFORE)
    assert transitions(before, after) == []
    assert with_results(after, {"c": CheckResult(CheckState.PENDING, "soon")}, NOW) is after


def test_pod_set_updates_of_a_ready_check_stay() -> None:
    """MK-15: the webhook would reject a change."""
    ready = with_results(checked("QuotaReserved"), {"c": CheckResult(CheckState.READY, "", (UPDATE,))}, NOW)
    later = with_results(ready, {"c": CheckResult(CheckState.READY, "still")}, NOW)
    assert shown(later)["podSetUpdates"] == [{"name": "main", "annotations": {"a": "b"}}]
    retried = with_results(later, {"c": CheckResult(CheckState.RETRY)}, NOW)
    assert "podSetUpdates" not in shown(retried)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (("QuotaReserved",), True),
        (("QuotaReserved", "Admitted"), True),
        ((), False),
        (("QuotaReserved", "Evicted"), False),
        (("QuotaReserved", "Finished"), False),
    ],
)
def test_only_a_workload_that_holds_quota_is_evaluated(conditions: tuple[str, ...], expected: bool) -> None:
    """MK-6, MK-16."""
    assert may_be_checked(checked(*conditions)) is expected


# Names and delays


def test_long_names_are_shortened_with_a_hash() -> None:
    """MK-20."""
    assert request_name("w", "c", 3) == "w-c-3"
    assert template_name("w-c-3", "main") == "ppt-w-c-3-main"
    one, other = (request_name("w" * 260, "c", attempt) for attempt in (1, 2))
    assert one[:248] == "w" * 247 + "-"
    assert len(one) == len(other) == 253
    assert one != other


@pytest.mark.parametrize(
    ("base", "most", "retry", "seconds"),
    [
        (60, 1800, 1, 60),
        (60, 1800, 2, 120),
        (60, 1800, 6, 1800),
        (60, 1800, 10**9, 1800),
        (-5, 10, 1, 0),
        (5, -1, 1, 0),
    ],
)
def test_the_delay_doubles_up_to_its_maximum(base: int, most: int, retry: int, seconds: int) -> None:
    """MK-26."""
    strategy = ProvisioningRetryStrategy(backoff_base_seconds=base, backoff_max_seconds=most)
    assert retry_delay(strategy, retry) == timedelta(seconds=seconds)


# Pod sets


def requested(policy: str | None, *sets: Json, managed: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    config: Json = {"provisioningClassName": "c", "managedResources": list(managed)}
    if policy:
        config["podSetMergePolicy"] = policy
    workload = from_json(make_workload("w", "lq", podSets=list(sets)), Workload)
    found = requested_pod_sets(workload, from_json(config, ProvisioningRequestConfigSpec), lambda _name: None)
    return [(each.name, each.count) for each in found]


def labeled(name: str, count: int = 1, **spec: Json) -> Json:
    found = make_pod_set(name, count)
    found["template"]["metadata"] = {"labels": {"role": name}}
    found["template"]["spec"] |= spec
    return found


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, [("a", 1), ("b", 2), ("c", 4)]),
        ("IdenticalPodTemplates", [("a", 1), ("b", 2), ("c", 4)]),
        ("IdenticalWorkloadSchedulingRequirements", [("a", 3), ("c", 4)]),
    ],
)
def test_pod_sets_are_merged_by_the_policy(policy: str | None, expected: list[tuple[str, int]]) -> None:
    """MK-23."""
    assert requested(policy, labeled("a"), labeled("b", 2), labeled("c", 4, nodeSelector={"x": "y"})) == expected


@pytest.mark.parametrize(
    "requirement",
    [
        {"tolerations": [{"operator": "Exists"}]},
        {"affinity": {"nodeAffinity": {}}},
        {"resourceClaims": [{"name": "x"}]},
        {"resources": {"requests": {"cpu": "1"}}},
        {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "1"}}}]},
    ],
)
def test_requirements_of_pods_are_part_of_the_comparison(requirement: Json) -> None:
    """MK-23."""
    sets = labeled("a"), labeled("b", **requirement)
    assert len(requested("IdenticalWorkloadSchedulingRequirements", *sets)) == 2


def test_a_pod_set_without_pods_or_managed_resources_is_left_out() -> None:
    """MK-19."""
    init = {"name": "i", "image": "i", "resources": {"limits": {"example.com/gpu": "1"}}}
    sets = (make_pod_set("a"), labeled("b", initContainers=[init]), make_pod_set("c", 0))
    assert requested(None, *sets) == [("a", 1), ("b", 1)]
    assert requested(None, *sets, managed=("example.com/gpu",)) == [("b", 1)]


def test_templates_have_the_flavors_and_limits_as_requests() -> None:
    """MK-22."""
    pods = make_pod_set("main")
    pods["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"cpu": "1"},
        "limits": {"cpu": "2", "gpu": "1"},
    }
    found = make_workload("w", "lq", podSets=[pods])
    assigned = {"name": "main", "flavors": {"cpu": "f", "gpu": "f"}, "count": 1}
    found["status"] = {"admission": {"clusterQueue": "q", "podSetAssignments": [assigned]}}
    flavor = from_json(
        {"metadata": {"name": "f"}, "spec": {"nodeLabels": {"tier": "a"}, "tolerations": [{"operator": "Exists"}]}},
        ResourceFlavor,
    )
    config = ProvisioningRequestConfigSpec(provisioning_class_name="c")
    (requested_set,) = requested_pod_sets(from_json(found, Workload), config, lambda _name: flavor)
    spec = requested_set.template["spec"]
    assert (spec["nodeSelector"], spec["tolerations"]) == ({"tier": "a"}, [{"operator": "Exists"}])
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1", "gpu": "1"}
