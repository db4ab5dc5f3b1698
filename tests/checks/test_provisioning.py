"""The ProvisioningRequest check: request, wait, start, retry and clean up (MK-17 to MK-31)."""

from typing import Any

import pytest

from checks.provisioning_harness import (
    REQUESTS,
    TEMPLATES,
    ProvisioningHarness,
    definition,
    make_config,
    make_provisioning_check,
    running_provisioning_harness,
)
from controllers.scheduling_harness import conditions_of
from kit.builders.kueue import make_pod_set
from kohort.api.codec import from_json
from kohort.api.gates import DEFAULT_GATES, FeatureGates, Gate
from kohort.api.kueue.v1beta2 import Workload
from kohort.checks.provisioning.pod_sets import RequestedPodSet
from kohort.checks.provisioning.requests import new_template, owner_reference
from kohort.controllers.context import ManagerSettings

Json = Any
KEPT = ManagerSettings(gates=FeatureGates(DEFAULT_GATES.on - {Gate.CleanupProvisioningRequestsOnEviction}))


def owners(obj: Json) -> list[str]:
    return [each["kind"] for each in obj["metadata"]["ownerReferences"]]


async def test_a_workload_starts_when_its_nodes_are_provisioned() -> None:
    """MK-20, MK-21, MK-22, MK-25, MK-28, MK-30."""
    config = make_config(
        parameters={"zone": "a"},
        podSetUpdates={"nodeSelector": [{"key": "pool", "valueFromProvisioningClassDetail": "pool-name"}]},
    )
    async with running_provisioning_harness() as harness:
        await harness.open(config, nodeLabels={"tier": "a"}, tolerations=[{"key": "spot", "operator": "Exists"}])
        await harness.submit()
        found = await harness.only_request()
        assert found["metadata"]["name"] == "w-prov-1"
        assert found["metadata"]["labels"]["kueue.x-k8s.io/managed"] == "true"
        assert owners(found) == ["Workload"]
        assert found["spec"] == {
            "provisioningClassName": "queued",
            "parameters": {"zone": "a"},
            "podSets": [{"podTemplateRef": {"name": "ppt-w-prov-1-main"}, "count": 1}],
        }
        (template,) = await harness.templates()
        assert owners(template) == ["ProvisioningRequest"]
        assert template["template"]["spec"]["nodeSelector"] == {"tier": "a"}
        assert template["template"]["spec"]["tolerations"] == [{"key": "spot", "operator": "Exists"}]
        await harness.report("Accepted")
        assert (await harness.entry())["state"] == "Pending"
        await harness.report("Provisioned", "in ten minutes", "False")
        assert (await harness.entry())["message"] == "in ten minutes"
        details = {"pool-name": "p7", "other": "x"}
        await harness.report("Provisioned", "here they are", provisioningClassDetails=details)
        entry = await harness.entry()
        assert (entry["state"], entry["message"]) == ("Ready", "here they are")
        annotations = {
            "autoscaling.x-k8s.io/consume-provisioning-request": "w-prov-1",
            "autoscaling.x-k8s.io/provisioning-class-name": "queued",
        }
        assert entry["podSetUpdates"] == [{"name": "main", "annotations": annotations, "nodeSelector": {"pool": "p7"}}]
        assert conditions_of(await harness.get("Workload", "w"))["Admitted"][0] == "True"
        assert len(await harness.events("ProvisioningRequestCreated")) == 1
        (event,) = await harness.events("AdmissionCheckUpdated")
        assert event["note"] == "Admission check prov updated state from Pending to Ready with message here they are"


async def retried(harness: ProvisioningHarness, condition: str = "Failed") -> Json:
    """The entry after a failure; then the job stops, and the backoff ends."""
    await harness.report(condition, "no nodes")
    await harness.stop_jobs()
    entry = await harness.entry()
    await harness.advance(entry["requeueAfterSeconds"] + 5)
    return entry


