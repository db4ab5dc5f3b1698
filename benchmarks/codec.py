"""Decoding and encoding of Workloads, against `orjson` on the same bytes."""

import tracemalloc
from collections.abc import Callable, Iterator, Sized

import orjson

from benchmarks.measure import Measurement, compare
from benchmarks.workloads import workload_bytes, workload_list_bytes
from kohort.api.codec import decode, encode
from kohort.api.core.pods import PodTemplateSpec
from kohort.api.kueue.v1beta2 import Workload
from kohort.api.meta import ObjectList

LIST_LENGTH = 1000
GOAL = 1.5


def figures() -> Iterator[Measurement]:
    one, many = workload_bytes(), workload_list_bytes(LIST_LENGTH)
    kind = ObjectList[Workload]
    yield compare(
        f"decode a Workload of {len(one)} bytes / orjson.loads",
        lambda: decode(one, Workload),
        lambda: orjson.loads(one),
        goal=GOAL,
    )
    yield compare(
        f"decode a list of {LIST_LENGTH} Workloads / orjson.loads",
        lambda: decode(many, kind),
        lambda: orjson.loads(many),
        goal=GOAL,
        rounds=11,
    )
    yield compare(
        "the same, and the pod templates that stay raw till read",
        lambda: _with_templates(one),
        lambda: orjson.loads(one),
        goal=GOAL,
    )
    typed, plain = decode(one, Workload), orjson.loads(one)
    yield compare("encode a Workload / orjson.dumps", lambda: encode(typed), lambda: orjson.dumps(plain), goal=GOAL)
    typed_list, plain_list = decode(many, kind), orjson.loads(many)
    yield compare(
        f"encode a list of {LIST_LENGTH} Workloads / orjson.dumps",
        lambda: encode(typed_list),
        lambda: orjson.dumps(plain_list),
        goal=GOAL,
        rounds=11,
    )
    yield _memory(many)


def _with_templates(data: bytes) -> list[PodTemplateSpec]:
    return [decode(pod_set.template, PodTemplateSpec) for pod_set in decode(data, Workload).spec.pod_sets]


def _memory(many: bytes) -> Measurement:
    """Kilobytes that one decoded Workload holds, as a struct and as plain dicts."""
    ours = _held(lambda: [decode(orjson.dumps(item), Workload) for item in orjson.loads(many)["items"]])
    baseline = _held(lambda: orjson.loads(many)["items"])
    return Measurement("memory per decoded Workload / orjson dicts", ours, baseline, ours / baseline, None, "KB")


def _held(make: Callable[[], Sized]) -> float:
    tracemalloc.start()
    kept = make()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / len(kept) / 1024
