"""The official Python client, connected to a server; what it returns or raises becomes an answer.

Tests reach it through `Call`s; nothing else in the project knows it.
"""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kubernetes import client, config
from kubernetes.dynamic.exceptions import DynamicApiError

from wire.answers import Answer, read
from wire.masks import masked
from wire.steps import Call, Reading

Json = Any
_ACCEPTED = 200


class Client:
    """The stock client of one server in one namespace."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._api = config.new_client_from_config(str(kubeconfig))  # type: ignore[no-untyped-call]
        self._namespace = namespace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._api.close()

    def answer(self, call: Call) -> Answer:
        """What the call gives: a result as JSON, or the status and message of a refusal."""
        try:
            result = self._api.sanitize_for_serialization(call.function(self._api, self._namespace))
        except (client.ApiException, DynamicApiError) as refused:
            return Answer(refused.status or 0, masked(read(str(refused.body), Reading.JSON), call.masks))
        return Answer(_ACCEPTED, masked(_by_value(result), call.masks))


def _by_value(value: Json) -> str:
    return json.dumps(value, indent=1, sort_keys=True)