@pytest.mark.parametrize("condition", ["Failed", "BookingExpired"])
async def test_failures_are_retried_with_backoff_up_to_the_limit(condition: str) -> None:
    """S-25, MK-26, MK-27."""
    strategy = {"backoffLimitCount": 2, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}
    async with running_provisioning_harness() as harness:
        await harness.open(make_config(retryStrategy=strategy))
        await harness.submit()
        for attempt, delay in ((1, 60), (2, 120)):
            assert (await harness.only_request())["metadata"]["name"] == f"w-prov-{attempt}"
            entry = await retried(harness, condition)
            assert (entry["requeueAfterSeconds"], entry["retryCount"]) == (delay, attempt)
        assert (await harness.only_request())["metadata"]["name"] == "w-prov-3"
        await harness.report(condition, "no nodes")
        found = await harness.get("Workload", "w")
        assert found["spec"]["active"] is False
        (event,) = await harness.events("AdmissionCheckRejected")
        assert event["note"] == 'Deactivated due to AdmissionCheck in Rejected state: "prov" (no nodes)'
        prefix = {"Failed": "Retrying after failure", "BookingExpired": "Retrying after booking expired"}[condition]
        messages = [each["note"] for each in await harness.events("EvictedDueToAdmissionCheck")]
        assert messages
        assert all(f'"prov" ({prefix}: no nodes)' in each for each in messages)
        await harness.stop_jobs()
        await harness.advance(3)
        assert await harness.requests() == []


async def test_an_admitted_workload_outlives_its_booking_but_not_its_capacity() -> None:
    """MK-25."""
    async with running_provisioning_harness() as harness:
        await harness.open()
        await harness.submit()
        await harness.report("Provisioned")
        await harness.report("BookingExpired", "too late")
        assert (await harness.entry())["state"] == "Ready"
        assert conditions_of(await harness.get("Workload", "w"))["Admitted"][0] == "True"
        await harness.report("CapacityRevoked", "taken away")
        found = await harness.get("Workload", "w")
        assert found["spec"]["active"] is False
        assert conditions_of(found)["Evicted"][0] == "True"


async def test_a_finished_workload_leaves_no_request_and_no_template() -> None:
    """MK-29."""
    async with running_provisioning_harness() as harness:
        await harness.open()
        await harness.submit()
        await harness.report("Provisioned")
        await harness.finish("w")
        await harness.advance(3)
        assert (await harness.requests(), await harness.templates()) == ([], [])


async def test_without_the_gate_an_evicted_workload_keeps_its_request() -> None:
    """MK-27, MK-29."""
    async with running_provisioning_harness(KEPT) as harness:
        await harness.open()
        await harness.submit()
        await retried(harness)
        names = [each["metadata"]["name"] for each in await harness.requests()]
        assert names == ["w-prov-2"], "the failed one is not current any more"


async def test_a_pod_set_without_managed_resources_needs_no_request() -> None:
    """MK-19."""
    async with running_provisioning_harness() as harness:
        await harness.open(make_config(managedResources=["example.com/gpu"]))
        await harness.submit()
        entry = await harness.entry()
        assert (entry["state"], entry["message"]) == ("Ready", "the provisioning request is not needed")
        assert await harness.requests() == []


async def test_only_pod_sets_with_managed_resources_are_requested_and_equal_ones_merged() -> None:
    """MK-19, MK-22, MK-23, MK-31."""
    config = make_config(managedResources=["cpu"], podSetMergePolicy="IdenticalPodTemplates")
    other = make_pod_set("d")
    other["template"]["spec"]["containers"][0]["resources"] = {}
    async with running_provisioning_harness() as harness:
        await harness.open(config)
        await harness.submit(
            podSets=[make_pod_set("a"), make_pod_set("b", 2, {"cpu": "2"}), make_pod_set("c", 3), other]
        )
        found = await harness.only_request()
        assert found["spec"]["podSets"] == [
            {"podTemplateRef": {"name": "ppt-w-prov-1-a"}, "count": 4},
            {"podTemplateRef": {"name": "ppt-w-prov-1-b"}, "count": 2},
        ]
        assert {owner for each in await harness.templates() for owner in owners(each)} == {"ProvisioningRequest"}
        await harness.report("Provisioned")
        entry = await harness.entry()
        assert [each["name"] for each in entry["podSetUpdates"]] == ["a", "c", "b"]


async def test_a_changed_config_replaces_the_request() -> None:
    """MK-24."""
    async with running_provisioning_harness() as harness:
        await harness.open()
        await harness.submit()
        first = await harness.only_request()
        await harness.merge("ProvisioningRequestConfig", "config", {"spec": {"provisioningClassName": "other"}})
        await harness.advance(5)
        second = await harness.only_request()
        assert second["metadata"]["uid"] != first["metadata"]["uid"]
        assert second["spec"]["provisioningClassName"] == "other"
        assert len(await harness.templates()) == 1


async def test_an_annotation_overrides_a_parameter_once() -> None:
    """MK-21, MK-31: the request is compared with the effective parameters."""
    async with running_provisioning_harness() as harness:
        await harness.open(make_config(parameters={"zone": "a", "size": "1"}))
        await harness.create_with_annotations({"provreq.kueue.x-k8s.io/zone": "b"})
        found = await harness.only_request()
        assert found["spec"]["parameters"] == {"zone": "b", "size": "1"}
        await harness.advance(30)
        assert (await harness.only_request())["metadata"]["uid"] == found["metadata"]["uid"]


