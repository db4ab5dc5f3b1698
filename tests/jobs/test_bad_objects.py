"""Objects that no job can have, for every framework: one clear event, no hot loop, no fault of the manager."""

from copy import deepcopy
from typing import Any

import pytest

from fuzz.test_fuzz_webhooks import valid
from jobs.actions import admit, pass_harness
from jobs.pass_harness import PassHarness
from jobs.simulations import make_simulation, simulation_framework
from kohort.api.codec import encode
from kohort.api.errors import DecodeError
from kohort.api.merge import merge
from kohort.api.meta import ObjectKey
from kohort.jobs.builtin import built_in_frameworks
from kohort.jobs.contract import Framework
from kohort.jobs.shapes import check_shape

Json = Any
MOST_PASSES = 8
FRAMEWORKS = [*built_in_frameworks(), simulation_framework()]
RECONCILED = {each.name: each for each in FRAMEWORKS if each.is_reconciled and not each.is_propagator}
SPECS: dict[str, Json] = {
    "no spec": None,
    "an empty spec": {},
    "a list as spec": [],
    "a text as spec": "x",
    "a number as spec": 7,
}
HUGE = 2**31 - 1
OBJECT = ObjectKey("ns", "s1")


def object_of(framework: Framework) -> Json:
    if framework.resource.kind == "Simulation":
        return make_simulation("ns")
    found = deepcopy(valid(f"-{framework.resource.kind.lower()}"))
    labels = {"kueue.x-k8s.io/queue-name": "q"}
    metadata = {"name": OBJECT.name, "namespace": OBJECT.namespace, "uid": "u", "labels": labels, "annotations": {}}
    return {**found, "metadata": metadata}


def numbered(value: Json, number: int) -> Json:
    """A value with all whole numbers replaced."""
    if isinstance(value, dict):
        return {name: numbered(each, number) for name, each in value.items()}
    if isinstance(value, list):
        return [numbered(each, number) for each in value]
    return number if isinstance(value, int) and not isinstance(value, bool) else value


async def passes(harness: PassHarness, framework: Framework, obj: Json) -> list[str]:
    """The messages of the Warning events of passes until one writes nothing; raises AssertionError if none does."""
    key = framework.key(obj)
    messages: list[str] = []
    for _ in range(MOST_PASSES):
        if key is None:
            return messages
        try:
            seen = await harness.reconcile(framework, key)
        except DecodeError as error:
            return [str(error)]
        except Exception:
            # The reconciler records an event in this case, and waits for a change.
            with pytest.raises(DecodeError) as caught:
                check_shape(framework, encode(obj))
            return [str(caught.value)]
        messages += [each[2] for each in seen.events if each[0] == "Warning"]
        if not seen.writes:
            return messages
    raise AssertionError(f"writes in each of {MOST_PASSES} passes")


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", RECONCILED)
async def test_an_object_without_a_usable_spec_is_reported_once(name: str, spec: str) -> None:
    framework = RECONCILED[name]
    harness = pass_harness(framework)
    obj = {**object_of(framework), "spec": SPECS[spec]}
    if SPECS[spec] is None:
        del obj["spec"]
    harness.put(obj)
    messages = await passes(harness, framework, obj)
    assert len(set(messages)) <= 1, messages
    assert all(message and "\n" not in message for message in messages)


@pytest.mark.parametrize("number", [0, -1, HUGE, 2**70])
@pytest.mark.parametrize("name", RECONCILED)
async def test_counts_out_of_all_bounds_settle(name: str, number: int) -> None:
    framework = RECONCILED[name]
    harness = pass_harness(framework)
    obj = {**object_of(framework), "spec": numbered(object_of(framework)["spec"], number)}
    harness.put(obj)
    messages = await passes(harness, framework, obj)
    assert len(set(messages)) <= 1, messages


@pytest.mark.parametrize("name", RECONCILED)
async def test_an_operator_that_reverts_a_start_causes_no_hot_loop(name: str) -> None:
    """Passes settle after each of its writes, with at most one message."""
    framework = RECONCILED[name]
    harness = pass_harness(framework)
    obj = object_of(framework)
    framework.suspend(obj)
    harness.put(obj)
    await passes(harness, framework, obj)
    for workload in list(harness.workloads.values()):
        admit(harness, workload)
    await passes(harness, framework, obj)
    for _ in range(3):
        started = harness.get(framework.resource, OBJECT)
        assert started is not None
        harness.put(merge(started, {"spec": obj["spec"]}))
        messages = await passes(harness, framework, obj)
        assert len(set(messages)) <= 1, messages
