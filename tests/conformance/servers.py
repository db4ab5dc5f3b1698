"""The two servers under test: a Kubernetes control plane, and the embedded server as its own process.

The control plane runs only those controllers whose work the embedded server does itself; others would change objects
between two commands on one side only.
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
from cluster.control_plane import START_SECONDS, ControlPlaneWithoutScheduler
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
class ServerUnderTest:
    """One server with kubectl."""

    name: str
    program: Path
    admin: Path
    """The kubeconfig of an administrator."""
    without_credentials: Path
    """A kubeconfig without credentials, for commands with a token."""
    home: Path
    """The home directory of kubectl, with its cache."""

    def run(
        self, kubeconfig: Path, arguments: list[str], stdin: str, variables: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run one command; failures and timeouts are results."""
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
def running_kubernetes_server(folder: Path) -> Iterator[ServerUnderTest]:
    """Runs kube-apiserver on etcd until the context exits, with the controllers that the embedded server replaces."""
    with ControlPlaneWithoutScheduler(*_CONTROLLERS) as running:
        yield _server("kube-apiserver", running.kubeconfig, folder)


@contextmanager
def running_embedded_server(folder: Path) -> Iterator[ServerUnderTest]:
    """Runs the embedded server, in memory, until the context exits."""
    kubeconfig, log = folder / "kubeconfig", folder / "server.log"
    command = [sys.executable, "-m", "kohort.embedded", "--ephemeral", f"--kubeconfig={kubeconfig}"]
    server = ChildProcess.start("kohort.embedded", command, log)
    try:
        server.wait_until(lambda: "KUBECONFIG=" in log.read_text(), START_SECONDS)
        yield _server("kohort", kubeconfig, folder)
    finally:
        server.stop()


def _server(name: str, kubeconfig: Path, folder: Path) -> ServerUnderTest:
    home = folder / "home"
    home.mkdir()
    anonymous = yaml.safe_load(kubeconfig.read_text())
    for user in anonymous["users"]:
        user["user"] = {}
    without_credentials = write_secret(folder / "anonymous.kubeconfig", yaml.safe_dump(anonymous).encode())
    return ServerUnderTest(name, built() / "kubectl", kubeconfig, without_credentials, home)
