"""Bytes to typed objects and back."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.api.codec import decode, decode_json, encode, from_json, to_json, without_nulls
from kohort.api.errors import DecodeError
from kohort.api.kueue.v1beta2 import ClusterQueue, LocalQueue, ResourceFlavor, Workload
from kohort.api.meta import ObjectList, ObjectMeta

TEMPLATE = b'{"spec":{"containers":[{"name":"c"}],"futureField":{"kept":[1,2]}}}'


def test_a_kind_writes_its_own_api_version_and_kind() -> None:
    assert to_json(LocalQueue(metadata=ObjectMeta(name="q"))) == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "q"},
    }
    assert encode(ResourceFlavor()) == b'{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor"}'


def test_decoding_fills_in_the_schemas_defaults() -> None:
    assert decode(b'{"spec":{}}', ClusterQueue).spec.queueing_strategy == "BestEffortFIFO"


def test_a_null_counts_as_absent() -> None:
    queue = decode(b'{"metadata":{"creationTimestamp":null,"labels":null},"spec":null}', ClusterQueue)
    assert queue == ClusterQueue()


def test_a_pod_template_keeps_fields_that_are_unknown_here() -> None:
    body = b'{"spec":{"podSets":[{"name":"main","template":' + TEMPLATE + b"}]}}"
    workload = decode(body, Workload)
    assert bytes(workload.spec.pod_sets[0].template) == TEMPLATE
    assert TEMPLATE in encode(workload)
    assert workload.spec.pod_sets[0].pod_template.spec.containers[0].name == "c"


def test_a_template_does_not_keep_its_message_in_memory() -> None:
    body = b'{"spec":{"podSets":[{"template":' + TEMPLATE + b'}]},"metadata":{"name":"' + b"x" * 1_000_000 + b'"}}'
    template = decode(body, Workload).spec.pod_sets[0].template
    assert bytes(memoryview(template).obj) == TEMPLATE


def test_a_list_has_typed_items() -> None:
    body = b'{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}'
    answer = decode(body, ObjectList[LocalQueue])
    assert answer.metadata.resource_version == "7"
    assert [queue.metadata.name for queue in answer.items] == ["a", "b"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b'{"spec":{"stopPolicy":5}}', "$.spec.stopPolicy"),
        (b'{"spec":{"stopPolicy":5},"status":null}', "$.spec.stopPolicy"),
        (b'"\xff"', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b'{"metadata":{"name":"\\ud800"}}', "not valid JSON"),
    ],
)
def test_a_wrong_value_is_named_in_one_line(data: bytes, expected: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(data, ClusterQueue)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_raise_nothing_but_the_declared_error(data: bytes) -> None:
    for read in (lambda: decode(data, Workload), lambda: decode_json(data)):
        with contextlib.suppress(DecodeError):
            read()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "status", "metadata", "podSets", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON)
def test_arbitrary_json_is_typed_or_refused(value: object) -> None:
    with contextlib.suppress(DecodeError):
        from_json(value, Workload)


def has_null_member(value: object) -> bool:
    if isinstance(value, dict):
        return any(member is None or has_null_member(member) for member in value.values())
    return isinstance(value, list) and any(has_null_member(item) for item in value)


@given(JSON)
def test_dropping_nulls_leaves_no_null_member(value: object) -> None:
    assert not has_null_member(without_nulls(value))
