"""The catalog of built-in kinds agrees with the schemas that the package ships."""

import subprocess
import sys

import pytest

from kohort.embedded.kinds import builtin_resources
from kohort.embedded.resources import ServedResource

EVERY = pytest.mark.parametrize("resource", builtin_resources(), ids=lambda one: f"{one.kind}.{one.group}")


def find(key: str) -> ServedResource:
    return next(one for one in builtin_resources() if one.qualified == key)


@EVERY
def test_each_kind_has_the_schema_of_its_name(resource: ServedResource) -> None:
    assert resource.schema is not None
    kinds = resource.schema.resolved["x-kubernetes-group-version-kind"]
    assert {"group": resource.group, "version": resource.version, "kind": resource.kind} in kinds


@EVERY
def test_selectable_fields_exist_in_the_schema(resource: ServedResource) -> None:
    for path in resource.selectable_fields.values():
        node = resource.schema
        for step in path.split("."):
            node = node.member(step) if node else None
        assert node is not None, path


@EVERY
def test_a_kind_with_a_status_that_is_written_has_it_in_its_schema(resource: ServedResource) -> None:
    if resource.subresource("status"):
        assert resource.schema is not None
        assert "status" in resource.schema.properties


def test_merge_keys_and_list_types_come_from_the_package() -> None:
    pod = find("pods").schema
    assert pod is not None
    containers = pod.properties["spec"].properties["containers"]
    assert (containers.patch_merge_key, containers.list_map_keys) == ("name", ("name",))
    assert containers.items is not None
    limits = containers.items.properties["resources"].properties["limits"].additional
    assert limits is not None
    assert limits.is_int_or_string


def test_names_are_unique_within_a_group() -> None:
    names = [(one.group, one.version, one.plural) for one in builtin_resources()]
    assert len(set(names)) == len(names)


def test_both_groups_of_events_are_one_store() -> None:
    assert find("events").key == find("events.events.k8s.io").key == "events"


def test_reviews_are_not_stored() -> None:
    assert not find("selfsubjectaccessreviews.authorization.k8s.io").is_served_by_store
    assert find("jobs.batch").is_served_by_store


def test_no_schema_is_read_before_it_is_needed() -> None:
    code = (
        "from kohort.embedded.kinds import builtin_resources; builtin_resources();"
        "from kohort.embedded.kinds.definitions import DEFINITIONS; assert '_all' not in vars(DEFINITIONS)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
