"""Objects are read by their kind: wrong types refused in the known words, unknown fields named, values canonical."""

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.kinds.builtin_objects import JOBS, PODS, Object, container, find, job, pod
from kohort.embedded.kinds import ReadObject, builtin_resources, read_object, strict_error
from kohort.embedded.resources import ServedResource
from kohort.kube.errors import StatusError

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["metadata", "spec", "status", "name", "labels", "containers", "template", "resources", "limits", "cpu", "env",
         "data", "creationTimestamp", "ports", "x"]), inner, max_size=4),
    max_leaves=25,
)  # fmt: skip


def refusal(obj: Object) -> str:
    with pytest.raises(StatusError) as caught:
        read_object(JOBS, obj)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    head = 'Job in version "v1" cannot be handled as a Job: '
    assert str(caught.value).startswith(head)
    return str(caught.value).removeprefix(head)


def with_container(**more: Any) -> Object:
    return job(pods={"spec": {"containers": [container(**more)]}})


FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"
CONTAINERS = "spec.template.spec.containers"


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (job(parallelism="two"), FIELD.format("string", "JobSpec.spec.parallelism", "int32")),
        (job(parallelism=1.5), FIELD.format("number 1.5", "JobSpec.spec.parallelism", "int32")),
        (job(parallelism=2**40), FIELD.format(f"number {2**40}", "JobSpec.spec.parallelism", "int32")),
        (job(suspend="yes"), FIELD.format("string", "JobSpec.spec.suspend", "bool")),
        ({**job(), "spec": []}, FIELD.format("array", "Job.spec", "v1.JobSpec")),
        ({"metadata": {"labels": {"a": 1}}}, FIELD.format("number", "ObjectMeta.metadata.labels", "string")),
        (job(pods={"spec": {"containers": {}}}), FIELD.format("object", f"PodSpec.{CONTAINERS}", "[]v1.Container")),
        (with_container(command="sh"), FIELD.format("string", f"Container.{CONTAINERS}.command", "[]string")),
        (
            with_container(env=[{"name": "A", "value": 1}]),
            FIELD.format("number", f"EnvVar.{CONTAINERS}.env.value", "string"),
        ),
        (
            with_container(resources={"limits": {"cpu": "lots"}}),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (with_container(resources={"limits": {"cpu": "1mm"}}), "unable to parse quantity's suffix"),
        (
            {"metadata": {"creationTimestamp": "soon"}},
            'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_rejected_with_the_messages_of_kubernetes(obj: Object, words: str) -> None:
    assert refusal(obj) == words


def test_unknown_fields_are_dropped_and_reported_with_their_path() -> None:
    read = read_object(PODS, pod(container(imagee="x"), nodename="n"))
    assert read.unknown == ('unknown field "spec.containers[0].imagee"', 'unknown field "spec.nodename"')
    assert read.object == pod()


def test_a_strict_client_gets_them_as_an_error() -> None:
    error = strict_error(JOBS, ('unknown field "spec.foo"', 'unknown field "spec.bar"'))
    words = 'strict decoding error: unknown field "spec.foo", unknown field "spec.bar"'
    assert str(error) == f'Job in version "v1" cannot be handled as a Job: {words}'
    assert error.code == 400


def test_quantities_times_and_nulls_are_put_in_order() -> None:
    limits = {"cpu": 0.5, "memory": "1024Mi", "nvidia.com/gpu": 2}
    obj = pod(container(resources={"limits": limits}), nodeName=None)
    obj["metadata"]["creationTimestamp"] = "2026-01-31T13:00:00+01:00"
    read = read_object(PODS, obj).object
    assert read["spec"]["containers"][0]["resources"]["limits"] == {
        "cpu": "500m",
        "memory": "1Gi",
        "nvidia.com/gpu": "2",
    }
    assert read["metadata"]["creationTimestamp"] == "2026-01-31T12:00:00Z"
    assert "nodeName" not in read["spec"]


def test_secrets_must_be_base64() -> None:
    with pytest.raises(StatusError, match="illegal base64 data at input byte 4"):
        read_object(find("secrets"), {"data": {"a": "aGV5!"}})


def test_what_has_no_schema_inside_stays_as_it_is() -> None:
    data = {"any": [1, None, {"x": "y"}]}
    assert read_object(find("controllerrevisions.apps"), {"data": data, "revision": 1}).object["data"] == data


def readable(resource: ServedResource, obj: Object) -> Object | None:
    with suppress(StatusError):
        return read_object(resource, obj).object
    return None


@given(st.sampled_from(builtin_resources()), st.dictionaries(st.sampled_from(["metadata", "spec", "data", "x"]), JSON))
def test_any_input_is_read_or_rejected_and_never_changed(resource: ServedResource, obj: Object) -> None:
    before = copy.deepcopy(obj)
    once = readable(resource, obj)
    assert obj == before
    if once is not None:
        assert read_object(resource, once) == ReadObject(once)
