"""Workloads that claim devices are counted, or their condition states why they can't be (API-124)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.scheduling_harness import conditions_of, has_conditions
from kit.apiserver import Object
from kit.builders.kueue import make_cluster_queue, make_local_queue, make_resource_flavor, make_workload
from kit.manager import ManagerHarness, running_manager_harness, workload_counts
from kohort.api.codec import from_json
from kohort.api.config.v1beta2 import Configuration
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.controllers.context import ManagerSettings
from kohort.controllers.devices.claims import (
    ClaimTemplateUnavailableError,
    DeviceResources,
    UncountableError,
    count,
    has_claims,
)

MAPPINGS = {
    "resources": {
        "deviceClassMappings": [
            {"name": "example.com/gpu", "deviceClassNames": ["a100", "h100"]},
            {
                "name": "example.com/memory",
                "deviceClassNames": ["mig"],
                "sources": [
                    {"counter": {"driver": "d", "name": "memory", "deviceSelector": {"cel": {"expression": "true"}}}}
                ],
            },
        ]
    }
}
MAPPED = ManagerSettings(from_json(MAPPINGS, Configuration))
VARIANTS: Any = {"concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}}
PLACE = "spec.podSets[0].template.spec.resourceClaims[0]"


def quota(*flavors: str) -> list[Object]:
    """Eight CPUs and three devices in each flavor."""
    amounts = [{"name": "cpu", "nominalQuota": "8"}, {"name": "example.com/gpu", "nominalQuota": "3"}]
    each = [{"name": flavor, "resources": amounts} for flavor in flavors]
    return [{"coveredResources": ["cpu", "example.com/gpu"], "flavors": each}]


def without(*gates: Gate) -> ManagerSettings:
    return ManagerSettings(gates=FeatureGates(DEFAULT_GATES.on - set(gates)))


def claimant(name: str, *templates: str, **claim: str) -> Object:
    """A Workload whose pods name these templates, or a claim."""
    made = make_workload(name, "l")
    claims = [{"name": each, "resourceClaimTemplateName": each} for each in templates]
    named = [{"name": "c", **claim}] if claim else []
    made["spec"]["podSets"][0]["template"]["spec"]["resourceClaims"] = [*claims, *named]
    return made


def template(name: str, *requests: Object) -> Object:
    spec = {"devices": {"requests": list(requests)}}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    return {**head, "metadata": {"name": name, "namespace": "default"}, "spec": {"spec": spec}}


def devices(class_name: str, number: int = 1, name: str = "r", **more: Any) -> Object:
    mode = {"allocationMode": "ExactCount", "count": number}
    return {"name": name, "exactly": {"deviceClassName": class_name, **mode, **more}}


async def opened(harness: ManagerHarness) -> None:
    await harness.create(
        make_resource_flavor(), make_cluster_queue("q", resourceGroups=quota("f")), make_local_queue("l", "q")
    )


def words(found: Object, type_: str) -> str:
    return next(str(each["message"]) for each in found["status"]["conditions"] if each["type"] == type_)


async def refused(harness: ManagerHarness, *, patience: float = 10.0) -> Object:
    """The Workload `w`, once its condition states that it can't be counted; no workload holds quota."""
    found = await harness.wait_for(
        has_conditions(QuotaReserved="False", Requeued="False"), "Workload", "w", timeout=patience
    )
    assert conditions_of(found)["QuotaReserved"] == ("False", "Misconfigured")
    assert conditions_of(found)["Requeued"] == ("False", "Inadmissible")
    assert words(found, "QuotaReserved") == words(found, "Requeued")
    assert workload_counts(await harness.get("ClusterQueue", "q")) == (0, 0, 0)
    return found


@pytest.mark.parametrize("made", [claimant("w", "gpu"), claimant("w", resourceClaimName="mine")])
async def test_without_the_integration_claims_are_refused(made: Object) -> None:
    async with running_manager_harness(without(Gate.KueueDRAIntegration)) as harness:
        await opened(harness)
        await harness.create(made)
        message = words(await refused(harness), "Requeued")
        assert message == "Workload uses DRA resources but the KueueDRAIntegration feature gate is not enabled"


