"""The view of files for users other than root: by a user namespace, tried in a process that drops root."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kohort.embedded.runtimes.process.shim.rootfs import plan

SCRIPT = """
import ctypes, json, os, sys
from kohort.embedded.runtimes.process.shim import rootfs
place = sys.argv[1]
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(61236)
    os.setuid(61236)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # dumpable again, or /proc/self belongs to root
try:
    binds = [(f"{place}/volume", "/kohort-test/a", True), (f"{place}/file", "/etc/kohort-test", False)]
    rootfs.enter_root(f"{place}/root", binds)
except OSError as error:
    print(json.dumps({"refused": str(error)}))
    sys.exit()
try:
    open("/kohort-test/a/new", "w")
    wrote = True
except OSError:
    wrote = False
with open("/etc/kohort-test", "w") as file:
    file.write("bye")
print(json.dumps({"seen": os.listdir("/kohort-test/a"), "wrote": wrote, "whole": os.path.exists("/etc/passwd")}))
"""


def test_a_user_other_than_root_sees_volumes_at_their_paths_too() -> None:
    with TemporaryDirectory(prefix="kohort-test-") as place:
        Path(place).chmod(0o777)
        for name in ("root", "volume"):
            (Path(place) / name).mkdir()
            (Path(place) / name).chmod(0o777)
        (Path(place) / "volume/inside").touch()
        (Path(place) / "file").touch()
        (Path(place) / "file").chmod(0o666)
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
        command = [sys.executable, "-c", SCRIPT, place]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
        answer = json.loads(done.stdout)
        if "refused" in answer:
            pytest.skip(f"this machine permits no user namespaces: {answer['refused']}")
        assert answer == {"seen": ["inside"], "wrote": False, "whole": True}
        assert (Path(place) / "file").read_text() == "bye"
        assert not Path("/kohort-test").exists()


def test_mount_paths_follow_symbolic_links_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    tree = plan([("/volume", f"{tmp_path}/link/deep", False)])
    for name in (*tmp_path.parts[1:], "real", "deep"):
        tree = tree.below[name]
    assert tree.bind == ("/volume", False)
