"""Performs the writes of the golden transcripts on an API server with Kohort's webhooks.

The previous state of an update is created while the webhooks are bypassed.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from kit.golden.admission import FILES, replay
from kohort.api.gates import DEFAULT_GATES
from kohort.api.kinds import CustomObject, kind_of
from kohort.api.kueue.admission import ObjectWrite, WriteVerdict, admit, read
from kohort.webhooks.reviews import ALLOWED, AdmissionHandler, AdmissionRequest, AdmissionResponse, in_one_line

Json = Any
Ask = Callable[[str, str, Json, dict[str, str]], Awaitable[tuple[int, Json]]]
"""Method, path, body and query to code and body."""

NAMESPACE = "default"
_SETTABLE_METADATA = ("name", "namespace", "labels", "annotations", "finalizers")
WRITES = [
    pytest.param(answer.write, id=f"{answer.case}-{answer.step['op']}-{index}")
    for name in FILES
    for index, answer in enumerate(replay(name))
    if answer.write is not None
]


class WebhookBypass:
    """Admits every request while it is open, and counts requests."""

    def __init__(self) -> None:
        self.is_open = False
        self.came = 0

    def guarding(self, judges: dict[str, AdmissionHandler]) -> dict[str, AdmissionHandler]:
        return {path: self._guarding(judge) for path, judge in judges.items()}

    def _guarding(self, judge: AdmissionHandler) -> AdmissionHandler:
        def passes(request: AdmissionRequest) -> AdmissionResponse | Awaitable[AdmissionResponse]:
            self.came += 1
            return ALLOWED if self.is_open else judge(request)

        return passes


@dataclass(frozen=True)
class WriteOutcome:
    """What a client sees."""

    code: int
    object: Json = None
    refusal: str = ""
    """The message of the webhook that rejected the write."""


def expected(write: ObjectWrite) -> WriteOutcome:
    """The outcome by the functions that the webhooks call."""
    verdict = admit(write, DEFAULT_GATES)
    if verdict.accepted:
        return WriteOutcome(verdict.code, _comparable(read(verdict.stored, write.value["apiVersion"])))
    return WriteOutcome(verdict.code, refusal=_refusal(verdict, write))


def _refusal(verdict: WriteVerdict, write: ObjectWrite) -> str:
    if verdict.code != 403:
        return ""
    head = f'admission webhook "v{write.value["kind"].lower()}.kb.io" denied the request: '
    return head + in_one_line(verdict.errors)


async def outcome(ask: Ask, bypass: WebhookBypass, write: ObjectWrite) -> WriteOutcome:
    """The outcome on the server; the object is removed afterwards."""
    body = {**write.value, "metadata": _settable_metadata(write.value)}
    query: dict[str, str] = {"fieldValidation": write.field_validation}
    path = f"{_collection(body)}/{body['metadata'].get('name', '')}"
    try:
        if write.old is None:
            code, response = await ask("POST", _collection(body), body, query)
        else:
            body["metadata"]["resourceVersion"] = await _create_previous(ask, bypass, write.old)
            code, response = await ask("PUT", f"{path}/status" if write.to_status else path, body, query)
        return await _outcome(ask, code, response, path)
    finally:
        await _remove(ask, bypass, path)


async def _remove(ask: Ask, bypass: WebhookBypass, path: str) -> None:
    code, found = await ask("GET", path, None, {})
    if code != 200 or "items" in found:
        return
    bypass.is_open = True
    try:
        if found["metadata"].pop("finalizers", None):
            code, response = await ask("PUT", path, found, {})
            assert code == 200, response
        code, response = await ask("DELETE", path, None, {})
        assert code == 200, response
    finally:
        bypass.is_open = False


async def _create_previous(ask: Ask, bypass: WebhookBypass, old: Json) -> str:
    metadata = {name: member for name, member in _settable_metadata(old).items() if name != "finalizers"}
    body = {**old, "metadata": metadata}
    bypass.is_open = True
    try:
        code, stored = await ask("POST", _collection(body), body, {})
        if code == 201 and "status" in old and _kind(old).info.has_status:
            body["metadata"] = stored["metadata"]
            code, stored = await ask("PUT", f"{_collection(body)}/{metadata['name']}/status", body, {})
    finally:
        bypass.is_open = False
    assert code < 300, stored
    return str(stored["metadata"]["resourceVersion"])


async def _outcome(ask: Ask, code: int, response: Json, path: str) -> WriteOutcome:
    assert code < 500, response
    if code >= 300:
        return WriteOutcome(code, refusal=response.get("message", "") if code == 403 else "")
    found, stored = await ask("GET", path, None, {})
    assert found == 200, stored
    return WriteOutcome(code, _comparable(stored))


def _kind(value: Json) -> type[CustomObject]:
    kind = kind_of(value["apiVersion"], value["kind"])
    assert kind is not None
    return kind


def _collection(value: Json) -> str:
    return _kind(value).info.resource.path(NAMESPACE if _kind(value).info.resource.namespaced else "")


def _settable_metadata(value: Json) -> Json:
    metadata = {name: member for name, member in value["metadata"].items() if name in _SETTABLE_METADATA}
    return {**metadata, "namespace": NAMESPACE} if _kind(value).info.resource.namespaced else metadata


def _comparable(value: Json) -> Json:
    """The object with the only metadata that webhooks change."""
    rest = {name: member for name, member in value.items() if name != "metadata"}
    return {**rest, "finalizers": value["metadata"].get("finalizers", [])}
