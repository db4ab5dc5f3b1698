"""Starts real operators beside a control plane: their definitions, webhooks, and one process each."""

import http.client
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import yaml

from cluster.control_plane import START_SECONDS, ControlPlane
from cluster.kubectl import Kubectl, KubectlError
from kit.ports import LOOPBACK
from kit.processes import ChildProcess
from kit.virtual_time import wait_until_true
from real_operators.binaries import built
from real_operators.operator_files import OperatorFiles
from real_operators.programs import PROGRAMS, OperatorProgram

Json = Any
_WEBHOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_GENERATED_NAMES: Final = ("mutating-webhook-configuration", "validating-webhook-configuration")


class RunningOperators:
    """Operators of one cluster, each started when it is first needed and stopped at the end."""

    def __init__(self, plane: ControlPlane, kubectl: Kubectl, folder: Path) -> None:
        self._plane = plane
        self._kubectl = kubectl
        self._folder = folder
        self._started: set[str] = set()
        self._running = ExitStack()

    def start(self, *names: str) -> None:
        """Return when all of these are ready."""
        for name in names:
            if name not in self._started:
                self._start(name)
                self._started.add(name)

    def close(self) -> None:
        """Stop all of them."""
        self._running.close()

    def _start(self, name: str) -> None:
        operator, manifests = PROGRAMS[name], built(name) / "manifests"
        site = OperatorFiles.create(self._folder, operator.authority, operator.server_names)
        self._define([file for pattern in operator.definitions for file in sorted(manifests.glob(pattern))])
        prerequisites = operator.prerequisites(site)
        if prerequisites:
            self._kubectl.apply(*prerequisites)
        if operator.webhooks:
            rendered = self._kubectl("kustomize", str(manifests / operator.webhooks)).out
            self._kubectl.apply(*_reaching(name, site, list(yaml.safe_load_all(rendered))))
        self._run(name, operator, site)

    def _run(self, name: str, operator: OperatorProgram, site: OperatorFiles) -> None:
        own = self._running.enter_context(operator.environment())
        child = ChildProcess.start(
            name,
            [built(name) / "bin" / operator.program, *operator.flags(site)],
            self._plane.logs / f"operator-{name}.log",
            {"KUBECONFIG": str(self._plane.kubeconfig), "TMPDIR": str(site.folder), **own},
        )
        self._running.callback(child.stop)
        port = operator.health_port or site.health
        child.wait_until(lambda: _is_ready(port, operator.health_path), START_SECONDS)
        if operator.webhooks:
            child.wait_until(lambda: _listens(site.webhook), START_SECONDS)

    def _define(self, files: list[Path]) -> None:
        """Apply definitions as they are: they have a megabyte each."""
        applied = self._kubectl("apply", "--server-side", *(f"--filename={each}" for each in files)).lines
        names = [line.removesuffix(" serverside-applied") for line in applied]
        wait_until_true(lambda: self._are_established(names))

    def _are_established(self, names: list[str]) -> bool:
        """`kubectl wait` fails on a definition that has no conditions yet."""
        try:
            self._kubectl("wait", "--for=condition=Established", "--timeout=60s", *names)
        except KubectlError as error:
            if "accessor error" in str(error):
                return False
            raise
        return True


def _reaching(operator: str, site: OperatorFiles, manifests: list[Json]) -> list[Json]:
    """The webhook configurations with the operator's address on loopback, each with a name of its own."""
    found = [each for each in manifests if each["kind"] in _WEBHOOKS]
    for configuration in found:
        name = configuration["metadata"]["name"]
        configuration["metadata"] = {"name": f"{operator}-{name}" if name in _GENERATED_NAMES else name}
        for webhook in configuration["webhooks"]:
            url = f"https://{LOOPBACK}:{site.webhook}{webhook['clientConfig']['service']['path']}"
            webhook["clientConfig"] = {"url": url, "caBundle": site.authority.pair.encoded_certificate}
    return found


def _listens(port: int) -> bool:
    """Some operators are ready before their webhooks."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=5).close()
    except OSError:
        return False
    return True


def _is_ready(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
