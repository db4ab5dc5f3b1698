"""The pod of a manager's Deployment, run as a process of this machine.

It has what kubelet would provide (Configuration, token, mounted Secret) and serves its Services. Only the ports
differ from the Configuration, since processes share those of a machine.
"""

import base64
import http.client
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from cluster.access import write_secret
from cluster.client import JsonClient
from cluster.control_plane import START_SECONDS
from cluster.nodes import PROGRAM
from cluster.services import ControlPlaneWithServices
from kit.ports import LOOPBACK, free_port
from kit.processes import ChildProcess

Json = Any
NAMESPACE: Final = "kueue-system"
_HOME: Final = f"/api/v1/namespaces/{NAMESPACE}"
_ACCOUNT: Final = "kueue-controller-manager"
_SECRET: Final = "kueue-webhook-server-cert"  # noqa: S105  a name
_FILE: Final = "controller_manager_config.yaml"
_HTTPS: Final = 443
_PATIENT_LEASE: Final = {"leaseDuration": "40s", "renewDeadline": "30s", "retryPeriod": "2s"}
"""So that a machine with too much to do does not end a manager; its successor waits no longer than tests do."""


@dataclass(frozen=True, slots=True)
class ManagerProgram:
    """What the container runs; its Configuration is added."""

    name: str
    command: tuple[str | Path, ...]


KOHORT: Final = ManagerProgram("kohort", (PROGRAM, "manager"))


class ManagerPod:
    """One replica, started and stopped with its Deployment."""

    def __init__(self, plane: ControlPlaneWithServices, folder: Path) -> None:
        self._plane = plane
        self._folder = folder
        self._admin = JsonClient(plane.admin)
        self._ports = {name: free_port() for name in ("webhook", "health", "metrics", "visibility")}
        self._certificates = folder / "certificates"
        self._certificates.mkdir()
        self._running: ChildProcess | None = None

    def start(self, program: ManagerProgram) -> None:
        """Come back when it is ready."""
        config = self._folder / f"{program.name}-config.yaml"
        config.write_text(json.dumps(self._configuration()))
        self._plane.routes.update(self._routes())
        child = ChildProcess.start(
            program.name,
            [*program.command, f"--config={config}"],
            self._plane.logs / f"{program.name}.log",
            {"KUBECONFIG": str(self._kubeconfig())},
        )
        self._running = child
        child.wait_until(self._is_ready, START_SECONDS)

    def stop(self) -> None:
        """Stop the process as the kubelet does, and remove it from the endpoints of the Services."""
        self._plane.routes.clear()
        if self._running is not None:
            self._running.stop()
        self._running = None

    def close(self) -> None:
        """Stop the process and close the connection."""
        self.stop()
        self._admin.close()

    def _configuration(self) -> Json:
        """The Configuration of the ConfigMap, with local ports and directories."""
        text = self._admin.get(f"{_HOME}/configmaps/kueue-manager-config").body["data"][_FILE]
        found, ports = yaml.safe_load(text), self._ports
        return {
            **found,
            # A process in a pod detects its namespace; and the kubelet restarts one that lost its lease.
            "leaderElection": {**found["leaderElection"], "resourceNamespace": NAMESPACE, **_PATIENT_LEASE},
            "webhook": {"host": LOOPBACK, "port": ports["webhook"], "certDir": str(self._certificates)},
            "health": {"healthProbeBindAddress": f"{LOOPBACK}:{ports['health']}"},
            "metrics": {"bindAddress": f"{LOOPBACK}:{ports['metrics']}"},
            "visibilityServer": {"bindAddress": LOOPBACK, "bindPort": ports["visibility"]},
        }

    def _kubeconfig(self) -> Path:
        answer = self._admin.post(f"{_HOME}/serviceaccounts/{_ACCOUNT}/token", {"spec": {}})
        config = self._plane.admin.kubeconfig()
        users = [{"name": each["name"], "user": {"token": answer.body["status"]["token"]}} for each in config["users"]]
        return write_secret(self._folder / "kubeconfig", json.dumps({**config, "users": users}).encode())

    def _routes(self) -> dict[str, int]:
        names = {"kueue-webhook-service": "webhook", "kueue-visibility-server": "visibility"}
        found = self._admin.get(f"{_HOME}/services").body["items"]
        addresses = {each["metadata"]["name"]: each["spec"]["clusterIP"] for each in found}
        return {f"{addresses[name]}:{_HTTPS}": self._ports[port] for name, port in names.items()}

    def _is_ready(self) -> bool:
        self._mount()
        connection = http.client.HTTPConnection(LOOPBACK, self._ports["health"], timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()

    def _mount(self) -> None:
        """Bring the files of the Secret up to date."""
        data = self._admin.get(f"{_HOME}/secrets/{_SECRET}").body.get("data") or {}
        for name, text in data.items():
            file, content = self._certificates / name, base64.b64decode(text)
            if not file.exists() or file.read_bytes() != content:
                write_secret(file, content)
