"""What a container finds around it: variables, volumes, directories, devices, its user."""

import os
from base64 import b64encode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from embedded.runtimes.harness import Object, PodRun, RuntimeHarness, container, pod, running_process_runtime
from kit.builders.core import make_config_map
from kohort.embedded.nodes.runtime import ContainerWaiting, PodFailure

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run containers as another user")


def secret(name: str, data: dict[str, str]) -> Object:
    encoded = {key: b64encode(value.encode()).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}, "data": encoded}


def env(name: str, **value_from: Any) -> Object:
    return {"name": name, "valueFrom": value_from}


async def output(harness: RuntimeHarness, found: Object) -> str:
    run = harness.run(found)
    end = await run.termination()
    text = await run.log()
    assert end.exit_code == 0, (end, text)
    return text


async def test_variables_come_from_everywhere(harness: RuntimeHarness) -> None:
    await harness.cluster.create(make_config_map("settings", color="red", size="10"))
    await harness.cluster.create(secret("keys", {"token": "hush"}))
    variables = [
        {"name": "PLAIN", "value": "plain"},
        {"name": "JOINED", "value": "$(PLAIN)-$(S_color)-$(MISSING)-$$(PLAIN)"},
        env("POD", fieldRef={"fieldPath": "metadata.name"}),
        env("LABEL", fieldRef={"fieldPath": "metadata.labels['team']"}),
        env("CPUS", resourceFieldRef={"resource": "limits.cpu"}),
        env("MEMORY", resourceFieldRef={"resource": "limits.memory", "divisor": "1Mi"}),
        env("COLOR", configMapKeyRef={"name": "settings", "key": "color"}),
        env("TOKEN", secretKeyRef={"name": "keys", "key": "token"}),
        env("NOTHING", secretKeyRef={"name": "none", "key": "token", "optional": True}),
    ]
    names = " ".join(f'"${each["name"]}"' for each in variables)
    found = container(
        script=f"printf '%s\\n' {names}",
        env=variables,
        envFrom=[{"prefix": "S_", "configMapRef": {"name": "settings"}}],
        resources={"limits": {"cpu": "1500m", "memory": "64Mi"}},
    )
    body = pod(found)
    body["metadata"]["labels"] = {"team": "blue"}
    name = body["metadata"]["name"]
    lines = (await output(harness, body)).split("\n")
    assert lines == ["plain", "plain-red-$(MISSING)-$(PLAIN)", name, "blue", "2", "64", "red", "hush", "", ""]


async def test_arguments_are_expanded_too(harness: RuntimeHarness) -> None:
    found = container(command=["echo"], args=["$(WHO)", "$$(WHO)"], env=[{"name": "WHO", "value": "me"}])
    assert await output(harness, pod(found)) == "me $(WHO)\n"


