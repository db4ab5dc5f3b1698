"""The two servers that get the same commands: a real control plane, and the embedded server as its own process.

The real one runs only those controllers whose work the embedded server does itself; the others would change objects
between two commands, on one side only.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from cluster.access import write_secret
from cluster.binaries import built
from cluster.control_plane import START_SECONDS, WithoutScheduler
from kit.processes import ChildProcess

_COMMAND_SECONDS = 90
_NO_END = -1
_CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
)


@dataclass(frozen=True, slots=True)
class Peer:
    """One server, and kubectl to speak to it."""

    name: str
    program: Path
    admin: Path
    """The kubeconfig of a user who may do everything."""
    nobody: Path
    """A kubeconfig without credentials, for commands that bring their own."""
    home: Path
    """Where this kubectl keeps what it remembers."""

    def run(
        self, kubeconfig: Path, arguments: list[str], stdin: str, variables: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """One command, whatever comes of it."""
        settings = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TMPDIR": str(self.home), **variables}
        command = [str(self.program), f"--kubeconfig={kubeconfig}", *arguments]
        try:
            return subprocess.run(
                command,
                input=stdin,
                env=settings,
                capture_output=True,
                text=True,
                timeout=_COMMAND_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, _NO_END, "", f"no end within {_COMMAND_SECONDS} s")


@contextmanager
def real_peer(folder: Path) -> Iterator[Peer]:
    """kube-apiserver on etcd, with the few controllers that the embedded server has an answer to."""
    with WithoutScheduler(*_CONTROLLERS) as running:
        yield _peer("kube-apiserver", running.kubeconfig, folder)


@contextmanager
def embedded_peer(folder: Path) -> Iterator[Peer]:
    """The embedded server, in memory."""
    kubeconfig, log = folder / "kubeconfig", folder / "server.log"
    command = [sys.executable, "-m", "kohort.embedded", "--ephemeral", f"--kubeconfig={kubeconfig}"]
    server = ChildProcess.start("kohort.embedded", command, log)
    try:
        server.wait_until(lambda: "KUBECONFIG=" in log.read_text(), START_SECONDS)
        yield _peer("kohort", kubeconfig, folder)
    finally:
        server.stop()


def _peer(name: str, kubeconfig: Path, folder: Path) -> Peer:
    home = folder / "home"
    home.mkdir()
    stranger = yaml.safe_load(kubeconfig.read_text())
    for user in stranger["users"]:
        user["user"] = {}
    nobody = write_secret(folder / "nobody.kubeconfig", yaml.safe_dump(stranger).encode())
    return Peer(name, built() / "kubectl", kubeconfig, nobody, home)
