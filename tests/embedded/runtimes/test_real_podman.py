"""Pods as containers of a real podman: what the fake of the other tests can't cover."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from embedded.runtimes import real_podman
from embedded.runtimes.harness import Object, RuntimeHarness, pod, running_runtime
from embedded.runtimes.harness import container as any_container
from embedded.runtimes.real_podman import IMAGE, podman
from kit.apiserver import ADMIN, InMemoryApiServer, running_apiserver
from kit.builders.core import make_config_map
from kit.virtual_time import eventually
from kohort.embedded.nodes.runtime import ContainerWaiting
from kohort.embedded.runtimes.containers.runtime import ContainersRuntime
from kohort.embedded.runtimes.settings import AtStop, ProcessSettings
from kohort.kube.client import Client
from kohort.kube.clock import SystemClock

OBEDIENT = "trap 'echo stopped; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
CURIOUS = """\
echo "$token $many $W"
cat /etc/settings/color
(echo > /etc/settings/y) 2> /s/complaint || echo kept
echo s > /s/f
"""
DEAF = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


@pytest.fixture(scope="module", autouse=True)
def real() -> Iterator[None]:
    # Not in pytest's own directory: sockets of containers are in here, and their paths must be short.
    with pytest.MonkeyPatch.context() as environment, TemporaryDirectory(prefix="kohort-") as place:
        real_podman.set_up(Path(place), environment)
        yield
        podman("rm", "--all", "--force", "--time", "0")


def container(name: str = "main", script: str = "", **fields: Any) -> Object:
    return any_container(name, script, **{"image": IMAGE, **fields})


def running(
    cluster: InMemoryApiServer, data: Path, at_stop: AtStop = AtStop.LEAVE
) -> AbstractAsyncContextManager[RuntimeHarness]:
    client = Client(cluster.core.transport(ADMIN), SystemClock())
    return running_runtime(cluster, data, ContainersRuntime("podman", client, ProcessSettings(data, at_stop=at_stop)))


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[RuntimeHarness]:
    async with running_apiserver() as cluster, running(cluster, tmp_path / "data") as found:
        yield found


async def test_a_container_succeeds_and_its_log_stays_until_it_is_closed(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="echo hello; echo oops >&2")))
    end = await run.termination()
    assert (end.exit_code, end.reason) == (0, "Completed")
    assert sorted((await run.log()).splitlines()) == ["hello", "oops"]
    assert end.started <= end.finished
    await run.running.close()
    harness.runs.clear()
    assert podman("ps", "--all", "--quiet", "--filter", f"label=kohort.dev/data={harness.data}").stdout == ""


async def test_the_exit_code_and_the_last_words_of_a_failure_are_reported(harness: RuntimeHarness) -> None:
    end = await harness.run(pod(container(script="echo why > /dev/termination-log; exit 3"))).termination()
    assert (end.exit_code, end.reason, end.message.strip()) == (3, "Error", "why")


async def test_the_image_is_really_the_root(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="test -e /etc/passwd && test -e /etc/debian_version; echo $?")))
    await run.termination()
    assert (await run.log()).strip() == "1"


async def test_a_container_gets_sigterm_and_its_grace_period(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script=OBEDIENT)))
    await run.wait_for_log("ready")
    run.running.stop(30)
    assert (await run.termination()).exit_code == 5
    assert (await run.log()).splitlines() == ["ready", "told"]


async def test_a_container_that_does_not_listen_is_killed_after_its_grace(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script=DEAF)))
    await run.wait_for_log("ready")
    run.running.stop(0.3)
    assert (await run.termination()).exit_code == 137


async def test_a_hook_runs_in_the_container_before_it_is_stopped(harness: RuntimeHarness) -> None:
    hook = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "echo hooked > /tmp/hook"]}}}
    script = "trap 'cat /tmp/hook; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    run = harness.run(pod(container(script=script, lifecycle=hook)))
    await run.wait_for_log("ready")
    run.running.stop(30)
    assert (await run.termination()).exit_code == 0
    assert (await run.log()).splitlines() == ["ready", "hooked"]


async def test_probes_run_in_the_container(harness: RuntimeHarness) -> None:
    check = {"exec": {"command": ["/bin/sh", "-c", "cat /tmp/ready"]}, "periodSeconds": 1, "timeoutSeconds": 10}
    script = "echo started; until test -e /s/go; do sleep 0.05; done; echo > /tmp/ready; while :; do sleep 0.05; done"
    mounts = [{"name": "s", "mountPath": "/s"}]
    found = container(script=script, readinessProbe=check, volumeMounts=mounts)
    run = harness.run(pod(found, volumes=[{"name": "s", "emptyDir": {}}]))
    await run.wait_until(lambda: run.events.messages("Unhealthy"))
    assert "ready: No such file or directory" in run.events.messages("Unhealthy")[0]
    assert not run.status().ready
    [volume] = harness.data.glob(f"scratch/{run.pod['metadata']['uid']}/volumes/s")
    (volume / "go").touch()
    await run.wait_until(lambda: run.status().ready)


async def test_variables_volumes_and_secrets_reach_the_container(harness: RuntimeHarness) -> None:
    metadata = {"name": "keys", "namespace": "default"}
    data = {"token": b64encode(b"hush").decode(), "many": b64encode(b"one\ntwo").decode()}
    await harness.cluster.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    await harness.cluster.create(make_config_map("settings", color="red"))
    found = container(
        script=CURIOUS,
        envFrom=[{"secretRef": {"name": "keys"}}],
        env=[{"name": "W", "value": "a word = two"}],
        volumeMounts=[
            {"name": "settings", "mountPath": "/etc/settings", "readOnly": True},
            {"name": "scratch", "mountPath": "/s"},
        ],
    )
    second = container("second", script="until test -s /s/f; do sleep 0.05; done; cat /s/f", volumeMounts=[
        {"name": "scratch", "mountPath": "/s"}])  # fmt: skip
    volumes = [{"name": "settings", "configMap": {"name": "settings"}}, {"name": "scratch", "emptyDir": {}}]
    run = harness.run(pod(found, second, volumes=volumes))
    await run.termination()
    assert await run.log() == "hush one\ntwo a word = two\nredkept\n"
    assert await run.log("second") == "s\n"


async def test_working_directory_arguments_and_user_are_as_declared(harness: RuntimeHarness) -> None:
    script = 'cd "$PWD"; echo "$PWD" "$0" "$1"; cat /proc/self/status'
    found = container(
        command=["/bin/sh", "-c", script],
        args=["zero", "$(WHO)"],
        env=[{"name": "WHO", "value": "me"}],
        workingDir="/bin",
        securityContext={"runAsUser": 1234, "runAsGroup": 99},
    )
    run = harness.run(pod(found))
    await run.termination()
    first, *status = (await run.log()).splitlines()
    assert first == "/bin zero me"
    assert "Uid:\t1234\t1234\t1234\t1234" in status
    assert "Gid:\t99\t99\t99\t99" in status


async def test_logs_can_be_followed_cut_and_dated(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="echo one; echo two; echo three")))
    await run.termination()
    assert await run.log(follow=True) == "one\ntwo\nthree\n"
    assert await run.log(tail_lines=1) == "three\n"
    assert await run.log(limit_bytes=5) == "one\nt"
    stamp, _, text = (await run.log(timestamps=True, tail_lines=1)).partition(" ")
    assert (stamp[:2], text) == ("20", "three\n")


async def test_init_containers_run_first_and_failures_start_again(harness: RuntimeHarness) -> None:
    share = {"volumes": [{"name": "s", "emptyDir": {}}]}
    mounts = [{"name": "s", "mountPath": "/s"}]
    once = "test -e /s/again && exit 0; echo > /s/again; exit 1"
    run = harness.run(pod(
        container(script=once, volumeMounts=mounts),
        init=(container("first", script="echo > /s/prepared", volumeMounts=mounts),), restart="OnFailure", **share,
    ))  # fmt: skip
    assert (await run.termination()).exit_code == 0
    assert run.status().restarts == 1
    assert run.status("first").state.exit_code == 0  # type: ignore[union-attr]


async def test_a_program_that_is_not_in_the_image_is_named(harness: RuntimeHarness) -> None:
    end = await harness.run(pod(container(command=["no-such-program"]))).termination()
    assert (end.exit_code, end.reason) == (128, "StartError")
    assert "no-such-program" in end.message


async def test_an_missing_image_is_waited_for(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(image="localhost/absent:1", script="true", imagePullPolicy="Never")))
    await run.wait_until(lambda: run.events.messages("Failed"))
    assert run.status().state == ContainerWaiting(
        "ErrImageNeverPull", 'Container image "localhost/absent:1" is not present with pull policy of Never'
    )


async def test_the_next_agent_continues_with_running_containers(tmp_path: Path) -> None:
    async with running_apiserver() as cluster:
        found = pod(container(script=OBEDIENT))
        created = await cluster.create({**found, "metadata": {"name": "stays", "namespace": "default"}})
        found["metadata"] = created["metadata"]
        async with running(cluster, tmp_path / "data") as harness:
            await harness.run(found).wait_for_log("ready")
            harness.runs.clear()
        async with running(cluster, tmp_path / "data") as harness:
            run = harness.run(found)
            await run.wait_for_log("ready")
            run.running.stop(30)
            assert (await run.termination()).exit_code == 5


async def test_the_containers_of_pods_that_the_api_no_longer_has_are_removed(tmp_path: Path) -> None:
    async with running_apiserver() as cluster:
        async with running(cluster, tmp_path / "data") as harness:
            await harness.run(pod(container(script=DEAF))).wait_for_log("ready")
            harness.runs.clear()
        async with running(cluster, tmp_path / "data"):
            mine = ("ps", "--all", "--quiet", "--filter", f"label=kohort.dev/data={tmp_path / 'data'}")
            await eventually(lambda: asyncio.to_thread(podman, *mine), lambda done: not done.stdout)


async def test_an_agent_can_be_configured_to_stop_its_containers_on_shutdown(tmp_path: Path) -> None:
    async with running_apiserver() as cluster:
        async with running(cluster, tmp_path / "data", AtStop.END) as harness:
            await harness.run(pod(container(script=OBEDIENT))).wait_for_log("ready")
            harness.runs.clear()
        mine = ("ps", "--quiet", "--filter", f"label=kohort.dev/data={tmp_path / 'data'}")
        assert (await asyncio.to_thread(podman, *mine)).stdout == ""
