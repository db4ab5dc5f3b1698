"""A whole control plane on loopback: etcd, kube-apiserver, kube-controller-manager and kube-scheduler.

Its files are in one folder of its own; stopping it removes the folder, or all of it but the logs.
"""

import http.client
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from cluster import components
from cluster.access import Access
from cluster.binaries import built
from cluster.client import JsonClient
from cluster.cluster_files import ADMIN, ADMINS, ClusterFiles, ClusterPorts
from cluster.components import Flags
from kit.pki import ThrowawayCa
from kit.ports import LOOPBACK, free_shared_port
from kit.processes import ChildProcess

START_SECONDS = 120


class ControlPlane:
    """Runs it until the context exits; the folder is removed too, unless `keep_logs` was called."""

    def __init__(self, *controllers: str) -> None:
        """With these controllers of kube-controller-manager's, named as its flag names them; its usual ones if none."""
        self._controllers = controllers or ("*",)
        self._programs = built()
        self._keeps_logs = False
        self._running = ExitStack()
        folder = Path(tempfile.mkdtemp(prefix="kohort-cluster-"))
        ports = ClusterPorts(*(free_shared_port(self._running) for _ in range(3)))
        self._site = ClusterFiles(folder, ThrowawayCa.create("kohort-test"), ports)

    def __enter__(self) -> Self:
        try:
            self._site.write_all()
            self._start()
        except BaseException:
            self.keep_logs()
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def kubectl(self) -> Path:
        """The stock kubectl of the server's version."""
        return self._programs / "kubectl"

    @property
    def logs(self) -> Path:
        """Where the programs write what they do."""
        return self._site.logs

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        return self._site.kubeconfig(ADMIN)

    @cached_property
    def admin(self) -> Access:
        """A user with all permissions."""
        return self.user(ADMIN, ADMINS)

    def user(self, name: str, *groups: str) -> Access:
        """A user with the permissions that RBAC grants to the name and the groups; the name need not be registered."""
        return self._site.access(name, groups)

    def keep_logs(self) -> None:
        """Leave the logs in place when the cluster is removed."""
        self._keeps_logs = True

    def _start(self) -> None:
        self._start_server()
        scheduler = self._run("kube-scheduler", components.scheduler(self._site))
        self._start_controllers()
        scheduler.wait_until(lambda: self._is_ready(self._site.ports.scheduler), START_SECONDS)

    def _start_server(self) -> None:
        site = self._site
        etcd = self._run("etcd", components.etcd(site))
        etcd.wait_until(site.etcd_socket.exists, START_SECONDS)
        self._serve()

    def _serve(self) -> ChildProcess:
        server = self._run("kube-apiserver", self._api_server_flags())
        server.wait_until(lambda: self._is_ready(self._site.ports.api_server), START_SECONDS)
        return server

    def _api_server_flags(self) -> Flags:
        return components.api_server(self._site)

    def _start_controllers(self) -> None:
        flags = {**components.controller_manager(self._site), "controllers": ",".join(self._controllers)}
        manager = self._run("kube-controller-manager", flags)
        manager.wait_until(self._has_service_account, START_SECONDS)

    def _run(self, name: str, flags: Flags) -> ChildProcess:
        child = ChildProcess.start(name, components.command(self._programs / name, flags), self.logs / f"{name}.log")
        self._running.callback(child.stop)
        return child

    def _is_ready(self, port: int) -> bool:
        """Whether the program on this port reports so itself."""
        return self._answers(replace(self.admin, address=f"{LOOPBACK}:{port}"), "/readyz")

    def _has_service_account(self) -> bool:
        """Whether pods could be created in the default namespace: the started controllers."""
        return self._answers(self.admin, "/api/v1/namespaces/default/serviceaccounts/default")

    def _answers(self, access: Access, path: str) -> bool:
        client = JsonClient(access)
        try:
            return client.get(path).accepted
        except (OSError, http.client.HTTPException):
            return False
        finally:
            client.close()

    def _stop(self) -> None:
        self._running.close()
        folder = self._site.folder
        if not self._keeps_logs:
            shutil.rmtree(folder)
            return
        shutil.rmtree(folder / "etcd", ignore_errors=True)
        for secret in folder.glob("*.*"):
            secret.unlink()


class ControlPlaneWithoutScheduler(ControlPlane):
    """The same for tests in which no scheduler, or another one, places pods."""

    def _start(self) -> None:
        self._start_server()
        self._start_controllers()
