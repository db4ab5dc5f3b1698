"""Runs a script on one server and records the result of every step."""

import shlex
import time
from collections.abc import Callable

from conformance.masks import masked
from conformance.python_client import PythonClient
from conformance.script import ClientCall, Script, Step, User
from conformance.servers import ServerUnderTest
from conformance.step_results import StepResult, read

Transcript = Callable[[Script], list[tuple[StepResult, ...]]]
"""The results of a script: of kube-apiserver and of the embedded server, step by step."""

_PAUSE_SECONDS = 0.2
_PREPARATIONS = (
    "create namespace {0}",
    "wait --for=create serviceaccount/default --timeout=30s -n {0}",
    "wait --for=create configmap/kube-root-ca.crt --timeout=30s -n {0}",
)


class PreparationError(Exception):
    """The namespace of a script could not be prepared; the message is kubectl's."""


class ScriptRunner:
    """Runs one script on one server."""

    def __init__(self, server: ServerUnderTest, script: Script) -> None:
        self._server = server
        self._script = script
        self._saved: dict[str, str] = {}

    def run(self) -> list[StepResult]:
        """The results, in the order of the steps."""
        self._prepare()
        with PythonClient(self._server.admin, self._script.namespace) as client:
            return [
                client.answer(step) if isinstance(step, ClientCall) else self._run_step(step)
                for step in self._script.steps
            ]

    def _prepare(self) -> None:
        for command in _PREPARATIONS:
            done = self._server.run(self._server.admin, command.format(self._script.namespace).split(), "", {})
            if done.returncode:
                raise PreparationError(f"{self._server.name}: {command}: {done.stderr}")

    def _run_step(self, step: Step) -> StepResult:
        deadline = time.monotonic() + step.retry_seconds
        while True:
            answer = self._run_once(step)
            if answer.code == 0 or time.monotonic() >= deadline:
                return answer
            time.sleep(_PAUSE_SECONDS)

    def _run_once(self, step: Step) -> StepResult:
        server = self._server
        kubeconfig = server.admin if step.user is User.ADMIN else server.without_credentials
        command, stdin = self._substituted(step.command), self._substituted(step.stdin)
        arguments = [f"--namespace={self._script.namespace}", *shlex.split(command)]
        done = server.run(kubeconfig, arguments, stdin, {"KUBE_EDITOR": step.editor} if step.editor else {})
        if step.saves:
            self._saved[step.saves] = done.stdout.strip()
        return StepResult(
            done.returncode, masked(read(done.stdout, step.reading), step.masks), masked(done.stderr, step.masks)
        )

    def _substituted(self, text: str) -> str:
        for name, value in self._saved.items():
            text = text.replace(f"<<{name}>>", value)
        return text