async def test_claims_count_for_nothing_where_neither_gate_is_on() -> None:
    async with running_manager_harness(
        without(Gate.KueueDRAIntegration, Gate.KueueDRARejectWorkloadsWhenDRADisabled)
    ) as harness:
        await opened(harness)
        await harness.create(claimant("w", "gpu"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")


async def test_a_claim_that_is_named_directly_is_refused() -> None:
    async with running_manager_harness(MAPPED) as harness:
        await opened(harness)
        await harness.create(claimant("w", resourceClaimName="mine"))
        message = words(await refused(harness), "QuotaReserved")
        refusal = "KueueDRAIntegration feature does not support use of resource claims"
        assert message == f"{refusal}: ResourceClaim mine in podset main; name a ResourceClaimTemplate instead"


async def test_devices_of_claims_take_quota() -> None:
    async with running_manager_harness(MAPPED) as harness:
        await opened(harness)
        await harness.create(template("gpu", devices("a100", 2)), claimant("w", "gpu"))
        found = await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        (assigned,) = found["status"]["admission"]["podSetAssignments"]
        assert assigned["resourceUsage"] == {"cpu": "1", "example.com/gpu": "2"}
        await harness.create(template("more", devices("h100", 2)), claimant("v", "more"))
        waits = await harness.wait_for(has_conditions(QuotaReserved="False"), "Workload", "v")
        assert "example.com/gpu" in words(waits, "QuotaReserved")
        await harness.finish("w")
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "v")


async def test_a_workload_waits_for_its_template_and_is_admitted_when_it_exists() -> None:
    async with running_manager_harness(MAPPED) as harness:
        await opened(harness)
        await harness.create(claimant("w", "gpu"))
        message = words(await refused(harness), "QuotaReserved")
        assert message == (
            f"{PLACE}: Internal error: failed to get claim spec for ResourceClaimTemplate gpu in podset main: "
            'resourceclaimtemplates.resource.k8s.io "gpu" not found'
        )
        await harness.advance(20)
        assert conditions_of(await harness.get("Workload", "w"))["Requeued"] == ("False", "Inadmissible")
        await harness.create(template("gpu", devices("a100")))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w", timeout=90.0)


async def test_what_is_refused_is_not_written_again_and_again() -> None:
    async with running_manager_harness(MAPPED) as harness:
        await opened(harness)
        await harness.create(template("gpu", devices("unknown")), claimant("w", "gpu"))
        await refused(harness)
        before = harness.revision
        await harness.advance(40)
        assert harness.revision == before


async def test_a_template_without_read_permission_is_reported_on_the_workload() -> None:
    async with running_manager_harness(MAPPED) as harness:
        await opened(harness)
        harness.interceptor.reject("GET", "resourceclaimtemplates/gpu", *[403] * 20)
        await harness.create(template("gpu", devices("a100")), claimant("w", "gpu"))
        assert "failed to get claim spec for ResourceClaimTemplate gpu" in words(await refused(harness), "Requeued")


async def test_a_workload_that_is_to_have_variants_is_not_admitted_itself() -> None:
    gates = FeatureGates(DEFAULT_GATES.on | {Gate.ConcurrentAdmission})
    async with running_manager_harness(ManagerSettings(MAPPED.configuration, gates)) as harness:
        await harness.create(make_resource_flavor("f"), make_resource_flavor("g"), make_local_queue("l", "q"))
        await harness.create(
            make_cluster_queue("q", resourceGroups=quota("f", "g"), **VARIANTS), template("gpu", devices("a100"))
        )
        harness.interceptor.reject("PATCH", "/workloads/w", *[500] * 6)
        await harness.create(claimant("w", "gpu"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "w")
        held = [each for each in harness.context.workload_cache if each.status.admission is not None]
        assert len(held) == 2, "the parent runs by one variant"
        assert workload_counts(await harness.get("ClusterQueue", "q"))[1] == 1


# What claims come to


def counted(claims: dict[str, Object]) -> dict[str, dict[str, int]]:
    made = from_json(claimant("w", *claims), Workload)
    specs = {name: each["spec"]["spec"] for name, each in claims.items()}
    return count(made, specs, DeviceResources.of(MAPPED.configuration))


def problem(request: Object) -> str:
    with pytest.raises(UncountableError) as raised:
        counted({"t": template("t", request)})
    assert not isinstance(raised.value, ClaimTemplateUnavailableError)
    return str(raised.value)


def test_classes_that_count_as_the_same_add_up_over_requests_and_claims() -> None:
    claims = {
        "one": template("one", devices("a100", 2), devices("h100", 3, "other")),
        "two": template("two", devices("a100", 4)),
    }
    assert counted(claims) == {"main": {"example.com/gpu": 9}}


@given(st.lists(st.integers(min_value=1, max_value=2**63 - 1), max_size=5))
def test_devices_add_up_and_never_wrap(numbers: list[int]) -> None:
    requests = [devices("a100", number, f"r{index}") for index, number in enumerate(numbers)]
    total = counted({"t": template("t", *requests)}).get("main", {}).get("example.com/gpu", 0)
    assert total == min(sum(numbers), 2**63 - 1)


def test_a_class_that_is_not_mapped_is_not_found() -> None:
    text = f'{PLACE}.resourceClaimTemplateName: Not found: "DeviceClass x is not mapped in DRA configuration for podset'
    assert problem(devices("x")) == f'{text} main"'


def test_classes_with_counters_are_refused() -> None:
    assert problem(devices("mig")) == (
        f"{PLACE}.resourceClaimTemplateName: Forbidden: ResourceClaimTemplate t in podset main: DeviceClass mig counts "
        "by counters or capacities, which is not supported; map it without sources"
    )


@pytest.mark.parametrize("strategy", ["StrictFIFO", "BestEffortFIFO"])
async def test_a_rejected_workload_does_not_block_others(strategy: str) -> None:
    async with running_manager_harness(MAPPED) as harness:
        queue = make_cluster_queue("q", resourceGroups=quota("f"), queueingStrategy=strategy)
        await harness.create(
            make_resource_flavor(), queue, make_local_queue("l", "q"), template("slice", devices("mig"))
        )
        await harness.create(claimant("w", "slice"))
        message = words(await refused(harness), "QuotaReserved")
        assert "ResourceClaimTemplate slice" in message
        await harness.create(make_workload("later", "l"))
        await harness.wait_for(has_conditions(Admitted="True"), "Workload", "later")


@pytest.mark.parametrize(
    ("request_", "place", "message"),
    [
        (
            {"name": "r", "firstAvailable": [{"name": "s"}]},
            "",
            "null: {}FirstAvailable device selection is not supported",
        ),
        ({"name": "r"}, "", "null: {}Exactly must be set if FirstAvailable is nil"),
        (devices("a100", adminAccess=True), ".exactly.adminAccess", "null: {}AdminAccess is not supported"),
        (
            devices("a100", allocationMode="All"),
            ".exactly.allocationMode",
            "\"All\": {}AllocationMode 'All' is not supported",
        ),
        (
            devices("a100", allocationMode="Some"),
            ".exactly.allocationMode",
            '"Some": {}unsupported allocation mode: Some',
        ),
    ],
)
def test_unsupported_requests_are_reported_by_their_field(request_: Object, place: str, message: str) -> None:
    words_ = message.format("ResourceClaimTemplate t: ")
    assert problem(request_) == f"{PLACE}.devices.requests[0]{place}: Invalid value: {words_}"


def test_a_workload_whose_template_only_mentions_claims_has_none() -> None:
    made = make_workload("w", "l")
    made["spec"]["podSets"][0]["template"]["metadata"] = {"annotations": {"a": '"resourceClaims"'}}
    assert not has_claims(from_json(made, Workload))
    made["spec"]["podSets"][0]["template"]["spec"]["resourceClaims"] = []
    assert not has_claims(from_json(made, Workload))
