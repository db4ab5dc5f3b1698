"""Which owner is queued in a job's place (JOB-3, GS-7)."""

from typing import ClassVar

import pytest

from jobs.actions import make_stored_job
from kohort.api.codec import JsonObject
from kohort.api.config.common import Integrations
from kohort.api.config.v1beta2 import Configuration
from kohort.api.resource import Resource
from kohort.jobs.ancestors import managed_ancestor, owner_is_managed_kind
from kohort.jobs.errors import RetryError
from kohort.jobs.frameworks.job import BatchJobFramework
from kohort.jobs.registry import FrameworkRegistry, registry_of


class JobSetFramework(BatchJobFramework):
    """Another kind that owns Jobs."""

    name: ClassVar[str] = "jobset.x-k8s.io/jobset"
    resource: ClassVar[Resource] = Resource("jobset.x-k8s.io", "v1", "JobSet", "jobsets", namespaced=True)


class AppWrapperFramework(BatchJobFramework):
    """A kind that owns everything."""

    name: ClassVar[str] = "workload.codeflare.dev/appwrapper"
    resource: ClassVar[Resource] = Resource("codeflare.dev", "v1", "AppWrapper", "appwrappers", namespaced=True)


def registry(*enabled: str, external: tuple[str, ...] = ()) -> FrameworkRegistry:
    names = enabled or ("batch/job", JobSetFramework.name, AppWrapperFramework.name)
    settings = Configuration(integrations=Integrations(frameworks=names, external_frameworks=external))
    return registry_of(settings, (BatchJobFramework(), JobSetFramework(), AppWrapperFramework()))


def make_object(api_version: str, kind: str, name: str, queue: str = "", owner: JsonObject | None = None) -> JsonObject:
    made = make_stored_job(name, queue, uid=f"uid-{name}", owners=[reference(owner)] if owner else [])
    return {**made, "apiVersion": api_version, "kind": kind}


def reference(owner: JsonObject) -> JsonObject:
    metadata = owner["metadata"]
    head = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
    return {**head, "name": metadata["name"], "uid": metadata["uid"], "controller": True}


def make_job_set(queue: str = "q", owner: JsonObject | None = None) -> JsonObject:
    return make_object("jobset.x-k8s.io/v1", "JobSet", "s", queue, owner)


def make_app_wrapper(queue: str = "q") -> JsonObject:
    return make_object("codeflare.dev/v1", "AppWrapper", "w", queue)


async def ancestor(
    obj: JsonObject, *others: JsonObject, known: FrameworkRegistry | None = None, manages_all: bool = False
) -> str | None:
    by_name = {each["metadata"]["name"]: each for each in others}

    async def fetch(_api_version: str, _kind: str, _namespace: str, name: str, _uid: str) -> JsonObject | None:
        return by_name.get(name)

    found = await managed_ancestor(obj, known or registry(), fetch, without_queue_name=manages_all)
    return found["metadata"]["name"] if found is not None else None


def a_child(owner: JsonObject) -> JsonObject:
    return make_object("batch/v1", "Job", "child", owner=owner)


async def test_the_topmost_owner_with_a_queue_wins() -> None:
    wrapper = make_app_wrapper()
    jobset = make_job_set(owner=wrapper)
    assert await ancestor(a_child(jobset), jobset, wrapper) == "w"


async def test_an_owner_without_a_queue_is_stepped_over() -> None:
    wrapper = make_app_wrapper()
    jobset = make_job_set(queue="", owner=wrapper)
    assert await ancestor(a_child(jobset), jobset, wrapper) == "w"
    assert await ancestor(a_child(jobset), jobset, make_app_wrapper("")) is None
    assert await ancestor(a_child(jobset), jobset, make_app_wrapper(""), manages_all=True) == "w"


async def test_a_kind_that_is_not_enabled_is_no_ancestor() -> None:
    wrapper = make_app_wrapper("")
    jobset = make_job_set(owner=wrapper)
    known = registry("batch/job", JobSetFramework.name)
    assert await ancestor(a_child(jobset), jobset, wrapper, known=known) == "s"
    assert await ancestor(a_child(jobset), jobset, wrapper, known=registry("batch/job")) is None


async def test_an_external_kind_is_an_ancestor() -> None:
    owner = make_object("x.example/v1", "Thing", "t", "q")
    known = registry(external=("Thing.v1.x.example",))
    assert await ancestor(a_child(owner), owner, known=known) == "t"
    assert await ancestor(a_child(owner), owner) is None
    assert owner_is_managed_kind(a_child(owner), known)


async def test_another_uid_of_an_owner_is_not_the_owner() -> None:
    jobset = make_job_set()
    other = make_job_set()
    other["metadata"]["uid"] = "another"
    assert await ancestor(a_child(jobset), other) is None


async def test_a_missing_owner_is_looked_up_again() -> None:
    with pytest.raises(RetryError, match="workload owner not found"):
        await ancestor(a_child(make_job_set()))


async def test_a_circle_of_owners_is_an_error() -> None:
    one = make_object("batch/v1", "Job", "one")
    two = make_object("batch/v1", "Job", "two", owner=one)
    one["metadata"]["ownerReferences"] = [reference(two)]
    with pytest.raises(RetryError, match="cyclic ownership"):
        await ancestor(one, one, two)


def chain(length: int) -> list[JsonObject]:
    owners = [make_object("batch/v1", "Job", "o0", "q")]
    for number in range(1, length):
        owners.append(make_object("batch/v1", "Job", f"o{number}", owner=owners[-1]))
    return owners


async def test_ten_owners_are_walked_and_no_more() -> None:
    owners = chain(10)
    assert await ancestor(a_child(owners[-1]), *owners) == "o0"
    deeper = chain(11)
    with pytest.raises(RetryError, match="depth exceeded limit of 10") as caught:
        await ancestor(a_child(deeper[-1]), *deeper)
    assert len(caught.value.effects) == 1
