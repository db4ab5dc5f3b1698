"""Plays a chapter on one server and writes down every answer."""

import shlex
import time
from collections.abc import Callable

from wire.answers import Answer, read
from wire.masks import masked
from wire.peers import Peer
from wire.python_client import Client
from wire.steps import Call, Chapter, Step, User

Transcript = Callable[[Chapter], list[tuple[Answer, ...]]]
"""A chapter's answers: of the real server and of ours, step by step."""

_PAUSE_SECONDS = 0.2
_PREPARATIONS = (
    "create namespace {0}",
    "wait --for=create serviceaccount/default --timeout=30s -n {0}",
    "wait --for=create configmap/kube-root-ca.crt --timeout=30s -n {0}",
)


class PreparationError(Exception):
    """A chapter could not begin; the text is what kubectl said."""


class Player:
    """One server through one chapter."""

    def __init__(self, peer: Peer, chapter: Chapter) -> None:
        self._peer = peer
        self._chapter = chapter
        self._saved: dict[str, str] = {}

    def play(self) -> list[Answer]:
        """Every answer, in the order of the steps."""
        self._prepare()
        with Client(self._peer.admin, self._chapter.namespace) as client:
            return [
                client.answer(step) if isinstance(step, Call) else self._patiently(step) for step in self._chapter.steps
            ]

    def _prepare(self) -> None:
        for command in _PREPARATIONS:
            done = self._peer.run(self._peer.admin, command.format(self._chapter.namespace).split(), "", {})
            if done.returncode:
                raise PreparationError(f"{self._peer.name}: {command}: {done.stderr}")

    def _patiently(self, step: Step) -> Answer:
        deadline = time.monotonic() + step.patience
        while True:
            answer = self._answer(step)
            if answer.code == 0 or time.monotonic() >= deadline:
                return answer
            time.sleep(_PAUSE_SECONDS)

    def _answer(self, step: Step) -> Answer:
        peer = self._peer
        kubeconfig = peer.admin if step.user is User.ADMIN else peer.nobody
        command, stdin = self._filled_in(step.command), self._filled_in(step.stdin)
        arguments = [f"--namespace={self._chapter.namespace}", *shlex.split(command)]
        done = peer.run(kubeconfig, arguments, stdin, {"KUBE_EDITOR": step.editor} if step.editor else {})
        if step.saves:
            self._saved[step.saves] = done.stdout.strip()
        return Answer(
            done.returncode, masked(read(done.stdout, step.reading), step.masks), masked(done.stderr, step.masks)
        )

    def _filled_in(self, text: str) -> str:
        for name, value in self._saved.items():
            text = text.replace(f"<<{name}>>", value)
        return text
