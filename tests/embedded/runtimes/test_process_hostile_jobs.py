"""Jobs that replace their own files, link out of their directories, or read those of other pods."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from embedded.runtimes.harness import Object, PodRun, RuntimeHarness, container, pod, running_process_runtime, work_file
from embedded.runtimes.test_process_environment import as_root, secret
from kohort.embedded.nodes.runtime import ContainerWaiting

USER, OTHER = 61234, 61235


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other users may pass through."""
    with TemporaryDirectory(prefix="kohort-test-") as found:
        Path(found).chmod(0o711)
        yield Path(found)


@asynccontextmanager
async def closed_world(place: Path, **settings: Any) -> AsyncIterator[RuntimeHarness]:
    async with running_process_runtime(place / "data", **settings) as harness:
        yield harness


def as_user(user: int, name: str = "main", script: str = "", **fields: Any) -> Object:
    return container(name, script=script, securityContext={"runAsUser": user}, **fields)


def messages(run: PodRun) -> str:
    return repr(run.events.states) + repr(run.events.notes)


async def refusal(run: PodRun) -> None:
    """Wait until a container could not be made or started."""
    await run.wait_until(lambda: run.events.messages("Failed"))


@as_root
@pytest.mark.parametrize("entry", ["termination-log", "tmp", "work", "root", "mounts"])
async def test_a_link_in_place_of_its_own_files_is_not_followed_by_a_job(place: Path, entry: str) -> None:
    directory = place / "root-only"
    directory.mkdir(mode=0o700)
    target = directory / "file"
    target.write_text("only for root")
    target.chmod(0o600)
    victim = target if entry == "termination-log" else directory
    script = f"""
        cd /; top=$(dirname $TMPDIR)
        mv $top/{entry} $top/aside 2>/dev/null; rm -rf $top/{entry} 2>/dev/null; ln -s {victim} $top/{entry} 2>/dev/null
        exit 1
    """
    async with closed_world(place) as harness:
        run = harness.run(pod(as_user(USER, script=script), restart="OnFailure"))
        await run.wait_until(
            lambda: run.events.states and run.status().restarts and isinstance(run.status().state, ContainerWaiting)
        )
        assert "only for root" not in messages(run)
    assert target.read_text() == "only for root"
    owners = [(path.stat().st_uid, path.stat().st_mode & 0o777) for path in (directory, target)]
    assert owners == [(0, 0o700), (0, 0o600)]
    assert os.listdir(directory) == ["file"]


FIFO = "rm -f $KOHORT_TERMINATION_LOG; mkfifo $KOHORT_TERMINATION_LOG; exit 3"
LINK = "echo secret > other; ln -sf $PWD/other $KOHORT_TERMINATION_LOG; exit 3"
DIRECTORY = "rm -f $KOHORT_TERMINATION_LOG; mkdir $KOHORT_TERMINATION_LOG; exit 3"


@pytest.mark.parametrize("script", [FIFO, LINK, DIRECTORY], ids=["fifo", "link", "directory"])
async def test_only_a_regular_file_becomes_the_message(harness: RuntimeHarness, script: str) -> None:
    run = harness.run(pod(container(script=script)))
    end = await run.termination()
    assert (end.exit_code, end.message) == (3, "")


async def test_a_message_is_cut_at_four_kilobytes(harness: RuntimeHarness) -> None:
    script = "head -c 5000 /dev/zero | tr '\\0' x > $KOHORT_TERMINATION_LOG; truncate -s 1T $KOHORT_TERMINATION_LOG"
    end = await harness.run(pod(container(script=script))).termination()
    assert end.message == "x" * 4096


@pytest.mark.parametrize("what", ["fifo", "link", "huge"])
async def test_a_log_that_was_replaced_is_not_read(harness: RuntimeHarness, what: str) -> None:
    """Only a job that runs as the agent's user gets at it; it can't hold up the agent either."""
    run = harness.run(pod(container(script="echo ready; exec sleep 1000")))
    await run.wait_for_log("ready")
    log = harness.data / "pods" / run.pod["metadata"]["uid"] / "logs" / "main" / "0.log"
    log.unlink()
    if what == "fifo":
        os.mkfifo(log)
    elif what == "link":
        other = harness.data / "other"
        other.write_text("2026-01-31T12:00:00.123456789Z stdout F secret\n")
        log.symlink_to(other)
    else:
        log.touch()
        os.truncate(log, 1 << 40)
    assert await run.log() == ""
    assert await run.log(tail_lines=3) == ""


@as_root
@pytest.mark.parametrize("own_roots", [True, False])
async def test_the_user_of_one_pod_can_t_read_the_volumes_of_another(place: Path, own_roots: bool) -> None:
    async with closed_world(place, own_roots=own_roots) as harness:
        await harness.cluster.create(secret("keys", {"token": "hush-hush"}))
        mount: Object = {"volumeMounts": [{"name": "keys", "mountPath": "/kohort-test"}]}
        holds = "cat $KOHORT_ROOT/kohort-test/token && echo mine > $TMPDIR/mine; echo; exec sleep 1000"
        volumes = [{"name": "keys", "secret": {"secretName": "keys"}}]
        first = harness.run(pod(as_user(USER, script=holds, **mount), volumes=volumes))
        await first.wait_for_log("hush-hush\n")
        scratch = harness.data / "scratch" / first.pod["metadata"]["uid"]
        script = (
            f"cat {scratch}/volumes/keys/token {scratch}/containers/main/tmp/mine; ls {scratch} {harness.data}/pods; id"
        )
        other = harness.run(pod(as_user(OTHER, script=script)))
        await other.finished()
        text = await other.log()
        assert "hush-hush" not in text
        assert "mine" not in text.replace("tmp/mine", "")
        assert text.count("Permission denied") == 4