async def test_nothing_of_the_agent_s_environment_leaks(
    harness: RuntimeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_PASSWORD", "hush")
    assert "hush" not in await output(harness, pod(container(command=["env"])))


async def test_volumes_are_at_their_mount_paths(harness: RuntimeHarness) -> None:
    harness.needs_mount_paths()
    await harness.cluster.create(make_config_map("settings", color="red", size="10"))
    await harness.cluster.create(secret("keys", {"token": "hush"}))
    about = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    volumes = [
        {"name": "scratch", "emptyDir": {}},
        {"name": "all", "configMap": {"name": "settings"}},
        {
            "name": "one",
            "configMap": {"name": "settings", "items": [{"key": "color", "path": "deep/c", "mode": 0o600}]},
        },
        {"name": "secret", "secret": {"secretName": "keys", "defaultMode": 0o400}},
        {"name": "about", "downwardAPI": {"items": about}},
        {
            "name": "mixed",
            "projected": {"sources": [{"secret": {"name": "keys"}}, {"configMap": {"name": "settings"}}]},
        },
        {"name": "gone", "configMap": {"name": "missing", "optional": True}},
    ]
    mounts = [{"name": each["name"], "mountPath": f"/kohort-test/{each['name']}"} for each in volumes]
    mounts.append({"name": "all", "mountPath": "/etc/kohort-test.conf", "subPath": "color"})
    mounts.append({"name": "scratch", "mountPath": "/kohort-test/scratch/inner", "subPath": "inner"})
    script = """
        cd /kohort-test && echo x > scratch/file && cat scratch/file
        cat all/color all/size one/deep/c secret/token about/labels mixed/token mixed/size /etc/kohort-test.conf
        ls gone; stat -c %a one/deep/c secret/token; test -d scratch/inner && test -e /etc/passwd && echo whole
    """
    body = pod(container(script=script, volumeMounts=mounts), volumes=volumes)
    body["metadata"]["labels"] = {"team": "blue"}
    text = await output(harness, body)
    assert text == 'x\nred10redhushteam="blue"hush10red600\n400\nwhole\n'
    assert not Path("/kohort-test").exists()
    assert not Path("/etc/kohort-test.conf").exists()


async def test_a_volume_can_be_for_reading_only(harness: RuntimeHarness) -> None:
    harness.needs_mount_paths()
    mount = {"name": "scratch", "mountPath": "/kohort-test", "readOnly": True}
    found = container(script="touch /kohort-test/x 2>/dev/null || echo no", volumeMounts=[mount])
    assert await output(harness, pod(found, volumes=[{"name": "scratch", "emptyDir": {}}])) == "no\n"


async def test_containers_share_volumes_and_survive_restarts_with_them(harness: RuntimeHarness) -> None:
    mounts: Object = {"volumeMounts": [{"name": "shared", "mountPath": "/kohort-test"}]}
    writer = container("writer", script="cd $KOHORT_ROOT/kohort-test; echo word > new; mv new word", **mounts)
    script = "cd $KOHORT_ROOT/kohort-test; while ! test -e word; do sleep 0.01; done; cat word"
    reader = container(script=script, **mounts)
    assert await output(harness, pod(reader, writer, volumes=[{"name": "shared", "emptyDir": {}}])) == "word\n"


async def test_a_working_directory_that_is_not_there_is_made(harness: RuntimeHarness) -> None:
    harness.needs_mount_paths()
    assert await output(harness, pod(container(script="pwd", workingDir="/kohort-test/deep"))) == "/kohort-test/deep\n"
    assert await output(harness, pod(container(script="pwd", workingDir="/usr"))) == "/usr\n"


async def test_each_container_has_a_scratch_directory_of_its_own(harness: RuntimeHarness) -> None:
    text = await output(harness, pod(container(script="pwd; echo $HOME; echo $TMPDIR; stat -c %a .")))
    work, home, temporary, mode = text.splitlines()
    assert work == home
    assert temporary == work.removesuffix("work") + "tmp"
    assert mode == "700"


async def test_mount_paths_move_below_a_directory_where_they_can_t_be_had(tmp_path: Path) -> None:
    async with running_process_runtime(tmp_path / "data", own_roots=False) as harness:
        mount = {"name": "settings", "mountPath": "/kohort-test"}
        found = container(
            script="cat $KOHORT_ROOT/kohort-test/color; pwd; echo bye > $KOHORT_TERMINATION_LOG; exit 3",
            volumeMounts=[mount],
            workingDir="/kohort-test/made",
        )
        await harness.cluster.create(make_config_map("settings", color="red"))
        run = harness.run(pod(found, volumes=[{"name": "settings", "configMap": {"name": "settings"}}]))
        end = await run.termination()
        assert (await run.log()).startswith("red/")
        assert (end.exit_code, end.message) == (3, "bye\n")
        assert run.events.messages("MountPathsMoved") == [
            "Volumes are not at their mount paths but below $KOHORT_ROOT: switched off by the settings"
        ]


# What is missing


async def wait_for(run: PodRun, reason: str, text: str) -> None:
    def waits() -> bool:
        state = run.status().state
        return isinstance(state, ContainerWaiting) and (state.reason, state.message) == (reason, text)

    await run.wait_until(waits)


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (env("X", configMapKeyRef={"name": "none", "key": "k"}), 'configmap "none" not found'),
        (env("X", secretKeyRef={"name": "none", "key": "k"}), 'secret "none" not found'),
        (env("X", configMapKeyRef={"name": "some", "key": "k"}), "couldn't find key k in ConfigMap default/some"),
        (env("X", fieldRef={"fieldPath": "spec.nonsense"}), "unsupported fieldPath: spec.nonsense"),
    ],
)
async def test_what_a_variable_needs_is_waited_for(harness: RuntimeHarness, variable: Object, message: str) -> None:
    await harness.cluster.create(make_config_map("some", other="value"))
    run = harness.run(pod(container(script="true", env=[variable])))
    await wait_for(run, "CreateContainerConfigError", message)
    assert f"Error: {message}" in run.events.messages("Failed")
    run.running.stop(30)
    await run.finished()


async def test_a_late_config_map_starts_the_container(harness: RuntimeHarness) -> None:
    found = container(script="echo $color", envFrom=[{"configMapRef": {"name": "late"}}])
    run = harness.run(pod(found))
    await wait_for(run, "CreateContainerConfigError", 'configmap "late" not found')
    await harness.cluster.create(make_config_map("late", color="red"))
    await run.termination()
    assert await run.log() == "red\n"


async def test_a_volume_that_is_missing_is_waited_for_too(harness: RuntimeHarness) -> None:
    found = container(script="cat $KOHORT_ROOT/late/color", volumeMounts=[{"name": "late", "mountPath": "/late"}])
    run = harness.run(pod(found, volumes=[{"name": "late", "configMap": {"name": "late"}}]))
    await run.wait_until(lambda: run.events.messages("FailedMount"))
    assert run.events.messages("FailedMount") == [
        'MountVolume.SetUp failed for volume "late" : configmap "late" not found'
    ]
    assert run.status().state == ContainerWaiting("ContainerCreating")
    await harness.cluster.create(make_config_map("late", color="red"))
    await run.termination()
    assert await run.log() == "red"