@pytest.mark.parametrize(
    ("check", "config", "expected"),
    [
        (make_provisioning_check(), make_config(), ("True", "Active")),
        (make_provisioning_check(config="absent"), make_config(), ("False", "BadParametersRef")),
        (make_provisioning_check(kind="Other"), make_config(), ("False", "BadParametersRef")),
    ],
)
async def test_a_check_is_active_with_an_existing_config(check: Json, config: Json, expected: tuple[str, str]) -> None:
    """MK-17."""
    async with running_provisioning_harness() as harness:
        await harness.create(config, check)
        await harness.advance(3)
        assert conditions_of(await harness.get("AdmissionCheck", "prov"))["Active"] == expected


async def test_a_check_becomes_inactive_with_its_config_and_with_the_definition() -> None:
    """MK-17, MK-19."""
    async with running_provisioning_harness() as harness:
        await harness.open()
        await harness.submit()
        await harness.delete("ProvisioningRequestConfig", "config")
        await harness.advance(5)
        check = await harness.get("AdmissionCheck", "prov")
        assert conditions_of(check)["Active"] == ("False", "BadParametersRef")
        assert (await harness.entry())["message"] == "the check is not active"
        await harness.create(make_config())
        await harness.advance(3)
        name = definition()["metadata"]["name"]
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        assert (await harness.server.request("DELETE", path)).status == 200
        await harness.advance(5)
        check = await harness.get("AdmissionCheck", "prov")
        assert conditions_of(check)["Active"] == ("False", "ProvisioningRequestNotServed")
        await harness.create(definition())
        await harness.collect_garbage()
        await harness.advance(5)
        assert conditions_of(await harness.get("AdmissionCheck", "prov"))["Active"] == ("True", "Active")
        await harness.report("Provisioned")
        assert (await harness.entry())["state"] == "Ready"


@pytest.mark.parametrize(("path", "kind"), [(REQUESTS, "ProvisioningRequest"), (TEMPLATES, "PodTemplate")])
async def test_an_object_of_another_owner_with_the_name_is_reported_and_left_alone(path: str, kind: str) -> None:
    """MK-30."""
    async with running_provisioning_harness() as harness:
        api_version = {"PodTemplate": "v1"}.get(kind, "autoscaling.x-k8s.io/v1")
        name = {"PodTemplate": "ppt-w-prov-1-main"}.get(kind, "w-prov-1")
        body = {"spec": {}} if kind == "ProvisioningRequest" else {"template": make_pod_set()["template"]}
        metadata = {"name": name, "namespace": "default"}
        await harness.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, **body})
        await harness.open()
        await harness.submit()
        entry = await harness.entry()
        assert entry["state"] == "Pending"
        assert f"{kind} {name} belongs to another owner: delete it" in entry["message"]
        assert await harness.events("FailedCreate")
        assert (await harness.server.request("DELETE", f"{path}/{name}")).status == 200
        await harness.advance(70)
        await harness.report("Provisioned")
        assert (await harness.entry())["state"] == "Ready"


async def test_a_template_of_an_interrupted_creation_is_used() -> None:
    """MK-22: the manager crashed before it created the request."""
    async with running_provisioning_harness() as harness:
        await harness.open()
        await harness.delete("ProvisioningRequestConfig", "config")
        await harness.submit()
        workload = from_json(await harness.get("Workload", "w"), Workload)
        left = RequestedPodSet("main", ("main",), 1, make_pod_set()["template"])
        await harness.create(new_template(workload, "w-prov-1", left))
        await harness.create(make_config())
        await harness.advance(5)
        assert (await harness.only_request())["metadata"]["name"] == "w-prov-1"
        assert [owners(each) for each in await harness.templates()] == [["ProvisioningRequest"]]


async def test_a_template_that_was_not_handed_over_is_deleted_with_its_request() -> None:
    """MK-22, MK-29: the manager crashed after it created the request."""
    async with running_provisioning_harness() as harness:
        await harness.open()
        await harness.submit()
        workload = from_json(await harness.get("Workload", "w"), Workload)
        path = f"{TEMPLATES}/ppt-w-prov-1-main"
        await harness.server.merge(path, {"metadata": {"ownerReferences": [owner_reference(workload)]}})
        await harness.finish("w")
        await harness.advance(3)
        assert (await harness.requests(), await harness.templates()) == ([], [])