@as_root
async def test_containers_of_one_pod_share_its_volumes_with_any_users(place: Path) -> None:
    for own_roots in (True, False):
        async with closed_world(place, own_roots=own_roots) as harness:
            mount: Object = {"volumeMounts": [{"name": "shared", "mountPath": "/kohort-test"}]}
            first = as_user(OTHER, "first", script="echo word > $KOHORT_ROOT/kohort-test/word", **mount)
            run = harness.run(
                pod(
                    as_user(USER, script="cat $KOHORT_ROOT/kohort-test/word", **mount),
                    init=(first,),
                    volumes=[{"name": "shared", "emptyDir": {}}],
                )
            )
            assert (await run.termination()).exit_code == 0
            assert await run.log() == "word\n"


@as_root
async def test_the_group_of_another_pod_can_t_be_requested(place: Path) -> None:
    async with closed_world(place) as harness:
        first = harness.run(pod(as_user(USER, script="id -G; exec sleep 1000")))
        group = (await first.wait_for_log("\n")).split()[-1]
        for asked in ({"supplementalGroups": [int(group)]}, {"runAsGroup": int(group)}, {"fsGroup": int(group)}):
            run = harness.run(pod(as_user(OTHER, script="true"), securityContext=asked))
            await refusal(run)
            assert f"group {group} is reserved" in run.events.messages("Failed")[0]


async def test_pods_are_indistinguishable_in_the_process_list(harness: RuntimeHarness) -> None:
    run = harness.run(pod(container(script="echo ready; exec sleep 1000")))
    await run.wait_for_log("ready")
    uid = run.pod["metadata"]["uid"]
    seen = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            seen.append(line.read_bytes())
        except OSError:
            continue
    assert any(b"shim" in line for line in seen)
    assert not [line for line in seen if f"pods/{uid}".encode() in line]
    assert not [line for line in seen if b"shim" in line and str(harness.data).encode() in line]


@as_root
async def test_a_mount_point_inside_a_volume_is_not_made_through_a_link(place: Path) -> None:
    directory = place / "root-only"
    directory.mkdir(mode=0o755)
    for own_roots in (True, False):
        async with closed_world(place, own_roots=own_roots) as harness:
            outer = {"name": "shared", "mountPath": "/kohort-test"}
            inner = {"name": "inner", "mountPath": "/kohort-test/link/inner/deep"}
            first = as_user(
                USER, "first", script=f"ln -s {directory} $KOHORT_ROOT/kohort-test/link", volumeMounts=[outer]
            )
            body = pod(
                as_user(USER, script="true", volumeMounts=[outer, inner]),
                init=(first,),
                volumes=[{"name": "shared", "emptyDir": {}}, {"name": "inner", "emptyDir": {}}],
            )
            run = harness.run(body)
            await refusal(run)
            assert os.listdir(directory) == []
            assert "symbolic link" in messages(run).lower()


@as_root
async def test_a_working_directory_inside_a_volume_is_not_made_through_a_link(place: Path) -> None:
    directory = place / "root-only"
    directory.mkdir(mode=0o755)
    async with closed_world(place, own_roots=False) as harness:
        outer: Object = {"volumeMounts": [{"name": "shared", "mountPath": "/kohort-test"}]}
        first = as_user(USER, "first", script=f"ln -s {directory} $KOHORT_ROOT/kohort-test/link", **outer)
        main = as_user(USER, script="true", workingDir="/kohort-test/link/work", **outer)
        run = harness.run(pod(main, init=(first,), volumes=[{"name": "shared", "emptyDir": {}}]))
        await run.wait_until(lambda: run.events.messages("Failed"))
        assert os.listdir(directory) == []


async def test_everything_that_a_job_leaves_is_removed(place: Path) -> None:
    """In a place of its own: pytest, which removes what earlier runs left, does not get so deep."""
    deep = "i=0; while [ $i -lt 1500 ]; do mkdir d && cd d || exit 1; i=$((i+1)); done"
    closed = "cd $TMPDIR && mkdir -p closed/inner && touch closed/inner/file && chmod 0 closed/inner closed"
    outside = place / "outside"
    outside.mkdir()
    (outside / "file").touch()
    links = f"cd $HOME && ln -s {outside} link && mkfifo fifo"
    try:
        async with closed_world(place) as harness:
            run = harness.run(pod(container(script=f"{links}; {closed}; cd $HOME; {deep}")))
            uid = run.pod["metadata"]["uid"]
            assert (await run.termination()).exit_code == 0
            assert work_file(harness.data, run.pod, "d").is_dir()
            harness.runs.remove(run)
            await run.running.close()
            assert not (harness.data / "scratch" / uid).exists()
            assert not (harness.data / "pods" / uid).exists()
            assert (outside / "file").exists()
    finally:
        subprocess.run(["rm", "-rf", str(place / "data")], check=True)