async def test_a_kind_of_volume_that_is_not_here_fails_the_pod(harness: RuntimeHarness) -> None:
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    run = harness.run(pod(container(script="true"), volumes=[claim]))
    state = await run.finished()
    assert state.failed is not None
    assert state.failed.reason == "FailedMount"
    assert "unmounted volumes=[data]" in state.failed.message
    assert "persistentVolumeClaim" in run.events.messages("FailedMount")[0]


async def test_host_paths_are_for_users_that_the_node_allows(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    (allowed / "file").write_text("here")
    (allowed / "way-out").symlink_to("/etc")
    async with running_process_runtime(tmp_path / "data", host_paths=(str(allowed),)) as harness:
        found = container(script="cat $KOHORT_ROOT/host/file", volumeMounts=[{"name": "host", "mountPath": "/host"}])
        for path, fine in ((allowed, True), (Path("/etc"), False), (allowed / "way-out", False)):
            run = harness.run(pod(found, volumes=[{"name": "host", "hostPath": {"path": str(path)}}]))
            state = await run.finished()
            assert (state.failed is None) is fine
            if state.failed is not None:
                text = f'volume "host": hostPath {path} is not among the paths that this node allows'
                assert state.failed == PodFailure("FailedMount", text)


# Devices


def gpus(number: int, name: str = "main", script: str = "echo $CUDA_VISIBLE_DEVICES") -> Object:
    return container(name, script=script, resources={"limits": {"nvidia.com/gpu": str(number)}} if number else {})


async def test_devices_are_given_to_one_pod_at_a_time(tmp_path: Path) -> None:
    async with running_process_runtime(tmp_path / "data", devices={"nvidia.com/gpu": 4}) as harness:
        hold = "echo [$CUDA_VISIBLE_DEVICES]; exec sleep 1000"
        first = harness.run(pod(gpus(1, script=hold), gpus(2, "other", script=hold)))
        assert await first.wait_for_log("]") == "[0]\n"
        assert await first.wait_for_log("]", "other") == "[1,2]\n"
        second = harness.run(pod(gpus(1, script=hold)))
        assert await second.wait_for_log("]") == "[3]\n"
        refused = await harness.run(pod(gpus(1))).finished()
        assert refused.failed == PodFailure(
            "UnexpectedAdmissionError",
            "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
            "Requested: 1, Available: 0, which is unexpected",
        )
        second.running.stop(0)
        await second.finished()
        assert await output(harness, pod(gpus(1))) == "3\n"


async def test_a_container_without_device_requests_sees_no_devices(tmp_path: Path) -> None:
    async with running_process_runtime(tmp_path / "data", devices={"nvidia.com/gpu": 4}) as harness:
        assert await output(harness, pod(gpus(0, script="echo [${CUDA_VISIBLE_DEVICES-unset}]"))) == "[]\n"


# Users


@as_root
async def test_a_container_can_run_as_another_user() -> None:
    found = container(
        script="id -u; id -g; touch mine && stat -c %u mine; stat -c %u $KOHORT_ROOT/kohort-test/x",
        securityContext={"runAsUser": 61234},
    )
    found["volumeMounts"] = [{"name": "shared", "mountPath": "/kohort-test"}]
    first = container("first", script="touch $KOHORT_ROOT/kohort-test/x", volumeMounts=found["volumeMounts"])
    body = pod(found, init=(first,), volumes=[{"name": "shared", "emptyDir": {}}])
    body["spec"]["securityContext"] = {"runAsUser": 61000, "runAsGroup": 61001}
    with TemporaryDirectory(prefix="kohort-test-") as place:
        Path(place).chmod(0o711)
        async with running_process_runtime(Path(place) / "data") as harness:
            assert (await output(harness, body)).split() == ["61234", "61001", "61234", "61000"]


@as_root
async def test_a_container_that_must_not_be_root_is_not(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="true", securityContext={"runAsNonRoot": True})))
    await run.wait_until(lambda: isinstance(run.status().state, ContainerWaiting) and run.events.messages("Failed"))
    assert "container has runAsNonRoot and image will run as root" in run.events.messages("Failed")[0]


# Secrets


async def test_secrets_are_in_no_process_list_no_book_and_no_open_directory(harness: RuntimeHarness) -> None:
    await harness.cluster.create(secret("keys", {"token": "hush-hush-hush"}))
    mount = {"name": "secret", "mountPath": "/kohort-test"}
    found = container(script="echo ready; exec sleep 1000", volumeMounts=[mount])
    found["env"] = [env("TOKEN", secretKeyRef={"name": "keys", "key": "token"})]
    run = harness.run(pod(found, volumes=[{"name": "secret", "secret": {"secretName": "keys"}}]))
    await run.wait_for_log("ready")
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert b"hush-hush-hush" not in line.read_bytes()
        except OSError:
            continue
    for path in (harness.data / "pods").rglob("*"):
        if path.is_file():
            assert b"hush-hush-hush" not in path.read_bytes(), path
    assert "hush" not in repr(run.events.notes) + repr(run.events.states)
    ours = harness.data / "pods" / run.pod["metadata"]["uid"]
    theirs = harness.data / "scratch" / run.pod["metadata"]["uid"]
    assert [path.stat().st_mode & 0o777 for path in (harness.data / "pods", ours, theirs)] == [0o700] * 3
