"""The official Python client, connected to a server; its results and exceptions become step results.

Only the scripts' `ClientCall`s use it.
"""

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kubernetes import client, config
from kubernetes.dynamic.exceptions import DynamicApiError

from conformance.masks import masked
from conformance.script import ClientCall, OutputFormat
from conformance.step_results import StepResult, read

Json = Any
_ACCEPTED = 200


class PythonClient:
    """The official client of one server in one namespace."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._api = config.new_client_from_config(str(kubeconfig))  # type: ignore[no-untyped-call]
        self._namespace = namespace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._api.close()

    def answer(self, call: ClientCall) -> StepResult:
        """The result of the call as JSON, or the status and message of its rejection."""
        try:
            result = self._api.sanitize_for_serialization(call.function(self._api, self._namespace))
        except (client.ApiException, DynamicApiError) as rejected:
            return StepResult(rejected.status or 0, masked(read(str(rejected.body), OutputFormat.JSON), call.masks))
        return StepResult(_ACCEPTED, masked(_by_value(result), call.masks))


def _by_value(value: Json) -> str:
    return json.dumps(value, indent=1, sort_keys=True)
