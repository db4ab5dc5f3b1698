"""A podman of its own for tests: storage in a directory of theirs, and one image made of this machine's own shell.

No registry is used. A machine on which podman is installed and can't run a container makes tests fail, not skip.
"""

import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

import pytest

IMAGE = "localhost/kohort-test:1"
PROGRAMS = ("sh", "cat", "sleep")
CALL_SECONDS = 120
MANY = 4096

_STORAGE = """\
[storage]
driver = "vfs"
graphroot = "{place}/graph"
runroot = "{place}/run"
"""
_ENGINE = """\
[containers]
default_ulimits = [{limits}]
[engine]
runtime = "{runtime}"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{place}/tmp"
"""


def podman(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A call of the real podman, with the storage that the environment names."""
    command = ["podman", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=CALL_SECONDS)


def set_up(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make podman usable here: a storage of its own, an image, and a runtime below it that works on this machine."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed: the containers runtime was NOT tested against a real engine")
    (place / "storage.conf").write_text(_STORAGE.format(place=place))
    monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(place / "storage.conf"))
    monkeypatch.setenv("CONTAINERS_CONF", str(place / "containers.conf"))
    complaints = [_try(place, runtime) for runtime in ("crun", "runc") if shutil.which(runtime)]
    if not any(complaint == "" for complaint in complaints):
        pytest.fail(f"podman is installed and can run no container here: {'; '.join(complaints) or 'no crun, no runc'}")


def _try(place: Path, runtime: str) -> str:
    """The complaint of podman when it is to run a container with a runtime; nothing where all is well."""
    (place / "containers.conf").write_text(_ENGINE.format(place=place, runtime=runtime, limits=_limits()))
    made = podman("image", "exists", IMAGE)
    if made.returncode != 0:
        podman("import", str(_tarball(place)), IMAGE).check_returncode()
    ran = podman("run", "--rm", "--network", "host", IMAGE, "/bin/sh", "-c", "exit 7")
    return "" if ran.returncode == 7 else f"{runtime}: {ran.stderr.strip()}"


def _limits() -> str:
    """Limits that this user may set: podman's own, which are higher, need a right that root may lack."""
    held = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
    hard = {name: resource.getrlimit(number)[1] for name, number in held.items()}
    bounds = {name: MANY if each == resource.RLIM_INFINITY else min(each, MANY) for name, each in hard.items()}
    return ", ".join(f'"{name}={bound}:{bound}"' for name, bound in bounds.items())


def _tarball(place: Path) -> Path:
    root = place / "root"
    for program in PROGRAMS:
        found = shutil.which(program)
        assert found, program
        for file in (found, *_libraries(found)):
            target = root / ("bin/" + program if file == found else file.lstrip("/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(file), target)
    (root / "tmp").mkdir()
    archive = shutil.make_archive(str(place / "image"), "tar", root)
    shutil.rmtree(root)
    return Path(archive)


def _libraries(program: str) -> list[str]:
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True, timeout=10).stdout
    return re.findall(r"(/\S+) \(0x", listed)
