"""A resource has its paths."""

import pytest

from kohort.api.errors import ApiError
from kohort.api.resource import Resource

PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
NODES = Resource("", "v1", "Node", "nodes", namespaced=False)
EVICTION = Resource("policy", "v1", "Eviction", "", namespaced=True)


def test_the_core_group_has_no_name_in_its_api_version() -> None:
    assert (PODS.api_version, JOBS.api_version) == ("v1", "batch/v1")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("ns"), "/api/v1/namespaces/ns/pods"),
        (PODS.path("ns", "p"), "/api/v1/namespaces/ns/pods/p"),
        (PODS.path("ns", "p", "eviction"), "/api/v1/namespaces/ns/pods/p/eviction"),
        (JOBS.path("ns", "j", "status"), "/apis/batch/v1/namespaces/ns/jobs/j/status"),
        (NODES.path(), "/api/v1/nodes"),
        (NODES.path(name="n"), "/api/v1/nodes/n"),
        (NODES.path(name="system:a/b?c"), "/api/v1/nodes/system:a%2Fb%3Fc"),
    ],
)
def test_paths_follow_the_scope_and_the_group(path: str, expected: str) -> None:
    assert path == expected


@pytest.mark.parametrize(
    ("resource", "place", "remedy"),
    [
        (NODES, ("ns", "n"), "leave the namespace out"),
        (PODS, ("", "p"), "give the namespace"),
        (PODS, ("ns", "", "status"), "give its name"),
        (EVICTION, ("ns", "p"), "the resource it belongs to"),
    ],
)
def test_a_path_that_can_not_exist_is_refused_with_the_remedy(
    resource: Resource, place: tuple[str, ...], remedy: str
) -> None:
    with pytest.raises(ApiError, match=remedy):
        resource.path(*place)
