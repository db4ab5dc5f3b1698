"""Pods as containers, with a fake podman that records its calls: no real engine takes part in these tests."""

import json
import os
import shutil
import sys
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from embedded.runtimes import fake_podman
from embedded.runtimes.harness import Object, RuntimeHarness, container, pod, running_runtime
from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kit.builders.core import make_config_map
from kit.virtual_time import eventually_true
from kohort.embedded.nodes.runtime import ContainerWaiting
from kohort.embedded.runtimes.containers.arguments import ContainerSpec
from kohort.embedded.runtimes.containers.runtime import ContainersRuntime
from kohort.embedded.runtimes.environment import NotYetError
from kohort.embedded.runtimes.errors import RuntimeSetupError
from kohort.embedded.runtimes.pods import read_pod
from kohort.embedded.runtimes.settings import ProcessSettings
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock


@pytest.fixture
def podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of a fake podman, which is the first on the search path."""
    place = tmp_path / "bin"
    place.mkdir()
    shutil.copy(fake_podman.__file__, place / "fake.py")
    (place / "podman").write_text(f'#!/bin/sh\nexec {sys.executable} -S -E {place}/fake.py "$@"\n')
    (place / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    return place


def calls(podman: Path, command: str) -> list[list[str]]:
    lines = (podman / "store/calls").read_text().splitlines()
    return [call[1:] for call in map(json.loads, lines) if call[0] == command]


def running(cluster: InMemoryApiServer, data: Path) -> AbstractAsyncContextManager[RuntimeHarness]:
    client = Client(cluster.core.transport(ADMIN), SystemClock())
    settings = ProcessSettings(data, devices={"nvidia.com/gpu": 2})
    return running_runtime(cluster, data, ContainersRuntime("podman", client, settings))


@pytest.fixture
async def harness(podman: Path, tmp_path: Path) -> AsyncIterator[RuntimeHarness]:
    async with running_apiserver() as cluster, running(cluster, tmp_path / "data") as found:
        yield found


async def test_a_container_runs_ends_and_is_removed(harness: RuntimeHarness, podman: Path) -> None:
    run = harness.run(pod(container(script="echo hello; exit 3")))
    end = await run.termination()
    assert (end.exit_code, end.reason) == (3, "Error")
    assert await run.log() == "hello\n"
    assert run.events.messages("Pulled") == ['Container image "busybox:1" already present on machine']
    await run.running.close()
    harness.runs.clear()
    [name] = [call[call.index("--name") + 1] for call in calls(podman, "create")]
    assert calls(podman, "rm") == [["--force", name]]


async def test_restarts_are_new_containers(harness: RuntimeHarness, podman: Path) -> None:
    run = harness.run(pod(container(script="exit 1"), restart="OnFailure"))
    await run.wait_until(lambda: isinstance(run.status().state, ContainerWaiting) and run.status().restarts == 1)
    names = [call[call.index("--name") + 1].rpartition("_")[2] for call in calls(podman, "create")]
    assert names == ["0", "1"]


async def test_stop_signals_and_memory_that_ran_out_is_reported(harness: RuntimeHarness, podman: Path) -> None:
    run = harness.run(pod(container(script="trap 'exit 42' TERM; while :; do sleep 0.01; done")))
    await run.wait_started()
    run.running.stop(30)
    end = await run.termination()
    assert (end.exit_code, end.reason) == (42, "OOMKilled")
    assert [call[:2] for call in calls(podman, "kill")] == [["--signal", "TERM"]]


async def test_a_pre_stop_hook_may_sleep_for_a_time(harness: RuntimeHarness) -> None:
    lifecycle = {"preStop": {"sleep": {"seconds": 1}}}
    found = container(script="trap 'exit 42' TERM; while :; do sleep 0.01; done", lifecycle=lifecycle)
    run = harness.run(pod(found))
    await run.wait_started()
    run.running.stop(30)
    assert (await run.termination()).exit_code == 42
    assert run.events.messages("FailedPreStopHook") == []


async def test_the_log_can_replace_the_termination_message(harness: RuntimeHarness) -> None:
    found = container(script="echo one; exit 1", terminationMessagePolicy="FallbackToLogsOnError")
    assert (await harness.run(pod(found)).termination()).message == "one\n"


async def test_containers_of_pods_that_the_api_no_longer_has_are_removed(podman: Path, tmp_path: Path) -> None:
    async with running_apiserver() as cluster:
        async with running(cluster, tmp_path / "data") as harness:
            await harness.run(pod(container(command=["sleep", "1000"]))).wait_started()
            harness.runs.clear()
        async with running(cluster, tmp_path / "data"):
            await eventually_true(lambda: calls(podman, "rm"))


async def test_a_program_that_is_not_in_the_image_is_named(harness: RuntimeHarness) -> None:
    end = await harness.run(pod(container(command=["no-such-program"]))).termination()
    assert (end.exit_code, end.reason) == (128, "StartError")
    assert "no-such-program" in end.message


async def test_an_image_that_can_t_be_pulled_is_tried_again(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(image="absent/broken:1", script="true")))
    await run.wait_until(lambda: len(run.events.messages("Failed")) == 2)
    state = run.status().state
    assert state == ContainerWaiting("ErrImagePull", "initializing source: manifest unknown")
    assert run.events.messages("Pulling") == ['Pulling image "absent/broken:1"']
    assert run.events.messages("Failed") == [
        'Failed to pull image "absent/broken:1": initializing source: manifest unknown',
        "Error: ErrImagePull",
    ]
    run.running.stop(0)
    await run.finished()


async def test_an_image_that_must_not_be_pulled_is_waited_for(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(image="absent:1", script="true", imagePullPolicy="Never")))
    await run.wait_until(lambda: run.events.messages("Failed"))
    assert run.status().state == ContainerWaiting(
        "ErrImageNeverPull", 'Container image "absent:1" is not present with pull policy of Never'
    )


async def test_volumes_and_variables_reach_the_container_and_no_argument(harness: RuntimeHarness, podman: Path) -> None:
    data = {"token": b64encode(b"hush").decode(), "many": b64encode(b"hush\nhush").decode()}
    metadata = {"name": "keys", "namespace": "default"}
    await harness.cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    await harness.cluster.create(make_config_map("settings", color="red"))
    found = container(
        script='echo "$token"; echo "$many"; echo "$W"',
        envFrom=[{"secretRef": {"name": "keys"}}],
        env=[{"name": "W", "value": "word"}],
        volumeMounts=[{"name": "settings", "mountPath": "/etc/settings", "readOnly": True}],
    )
    run = harness.run(pod(found, volumes=[{"name": "settings", "configMap": {"name": "settings"}}]))
    await run.termination()
    assert await run.log() == "hush\nhush\nhush\nword\n"
    assert "hush" not in (podman / "store/calls").read_text()
    [call] = calls(podman, "create")
    [mount] = [part for part in call if "/etc/settings" in part]
    assert mount.endswith(",target=/etc/settings,readonly")
    assert not list((harness.data / "pods").rglob("env-*"))


async def test_the_next_agent_continues_with_running_containers(podman: Path, tmp_path: Path) -> None:
    async with running_apiserver() as cluster:
        found = pod(container(command=["sleep", "1000"]))
        created = await cluster.create({**found, "metadata": {"name": "stays", "namespace": "default"}})
        found["metadata"] = created["metadata"]
        async with running(cluster, tmp_path / "data") as harness:
            await harness.run(found).wait_started()
            harness.runs.clear()
        async with running(cluster, tmp_path / "data") as harness:
            run = harness.run(found)
            await run.wait_started()
            assert len(calls(podman, "create")) == 1
            run.running.stop(30)
            assert (await run.termination()).exit_code == 143


async def test_an_engine_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with running_apiserver() as cluster:
        with pytest.raises(RuntimeSetupError, match=r"^podman is not installed: install it, or choose another runtime"):
            async with running(cluster, tmp_path):
                pass


async def test_a_container_engine_that_does_not_work_is_reported(podman: Path, tmp_path: Path) -> None:
    (podman / "podman").write_text("#!/bin/sh\necho 'Cannot connect to the daemon' >&2; exit 1\n")
    async with running_apiserver() as cluster:
        with pytest.raises(RuntimeSetupError, match=r"^podman does not work: Cannot connect to the daemon$"):
            async with running(cluster, tmp_path):
                pass


# The command line


def making(found: Object, **more: object) -> ContainerSpec:
    view = read_pod(pod(found))
    fields: dict[str, object] = {"env": {}, "env_file": "/env", **more}
    return ContainerSpec(view, view.spec.containers[0], 0, "/data", **fields)  # type: ignore[arg-type]


def test_limits_users_and_devices_are_options() -> None:
    found = container(
        command=["train", "$(WHAT)"],
        args=["$$(x)"],
        workingDir="/work",
        resources={"limits": {"memory": "1Gi", "cpu": "1500m"}},
        securityContext={"runAsUser": 1000, "runAsGroup": 100, "fsGroup": 7},
    )
    made = making(found, env={"WHAT": "it"}, share={"main": {"nvidia.com/gpu": (0, 2)}}, processes=99)
    text = " ".join(made.arguments("podman"))
    assert "--memory 1073741824 --cpus 1.5 --pids-limit 99 --user 1000:100 --group-add 7" in text
    assert "--device nvidia.com/gpu=0 --device nvidia.com/gpu=2 --workdir /work" in text
    assert text.endswith("--entrypoint train busybox:1 it $(x)")
    assert '--gpus "device=0,2"' in " ".join(made.arguments("docker"))


def test_without_a_command_the_image_s_own_is_used() -> None:
    assert making(container(args=["serve"])).arguments("podman")[-2:] == ["busybox:1", "serve"]


def test_a_pod_can_t_steer_the_engine_with_its_variables() -> None:
    with pytest.raises(NotYetError, match="LD_PRELOAD cannot have several lines"):
        making(container(), env={"LD_PRELOAD": "a\nb"}).arguments("podman")
