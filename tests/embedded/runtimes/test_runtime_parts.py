"""The small pieces that both runtimes share: variables, devices, files of volumes, waits."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded.runtimes.harness import container, pod
from kohort.embedded.runtimes.crash_loops import CrashLoop
from kohort.embedded.runtimes.devices import Devices, NoDevicesError, visible
from kohort.embedded.runtimes.downward import MachineInfo, field_value, resource_value
from kohort.embedded.runtimes.environment import expand
from kohort.embedded.runtimes.pods import read_pod
from kohort.embedded.runtimes.retries import Retries
from kohort.embedded.runtimes.sources import MissingReferenceError
from kohort.embedded.runtimes.volumes import File, PodVolumes, mounted, write_file


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("$(A)", "1"),
        ("$(A)$(B)", "1$(B)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A $", "$A $"),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("a$(A)b", "a1b"),
    ],
)
def test_references_are_replaced_where_they_are_known(text: str, becomes: str) -> None:
    assert expand(text, {"A": "1"}) == becomes


@given(st.text())
def test_doubled_dollars_come_back_as_they_were(text: str) -> None:
    assert expand(text.replace("$", "$$"), {"A": "1"}) == text


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), max_size=20), st.integers(0, 6))
def test_no_device_is_ever_given_to_two_pods(script: list[tuple[int, int, bool]], count: int) -> None:
    devices, held = Devices({"nvidia.com/gpu": count}), dict[str, set[int]]()
    for one, other, leaves in script:
        amounts: list[dict[str, Any]] = [
            {"resources": {"limits": {"nvidia.com/gpu": number}}} for number in (one, other)
        ]
        view = read_pod(pod(container("a", **amounts[0]), container("b", **amounts[1])))
        free = count - sum(map(len, held.values()))
        try:
            share = devices.assign(view)
        except NoDevicesError:
            assert one + other > free
            continue
        first, second = (set(share[name]["nvidia.com/gpu"]) for name in "ab")
        assert (len(first), len(second)) == (one, other)
        assert not first & second
        assert not (first | second) & set().union(*held.values())
        held[view.metadata.uid] = first | second
        if leaves:
            devices.release(view.metadata.uid)
            held.pop(view.metadata.uid)


def test_init_containers_use_the_devices_of_those_after_them() -> None:
    amounts: dict[str, Any] = {"resources": {"limits": {"nvidia.com/gpu": 2}}}
    share = Devices({"nvidia.com/gpu": 2}).assign(
        read_pod(pod(container("a", **amounts), init=(container("i", **amounts),)))
    )
    assert share["i"] == share["a"] == {"nvidia.com/gpu": (0, 1)}
    assert visible(share["a"]) == {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert visible({}) == {"CUDA_VISIBLE_DEVICES": ""}


@given(st.lists(st.integers(0, 700), max_size=30))
def test_waits_between_restarts_are_bounded_and_only_grow_without_long_runs(runs: list[int]) -> None:
    loop, now, before = CrashLoop(), 0.0, 0.0
    for run in runs:
        now += run
        wait = loop.wait(now)
        assert wait in (0, 10, 20, 40, 80, 160, 300)
        assert run > 600 or wait >= before
        now, before = now + wait, wait


def test_waits_for_what_is_missing_are_bounded_too() -> None:
    retries = Retries()
    assert [retries.next("a") for _ in range(5)] == [2, 4, 8, 10, 10]
    retries.forget("a")
    assert retries.next("a") == 2


def test_fields_and_amounts_of_a_pod_as_text() -> None:
    body = pod(container(resources={"limits": {"cpu": "250m"}, "requests": {"memory": "100Mi"}}))
    body["metadata"] |= {"labels": {"b": 'x"y', "a": "1"}, "annotations": {"kohort.dev/x": "z"}}
    view, facts = read_pod(body), MachineInfo("10.0.0.1", {"memory": "1Gi"})
    assert field_value(view, "metadata.labels", facts) == 'a="1"\nb="x\\"y"'
    assert field_value(view, "metadata.annotations['kohort.dev/x']", facts) == "z"
    assert field_value(view, "status.podIP", facts) == "10.0.0.1"
    main = view.spec.containers[0]
    asked = {"limits.cpu": "1", "limits.memory": "1073741824", "requests.memory": "104857600", "requests.cpu": "0"}
    assert {name: resource_value(view, main, {"resource": name}, facts) for name in asked} == asked
    assert resource_value(view, main, {"resource": "limits.cpu", "divisor": "1m"}, facts) == "250"
    with pytest.raises(MissingReferenceError, match="unsupported container resource"):
        resource_value(view, main, {"resource": "nonsense"}, facts)


@pytest.mark.parametrize("path", ["../out", "/abs", "a/../../out", ""])
def test_no_file_of_a_volume_lies_outside_it(tmp_path: Path, path: str) -> None:
    with pytest.raises(MissingReferenceError, match="must stay inside"):
        write_file(tmp_path, File(path, b"", 0o644))


def test_no_part_of_a_volume_leads_out_of_it(tmp_path: Path) -> None:
    (tmp_path / "way-out").symlink_to("/etc")
    body = pod(container(volumeMounts=[{"name": "v", "mountPath": "/v", "subPath": "way-out/passwd"}]))
    main = read_pod(body).spec.containers[0]
    with pytest.raises(MissingReferenceError, match="failed to prepare subPath"):
        mounted(main.volume_mounts[0], main, tmp_path, {})


def test_volumes_that_can_never_be_had_are_named(tmp_path: Path) -> None:
    view = read_pod(pod(container(), volumes=[{"name": "data", "nfs": {"server": "x", "path": "/"}}]))
    assert "no volumes of kind nfs" in PodVolumes(view, tmp_path, MachineInfo()).unsupported()
