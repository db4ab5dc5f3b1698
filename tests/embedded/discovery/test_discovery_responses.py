"""Discovery lists what is served, in the forms that clients read."""

import random

import pytest

from kohort.embedded.discovery import (
    aggregated_content_type,
    aggregated_core,
    aggregated_groups,
    api_group,
    api_groups,
    api_resources,
    api_versions,
    version_rank,
)
from kohort.embedded.kinds import builtin_resources
from kohort.embedded.resources import ServedResource, Subresource


def queue(version: str) -> ServedResource:
    status = Subresource("status", "ClusterQueue", ("get", "patch", "update"))
    return ServedResource("kueue.x-k8s.io", version, "clusterqueues", "ClusterQueue", False, short_names=("cq",),
                    subresources=(status,), is_custom=True)  # fmt: skip


SERVED = (*builtin_resources(), queue("v1beta1"), queue("v1beta2"))


def test_the_core_group_is_at_api_with_the_servers_address() -> None:
    assert api_versions("127.0.0.1:6443") == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
    }


def test_groups_prefer_their_best_version() -> None:
    groups = {group["name"]: group for group in api_groups(SERVED)["groups"]}
    assert "" not in groups
    assert groups["batch"]["preferredVersion"] == {"groupVersion": "batch/v1", "version": "v1"}
    assert [one["version"] for one in groups["kueue.x-k8s.io"]["versions"]] == ["v1beta2", "v1beta1"]


def test_one_group_is_served_under_its_name() -> None:
    assert api_group(SERVED, "batch") == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "batch",
        "versions": [{"groupVersion": "batch/v1", "version": "v1"}],
        "preferredVersion": {"groupVersion": "batch/v1", "version": "v1"},
    }


def test_what_is_not_served_is_not_there() -> None:
    assert api_group(SERVED, "extensions") is None
    assert api_resources(SERVED, "batch", "v1beta1") is None


def test_jobs_and_their_status_are_listed() -> None:
    listed = api_resources(SERVED, "batch", "v1")
    assert listed is not None
    assert (listed["groupVersion"], listed["apiVersion"]) == ("batch/v1", "v1")
    jobs, status = listed["resources"][2:4]
    assert jobs == {
        "name": "jobs",
        "singularName": "job",
        "namespaced": True,
        "kind": "Job",
        "verbs": ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        "categories": ["all"],
    }
    assert (status["name"], status["kind"], status["verbs"]) == ("jobs/status", "Job", ["get", "patch", "update"])


def test_a_subresource_of_another_group_reports_it() -> None:
    core = api_resources(SERVED, "", "v1")
    assert core is not None
    assert "apiVersion" not in core
    entries = {entry["name"]: entry for entry in core["resources"]}
    assert entries["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }
    assert entries["serviceaccounts/token"]["kind"] == "TokenRequest"


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_aggregated_discovery_is_served_in_the_requested_version(version: str) -> None:
    core, named = aggregated_core(SERVED, version), aggregated_groups(SERVED, version)  # type: ignore[arg-type]
    assert core["kind"] == named["kind"] == "APIGroupDiscoveryList"
    assert core["apiVersion"] == named["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    assert [item["metadata"] for item in core["items"]] == [{}]
    assert {"name": "apps"} in [item["metadata"] for item in named["items"]]


def test_an_aggregated_document_has_names_scope_and_subresources() -> None:
    (core,) = aggregated_core(SERVED, "v2")["items"]
    pods = next(one for one in core["versions"][0]["resources"] if one["resource"] == "pods")
    assert pods["scope"] == "Namespaced"
    assert pods["shortNames"] == ["po"]
    assert pods["categories"] == ["all"]
    assert pods["responseKind"] == {"group": "", "version": "", "kind": "Pod"}
    assert [one["subresource"] for one in pods["subresources"]] == ["binding", "eviction", "log", "status"]


def test_a_custom_kind_names_its_group_and_version() -> None:
    groups = {item["metadata"]["name"]: item for item in aggregated_groups(SERVED, "v2")["items"]}
    versions = groups["kueue.x-k8s.io"]["versions"]
    assert [one["version"] for one in versions] == ["v1beta2", "v1beta1"]
    entry = versions[0]["resources"][0]
    kind = {"group": "kueue.x-k8s.io", "version": "v1beta2", "kind": "ClusterQueue"}
    assert entry["responseKind"] == entry["subresources"][0]["responseKind"] == kind
    assert entry["singularResource"] == "clusterqueue"


def test_the_content_type_is_what_clients_compare_with() -> None:
    assert aggregated_content_type("v2") == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def test_versions_rank_by_maturity_then_age() -> None:
    best_first = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
    shuffled = random.sample(best_first, len(best_first))
    assert sorted(shuffled, key=version_rank, reverse=True) == best_first
