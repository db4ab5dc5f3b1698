"""The clusters of this machine and the processes that run them: also after crashes, and beside old data."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kohort.api.errors import ApiError
from kohort.local import runs
from kohort.local.directories import (
    ClusterDirectory,
    cluster_directories,
    cluster_directory,
    data_root,
    kubeconfig_of_running,
)
from kohort.local.runs import (
    AlreadyRunningError,
    CleanShutdown,
    ClusterLock,
    ClusterRun,
    ClusterState,
    boot,
    cluster_status,
    has_rebooted_since,
    last_run,
    now,
    stop_command,
    used_directories,
)

CLAIM = """
import sys
from pathlib import Path
from kohort.local.runs import ClusterLock, ClusterRun, now
from kohort.local.directories import ClusterDirectory
import os
lock = ClusterLock.take(ClusterDirectory(sys.argv[1], Path(sys.argv[2])))
lock.write(ClusterRun(pid=os.getpid(), since=now(), url="https://127.0.0.1:1", kubeconfig="/k"))
print("has it", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KOHORT_DATA", str(tmp_path))
    return tmp_path


@contextmanager
def other_holds(place: ClusterDirectory) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs the cluster."""
    command = [sys.executable, "-c", CLAIM, place.name, str(place.folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "has it\n"
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def test_where_things_are_kept() -> None:
    assert data_root({"XDG_DATA_HOME": "/home/anna/data"}) == Path("/home/anna/data/kohort")
    assert data_root({"XDG_DATA_HOME": "/home/anna/data", "KOHORT_DATA": "/srv/kohort"}) == Path("/srv/kohort")


def test_the_default_cluster_is_where_it_was_before_there_were_names(root: Path) -> None:
    (root / "store.db").touch()
    assert cluster_directory("kohort") == ClusterDirectory("kohort", root)
    assert [each.name for each in cluster_directories()] == ["kohort"]
    assert cluster_status(cluster_directory("kohort")).state is ClusterState.STOPPED


def test_a_named_cluster_has_its_own_directory_and_context(root: Path) -> None:
    place = cluster_directory("lab")
    assert (place.folder, place.context) == (root / "clusters" / "lab", "kohort-lab")
    assert cluster_directory("kohort").context == "kohort"


@pytest.mark.parametrize("name", ["", "a/b", "..", "UP", "x" * 41])
def test_a_name_that_is_none_is_refused(name: str, root: Path) -> None:
    with pytest.raises(ApiError, match=f'cluster name "{name}"'):
        cluster_directory(name)


def test_a_cluster_that_was_never_started_is_unused(root: Path) -> None:
    assert cluster_status(cluster_directory("lab")).state is ClusterState.UNUSED
    assert cluster_directories() == []


def test_a_second_start_reports_the_running_process(root: Path) -> None:
    place = cluster_directory("lab")
    with other_holds(place) as other:
        with pytest.raises(AlreadyRunningError) as refused:
            ClusterLock.take(place)
        message = str(refused.value)
        assert message.startswith(f"cluster lab is already running at https://127.0.0.1:1 (pid {other.pid}, since 2")
        assert message.endswith("stop it with `kohort down --name lab`")


def test_a_cluster_whose_process_was_killed_has_crashed_and_can_be_started(root: Path) -> None:
    place = cluster_directory("lab")
    with other_holds(place) as other:
        assert cluster_status(place).state is ClusterState.RUNNING
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert cluster_status(place).state is ClusterState.CRASHED
    ClusterLock.take(place).release()


def test_a_process_that_reuses_a_pid_is_not_mistaken_for_the_former_one(root: Path) -> None:
    """As after a reboot: the record names an existing process, and it is another one."""
    place = cluster_directory("lab")
    with other_holds(place):
        pass
    found = last_run(place)
    assert found is not None
    place.record.write_text(place.record.read_text().replace(str(found.pid), str(os.getppid())))
    assert cluster_status(place).state is ClusterState.CRASHED


def test_a_start_is_not_taken_for_the_run_before(root: Path) -> None:
    place = cluster_directory("lab")
    with other_holds(place):
        pass
    claim = ClusterLock.take(place)
    found = cluster_status(place)
    claim.release()
    assert (found.state, found.run and found.run.pid) == (ClusterState.STARTING, os.getpid())


def test_a_start_that_was_given_up_is_no_crash(root: Path) -> None:
    place = cluster_directory("lab")
    ClusterLock.take(place).release()
    assert cluster_status(place).state is ClusterState.STOPPED


def test_a_run_that_ended_well_reports_what_it_left(root: Path) -> None:
    place = cluster_directory("lab")
    claim = ClusterLock.take(place)
    claim.write(ClusterRun(pid=1, since=now(), ended=CleanShutdown(now(), running_pods=3)))
    claim.release()
    found = cluster_status(place)
    assert found.state is ClusterState.STOPPED
    assert found.run is not None
    assert found.run.ended is not None
    assert found.run.ended.running_pods == 3


def test_a_record_that_makes_no_sense_is_as_good_as_none(root: Path) -> None:
    place = cluster_directory("kohort")
    place.record.write_text("{nonsense")
    assert last_run(place) is None
    assert cluster_status(place).state is ClusterState.STOPPED


def test_looking_does_not_keep_anybody_from_starting(root: Path) -> None:
    place = cluster_directory("lab")
    ClusterLock.take(place).release()
    assert not cluster_status(place).is_alive
    ClusterLock.take(place).release()


def test_a_folder_that_can_not_be_written_is_reported_in_one_line(root: Path) -> None:
    (root / "file").touch()
    with pytest.raises(ApiError, match=r"as cluster directory: Not a directory: grant access, or choose another"):
        ClusterLock.take(ClusterDirectory("lab", root / "file" / "lab"))


def no_space(path: Path, _data: bytes) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", str(path))


def test_a_full_disk_is_reported_in_one_line_and_leaves_the_cluster_free(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(runs, "write_private", no_space)
        with pytest.raises(ApiError, match=r"as cluster directory: No space left on device: free disk space, or "):
            ClusterLock.take(cluster_directory("lab"))
    ClusterLock.take(cluster_directory("lab")).release()


def test_how_a_run_ended_is_recorded_on_a_full_disk_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = ClusterLock.take(cluster_directory("lab"))
    monkeypatch.setattr(runs, "write_private", no_space)
    claim.release()
    assert cluster_status(cluster_directory("lab")).state is ClusterState.STOPPED


def test_one_that_kept_nothing_is_as_if_it_had_never_been(root: Path) -> None:
    place = cluster_directory("try")
    claim = ClusterLock.take(place)
    claim.write(ClusterRun(pid=os.getpid(), since=now(), keeps=False))
    assert [each.name for each in used_directories()] == ["try"]
    claim.release()
    assert (cluster_status(place).state, used_directories()) == (ClusterState.UNUSED, [])


def test_a_run_has_the_state_of_the_previous_one(root: Path) -> None:
    ClusterLock.take(cluster_directory("lab")).release()
    claim = ClusterLock.take(cluster_directory("lab"))
    assert claim.before is not None
    assert claim.before.ended is not None
    claim.release()


def test_a_start_of_the_machine_since_is_known_by_the_kernel(root: Path) -> None:
    assert not has_rebooted_since(ClusterRun(pid=1, since=now(), boot=boot()))
    assert has_rebooted_since(ClusterRun(pid=1, since=now(), boot="another"))
    assert not has_rebooted_since(ClusterRun(pid=1, since=now()))


def test_how_to_stop_it_is_printed_as_a_user_types_it(root: Path) -> None:
    assert stop_command(cluster_directory("kohort")) == "kohort down"
    assert stop_command(cluster_directory("lab")) == "kohort down --name lab"
    assert stop_command(cluster_directory("kohort", root / "my data")) == f"kohort down --data '{root}/my data'"


def test_the_kubeconfig_of_what_runs_is_the_default_clusters_or_the_only_one(root: Path) -> None:
    assert kubeconfig_of_running() is None
    with other_holds(cluster_directory("a")):
        assert kubeconfig_of_running() == Path("/k")
        with other_holds(cluster_directory("b")):
            assert kubeconfig_of_running() is None
            with other_holds(cluster_directory("kohort")):
                assert kubeconfig_of_running() == Path("/k")
